/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  SQL functions about a clock that was taken for wrong.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "mint/clock_guard.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_accept_clock);
PG_FUNCTION_INFO_V1(flake_clock_guard);

/*
 * flake_accept_clock() returns void
 *
 * EXECUTE is the right to do it: the install script grants it to nobody.
 */
Datum
flake_accept_clock(PG_FUNCTION_ARGS)
{
	flake_clock_guard_accept();
	PG_RETURN_VOID();
}

/*
 * _flake_clock_guard()
 *	returns setof record (refused_since timestamptz, jump interval,
 *	refusals bigint)
 *
 * A row while the server refuses to mint because its clock has jumped ahead.
 */
Datum
flake_clock_guard(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ClockRefusals refusals;

	InitMaterializedSRF(fcinfo, 0);
	if (flake_clock_guard_refusals(&refusals))
	{
		Interval	jump = {.time = refusals.jump_us};
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = TimestampTzGetDatum(refusals.since);
		values[1] = DirectFunctionCall1(interval_justify_hours,
										IntervalPGetDatum(&jump));
		values[2] = Int64GetDatum(refusals.count);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
