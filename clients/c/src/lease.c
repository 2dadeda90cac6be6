/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  A minter is made, and its lease changes: while others mint, as minter.c says.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "minter.h"

#define MAX_AHEAD_US	INT64CONST(3600000000)

flakeid_code
flakeid_minter_init(flakeid_minter *minter, const flakeid_layout *layout,
					int64_t max_ahead_us, flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);

	if (flake_layout_is_uuid(&value))
		return fail(error, FLAKEID_UNSUPPORTED_LAYOUT, NO_RETRY,
					"ids of the generator are UUIDs: use a generator of numbers");
	if (!flake_layout_has_time(&value))
		return fail(error, FLAKEID_UNSUPPORTED_LAYOUT, NO_RETRY,
					"the generator has no time: use one whose layout begins with \"ts\"");
	if (value.nparts == 0)
		return fail(error, FLAKEID_UNSUPPORTED_LAYOUT, NO_RETRY,
					"the generator has no shards: use one whose layout has a shard number");
	if (max_ahead_us < 0 || max_ahead_us > MAX_AHEAD_US)
		return fail_argument(error, "max_ahead must be from 0 to 1 hour");

	memset(minter, 0, sizeof(*minter));
	minter->last = NONE;
	minter->begun_after = NONE;
	minter->resume_after = NONE;
	minter->code = FLAKEID_NOT_CONNECTED;
	minter->generation = flakeid_process();
	minter->sequence_bits = value.sequence.bits;
	minter->sequence_shift = value.sequence.shift;
	minter->time_shift = value.time.shift;
	minter->start = value.start;
	minter->epoch_us = value.epoch - FLAKE_UNIX_EPOCH;
	minter->unit_us = value.unit_us;
	minter->max_tick = flake_layout_max_tick(&value);
	minter->max_ahead_ticks = max_ahead_us / value.unit_us;
	minter->random_below = value.random_below;
	minter->seed = scatter((uint64) (uintptr_t) minter ^
						   scatter((uint64) flakeid_steady_ns()) ^
						   (uint64) read_us(CLOCK_REALTIME));
	minter->layout = *layout;
	return FLAKEID_OK;
}

/*
 * The first tick that starts at or after a time, within the lifetime or just after it;
 * false if that is earlier than the lifetime.
 */
static bool
tick_from(const FlakeLayout *layout, int64 time_us, int64 *tick)
{
	TimestampTz ts;

	if (pg_add_s64_overflow(time_us, FLAKE_UNIX_EPOCH - 1, &ts))
		return false;
	*tick = flake_layout_tick_at(layout, ts);
	*tick = Min(*tick, flake_layout_max_tick(layout)) + 1;
	return *tick >= flake_layout_min_tick(layout);
}

/* Takes the value away from those who mint, and remembers it. */
static void
withdraw(flakeid_minter *minter, int64 mark)
{
	int64		last = __atomic_exchange_n(&minter->last, mark, __ATOMIC_ACQ_REL);

	if (last > CHANGING)
		minter->resume_after = last;
}

static flakeid_code
check_open(const flakeid_minter *minter, flakeid_error *error)
{
	if (is_forked(minter))
		return forked(error);
	if (READ(minter->code) == FLAKEID_CLOSED)
		return closed(error);
	return FLAKEID_OK;
}

flakeid_code
flakeid_minter_lease(flakeid_minter *minter, const flakeid_lease *lease,
					 flakeid_error *error)
{
	FlakeLayout layout = flakeid_layout_value(&minter->layout);
	flakeid_code code = check_open(minter, error);
	int64		first_tick;
	int64		end_tick;
	int64		last;

	if (code != FLAKEID_OK)
		return code;
	if (lease->shard < 0 || lease->shard > flake_layout_max_shard(&layout))
		return fail_argument(error, "shard %d is out of range: the layout has 0 to %d",
							 lease->shard, flake_layout_max_shard(&layout));
	if (!tick_from(&layout, lease->not_before_us, &first_tick) ||
		!tick_from(&layout, lease->expires_at_us, &end_tick) ||
		first_tick > minter->max_tick || end_tick <= first_tick)
		return fail_argument(error, "the time of the lease is empty, or the layout does not have it");

	withdraw(minter, CHANGING);

	/* P2.  It is greater than what last has been, not equal: see above. */
	last = pack(minter, first_tick, 0) - 1;
	if (minter->resume_after != NONE)
		last = Max(last, pack(minter, packed_tick(minter, minter->resume_after) + 1, 0));
	WRITE(minter->image, flake_layout_shard_image(&layout, lease->shard));
	WRITE(minter->first_tick, first_tick);
	WRITE(minter->end_tick, end_tick);
	WRITE(minter->deadline_ns, lease->deadline_ns);
	minter->begun_after = last;
	WRITE(minter->code, FLAKEID_LEASE_EXPIRED);
	WRITE(minter->last, last);
	return FLAKEID_OK;
}

flakeid_code
flakeid_minter_renew(flakeid_minter *minter, int64_t expires_at_us, int64_t deadline_ns,
					 flakeid_error *error)
{
	FlakeLayout layout = flakeid_layout_value(&minter->layout);
	flakeid_code code = check_open(minter, error);
	int64		end_tick;

	if (code != FLAKEID_OK)
		return code;
	if (READ(minter->last) == NONE)
		return no_lease(minter, error);

	if (!tick_from(&layout, expires_at_us, &end_tick))
		end_tick = flake_layout_min_tick(&layout);
	if (end_tick < minter->end_tick || deadline_ns < minter->deadline_ns)
	{
		int64		last;

		withdraw(minter, CHANGING);
		last = pack(minter, packed_tick(minter, minter->resume_after) + 1, 0);
		if (minter->resume_after == minter->begun_after)
			minter->begun_after = last;
		WRITE(minter->end_tick, end_tick);
		WRITE(minter->deadline_ns, deadline_ns);
		WRITE(minter->last, last);
	}
	else
	{
		WRITE(minter->end_tick, end_tick);
		WRITE(minter->deadline_ns, deadline_ns);
	}
	return FLAKEID_OK;
}

void
flakeid_minter_end(flakeid_minter *minter)
{
	if (!is_forked(minter))
		withdraw(minter, NONE);
}

int64_t
flakeid_minter_close(flakeid_minter *minter)
{
	bool		was_leased = READ(minter->last) != NONE;

	if (is_forked(minter))
		return PG_INT64_MIN;
	WRITE(minter->code, FLAKEID_CLOSED);
	withdraw(minter, NONE);
	if (!was_leased || minter->resume_after == minter->begun_after)
		return PG_INT64_MIN;
	return minter->epoch_us + packed_tick(minter, minter->resume_after) * minter->unit_us;
}

flakeid_state
flakeid_minter_state(const flakeid_minter *minter)
{
	if (READ(minter->code) == FLAKEID_CLOSED)
		return FLAKEID_STATE_CLOSED;
	return READ(minter->last) == NONE ? FLAKEID_STATE_LEASING : FLAKEID_STATE_LEASED;
}
