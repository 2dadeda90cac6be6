/*-------------------------------------------------------------------------
 *
 * floor.c
 *	  The least that a function in C costs which reads the clock and returns
 *	  another number each time.
 *
 * It begins with the nanosecond in which a session calls it first, and counts from
 * there.  So it can be a primary key as long as one session at a time fills the table
 * and nobody sets the clock.  It keeps no promise beyond that.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_floor);

/* bench.floor(int), bench.floor(regclass), returns bigint */
Datum
bench_floor(PG_FUNCTION_ARGS)
{
	static int64 last = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (unlikely(last == 0))
		last = now * 1000;
	PG_RETURN_INT64(++last);
}
