/*-------------------------------------------------------------------------
 *
 * backfill.c
 *	  A SQL function that makes ids of past times.
 *
 * shard/backfill.c has the rules by which none repeats.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/int.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "mint/claim.h"
#include "mint/generator.h"
#include "miscadmin.h"
#include "settings.h"
#include "shard/attach.h"
#include "shard/backfill.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_backfill);

/* Looks whether the current user may backfill a shard, and from where on. */
static Backfill *
begin(Oid sequence, int32 shard, Oid function)
{
	Generator  *generator = flake_shard_begin_change(sequence, function,
													 "flake_backfill()", ACL_UPDATE);
	Backfill   *backfill;

	flake_check_not_uuid(&generator->layout);
	flake_check_has_time(&generator->layout);
	flake_generator_check_shard(&generator->layout, shard);
	backfill = flake_backfill_begin(generator, shard, function);
	backfill->user = GetUserId();
	return backfill;
}

/* The tick of a time, which is not in the future. */
static int64
past_tick(const FlakeLayout *layout, TimestampTz ts)
{
	static const char hint[] = "Use a layout whose time reaches that far.";
	int64		tick;

	if (TIMESTAMP_NOT_FINITE(ts))
		flake_time_out_of_range(layout, hint);
	tick = flake_layout_tick_at(layout, ts);
	if (tick < flake_layout_first_tick(layout) || tick > flake_layout_max_tick(layout))
		flake_time_out_of_range(layout, hint);

	/* The time at which the statement began costs nothing. */
	if (unlikely(ts > GetCurrentStatementStartTimestamp() && ts > GetCurrentTimestamp()))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp %s is in the future", timestamptz_to_str(ts)),
				 errhint("Ids of the present are minted by flake_id().")));
	return tick;
}

/* ERROR if an id would be of too late a tick for the time that it stands for. */
static void
check_distance(const Backfill *backfill, int64 tick, int64 id_tick)
{
	int64		late_us;

	if (pg_mul_s64_overflow(id_tick - tick, backfill->layout.unit_us, &late_us))
		late_us = PG_INT64_MAX;
	if (late_us > flake_max_ahead_us)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("the next id of shard %d would be %s later than the time given",
						backfill->shard, flake_long_duration(late_us)),
				 errdetail("It must be above the last one that was backfilled, and may be later by %s (\"flakeid.max_ahead\").",
						   flake_duration(flake_max_ahead_us)),
				 errhint("Sort the rows by time. For rows that are older than the last ones use another shard, and for more rows of one time several.")));
}

/* B4: raises ERROR 22023. */
pg_noreturn static void
detached_earlier(const Backfill *backfill, TimestampTz ts)
{
	char	   *time = pstrdup(timestamptz_to_str(ts));
	TimestampTz limit = DT_NOBEGIN;

	(void) flake_layout_tick_start(&backfill->layout,
								   flake_layout_packed_tick(&backfill->layout, backfill->limit) + 1,
								   &limit);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("shard %d has no more ids of time %s", backfill->shard, time),
			 errdetail("It was detached before, and has ids of times before %s.",
					   timestamptz_to_str(limit)),
			 errhint("Use flake_id(), or a shard that is detached later.")));
}

/*
 * flake_backfill(ts timestamptz, shard int, generator regclass) returns bigint
 *
 * Keeping the generator ready brings the news of what others have changed.  The lock
 * on the shard keeps what was found of it true.
 */
Datum
flake_backfill(PG_FUNCTION_ARGS)
{
	TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
	int32		shard = PG_GETARG_INT32(1);
	Oid			sequence = PG_GETARG_OID(2);
	Oid			function = fcinfo->flinfo->fn_oid;
	Backfill   *backfill = flake_backfill_find(sequence, shard);
	const FlakeLayout *layout;
	int64		tick;
	int64		next;

	PreventCommandIfReadOnly("flake_backfill()");
	if (unlikely(backfill == NULL || backfill->user != GetUserId()))
		backfill = begin(sequence, shard, function);
	else
		(void) flake_generator_look(sequence, function);
	layout = &backfill->layout;

	tick = past_tick(layout, ts);
	if (unlikely(backfill->last >= flake_layout_max_packed(layout)))
		flake_lifetime_is_over(layout, tick);
	next = flake_claim_next(layout, backfill->last, tick);
	if (unlikely(flake_layout_packed_tick(layout, next) > tick))
		check_distance(backfill, tick, flake_layout_packed_tick(layout, next));
	if (unlikely(next > backfill->limit))
		detached_earlier(backfill, ts);
	backfill->last = next;
	PG_RETURN_INT64(flake_layout_id(layout, next, backfill->image));
}
