/*-------------------------------------------------------------------------
 *
 * settled.c
 *	  Up to where ids are settled: no open transaction has one of them, and none
 *	  will be minted any more.
 *
 * A transaction that took an earlier id may commit after one that took a later id.
 * So who reads rows in the order of their ids, and goes on after the last one,
 * needs a bound below which nothing will appear any more.  It is like the xmin
 * of a snapshot, but for ids.  S1 and S2 are in holders.c.
 *
 *	S3	Whoever asks raises the generator's floor first, and looks for open
 *		transactions then.  The bound is the least of the floor and of what
 *		those hold.
 *	S4	The bound is at or below a horizon that is durable, and that the
 *		synchronous standbys have.
 *	S5	A bound is used with a snapshot only if every transaction is seen with it
 *		that had ended when the bound was found: see settled_snapshot.c.
 *	S6	No bound of a generator is below one that was found before.
 *
 * Why S3 is right.  A transaction has either registered before we look, and then
 * the bound is below all its ids (S1).  Or it registers after that, and
 * reads the floor after it has registered: then all its ids are above the floor
 * that we have raised (M2).  Both sides have a memory barrier between writing
 * and reading.  Where there is no time, there is nothing to raise: what a slot has
 * handed out takes the floor's place, and a new claim is above that (M1).  No slot
 * is made for that: as long as there is none, nothing was handed out.
 *
 * S4 carries the bound over a crash, or a failover: afterwards every id is above
 * the horizon found (H3).  That also is how floors are kept that only this found.
 *
 * Ids of one tick sort by shard before they sort by sequence.  So the bound for all
 * shards is the end of a tick.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "layout/layout.h"
#include "mint/clock_guard.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/holders.h"
#include "mint/horizon.h"
#include "mint/horizon_reach.h"
#include "mint/settled.h"
#include "mint/settled_snapshot.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

/*
 * Whether commits wait for synchronous standbys.  As for them, shared memory says
 * it, once the checkpointer has read the configuration there: a session that is in
 * a long statement does not know of a new one.
 */
static bool
has_sync_standbys(void)
{
	const volatile WalSndCtlData *control = WalSndCtl;

	if (max_wal_senders == 0)
		return false;
#ifdef SYNC_STANDBY_DEFINED
	if (control->sync_standbys_status & SYNC_STANDBY_DEFINED)
		return true;
#else
	if (control->sync_standbys_defined) /* before 15.13, 16.9, 17.5 */
		return true;
#endif
	return SyncRepStandbyNames != NULL && *SyncRepStandbyNames != '\0';
}

/*
 * The horizon that a failover leaves as it is (S4): this one, if the synchronous
 * standbys have its WAL, or an earlier one.
 */
static int64
confirmed_horizon(Settled *settled, const HorizonRef *horizon)
{
	Horizon    *shared = horizon->shared;
	int64		value = (int64) pg_atomic_read_u64(&shared->asked);
	XLogRecPtr	lsn;
	XLogRecPtr	flushed;

	Assert(LWLockHeldByMeInMode(&settled->lock, LW_EXCLUSIVE));

	/* Read before: if there are none, this is from before there are any. */
	pg_read_barrier();
	if (!has_sync_standbys())
		return value;

	/* Written before the horizon is published: this is not an older one. */
	value = Min(value, (int64) pg_atomic_read_u64(&shared->value));
	pg_read_barrier();
	lsn = pg_atomic_read_u64(&shared->lsn);

	LWLockAcquire(SyncRepLock, LW_SHARED);
	flushed = WalSndCtl->lsn[SYNC_REP_WAIT_FLUSH];
	LWLockRelease(SyncRepLock);

	if (settled->pending_lsn != InvalidXLogRecPtr && settled->pending_lsn <= flushed)
	{
		settled->confirmed = Max(settled->confirmed, settled->pending);
		settled->pending_lsn = InvalidXLogRecPtr;
	}
	if (lsn <= flushed)
		settled->confirmed = Max(settled->confirmed, value);
	else if (settled->pending_lsn == InvalidXLogRecPtr)
	{
		settled->pending = value;
		settled->pending_lsn = lsn;
	}
	return settled->confirmed;
}

/*
 * Lets the floor of a generator with time be what is past (S3), durably (S4), and
 * returns it.
 */
static int64
raise_floor(Generator *generator)
{
	HorizonRef *horizon = &generator->horizon;
	ClockMove	now;
	int64		past;

	flake_clock_guard_read(&now);
	(void) flake_clock_guard_doubt(&now);
	past = flake_horizon_last_tick(&generator->layout, now.wall);

	/* If it cannot be moved because the clock is wrong, it stays. */
	if (flake_horizon_margin(horizon, past) < horizon->reserve)
		(void) flake_horizon_extend(horizon, past, NULL);
	return flake_horizon_raise_floor(horizon, past);
}

/* The end of the last tick of which all packed values are at or below one. */
static int64
whole_ticks(const FlakeLayout *layout, int64 packed)
{
	if (packed >= flake_layout_max_packed(layout))
		return flake_layout_max_packed(layout);
	return flake_layout_pack(layout, flake_layout_packed_tick(layout, packed + 1), 0) - 1;
}

/*
 * What open transactions leave of a bound, now that the floor is raised (S3);
 * FLAKE_PACKED_NONE if that is no id.
 */
static int64
below_holders(const Generator *generator, int32 shard, int64 bound)
{
	const FlakeLayout *layout = &generator->layout;

	pg_memory_barrier();
	bound = flake_holders_least(generator->key, shard, bound);
	if (flake_layout_has_time(layout) && bound != FLAKE_PACKED_NONE)
		bound = whole_ticks(layout, bound);
	return bound >= flake_layout_min_packed(layout) ? bound : FLAKE_PACKED_NONE;
}

/* Keeps a bound, and returns the greatest so far (S6). */
static int64
keep_latest(Settled *settled, int64 bound)
{
	Assert(LWLockHeldByMeInMode(&settled->lock, LW_EXCLUSIVE));
	settled->latest = Max(settled->latest, bound);
	return settled->latest;
}

/* The latest bound of all shards, in a layout with time. */
static int64
find_for_all(Generator *generator, Settled *settled)
{
	int64		floor = raise_floor(generator);
	int64		bound;

	LWLockAcquire(&settled->lock, LW_EXCLUSIVE);
	bound = Min(floor, confirmed_horizon(settled, &generator->horizon));
	bound = keep_latest(settled, below_holders(generator, FLAKE_EVERY_SHARD, bound));
	LWLockRelease(&settled->lock);
	return bound;
}

static void
read_slot(Slot *slot, void *arg)
{
	*(int64 *) arg = flake_slot_last(slot);
}

/*
 * The latest bound of a shard, in a layout without time.
 *
 * Who asks need not be one who may mint, and a layout can have more shards than
 * entries fit into shared memory.  So there is none for a shard that nothing was minted
 * from since the server started.  Without one S6 rests on what the bound begins
 * with: that is the same for all such shards, and only rises.
 */
static int64
find_for_shard(Generator *generator, Settled *all, int32 shard)
{
	const int64 min = flake_layout_min_packed(&generator->layout);
	const int64 max = flake_layout_max_packed(&generator->layout);
	Settled    *settled = NULL;
	int64		last = FLAKE_PACKED_NONE;
	int64		floor;
	int64		confirmed;
	int64		bound;
	int64		latest;

	flake_shmem_visit_slot(generator->key, shard, read_slot, &last);
	if (last != FLAKE_PACKED_NONE)
		settled = flake_shmem_settled(generator->key, shard);

	/* setval() allows more than the layout does. */
	floor = Min(flake_horizon_floor(&generator->horizon), max);

	LWLockAcquire(&all->lock, LW_EXCLUSIVE);
	confirmed = confirmed_horizon(all, &generator->horizon);
	if (Min(floor, confirmed) >= min)
		(void) keep_latest(all, Min(floor, confirmed));
	bound = Max(all->latest, Min(Max(last, floor), confirmed));
	LWLockRelease(&all->lock);

	if (settled == NULL)
	{
		latest = below_holders(generator, shard, bound);

		/* A prepared one from before the start: flake_settled_is_asked(). */
		if (latest != bound && latest != FLAKE_PACKED_NONE)
			(void) flake_shmem_settled(generator->key, shard);
		return latest;
	}
	LWLockAcquire(&settled->lock, LW_EXCLUSIVE);
	latest = keep_latest(settled, below_holders(generator, shard, bound));
	LWLockRelease(&settled->lock);
	return latest;
}

SettledBound
flake_settled_find(Generator *generator, int32 shard)
{
	SettledBound result = {.latest = FLAKE_PACKED_NONE};
	uint64		epoch = 0;

	if (flake_layout_has_time(&generator->layout))
		shard = FLAKE_EVERY_SHARD;

	/* It begins with the first id. */
	if ((int64) pg_atomic_read_u64(&generator->horizon.shared->value) != FLAKE_PACKED_NONE)
	{
		Settled    *all;

		flake_horizon_ask(&generator->horizon);
		all = flake_shmem_settled(generator->key, FLAKE_EVERY_SHARD);
		result.latest = shard == FLAKE_EVERY_SHARD
			? find_for_all(generator, all) : find_for_shard(generator, all, shard);
		epoch = all->epoch;
	}
	result.any_is_known = result.latest != FLAKE_PACKED_NONE;
	result.is_known = flake_settled_for_snapshot(generator->key, shard, epoch,
												 result.latest, &result.bound);
	return result;
}

static void
note_any(Settled *settled, void *arg)
{
	*(bool *) arg = true;
}

bool
flake_settled_is_asked(const HolderInfo *holder)
{
	bool		any = false;

	if (!holder->overflow)
		return flake_shmem_has_settled(&holder->key);
	flake_shmem_each_settled(note_any, &any);
	return any;
}

/* The greatest bound that was found for a generator. */
typedef struct GivenOut
{
	Oid			generator;
	int64		bound;
} GivenOut;

static void
find_given_out(Settled *settled, void *arg)
{
	GivenOut   *given_out = arg;

	if (settled->key.generator != given_out->generator)
		return;
	LWLockAcquire(&settled->lock, LW_SHARED);
	given_out->bound = Max(given_out->bound, settled->latest);
	LWLockRelease(&settled->lock);
}

bool
flake_settled_given_out(const Generator *generator, int64 *bound)
{
	GivenOut	given_out = {.generator = generator->key,.bound = FLAKE_PACKED_NONE};
	int64		asked = (int64) pg_atomic_read_u64(&generator->horizon.shared->asked);

	/*
	 * The first bound after a start is not below those from before.  But
	 * without time that is so for each shard, and not all were asked again.
	 */
	flake_shmem_each_settled(find_given_out, &given_out);
	*bound = given_out.bound;
	if (*bound == FLAKE_PACKED_NONE ||
		(!flake_layout_has_time(&generator->layout) &&
		 flake_layout_max_shard(&generator->layout) > 0))
		*bound = Max(*bound, asked);
	return *bound != FLAKE_PACKED_NONE;
}
