/*-------------------------------------------------------------------------
 *
 * horizon.c
 *	  The durable bound of everything that a generator has handed out.
 *
 * Ids are handed out from shared memory, which a crash wipes out, by a clock
 * that may meanwhile have been set back.  So each generator keeps on disk a
 * packed value, its horizon, and these rules:
 *
 *	H1	No id above the published horizon is handed out.
 *	H2	A horizon is published only after the WAL record that carries it has
 *		been flushed.
 *	H3	The first id after a server start is above the horizon found on disk.
 *	H4	No claim moves the horizon further than what could be claimed when it
 *		is moved, and a quarter of a second.
 *	H5	No claim moves the horizon far ahead because the clock has jumped there:
 *		see clock_guard.c.
 *
 * H1 to H3 make ids unique.  Hence whatever was handed out before a crash is at or below the horizon
 * found afterwards, and what comes after is above.  The horizon is moved a
 * window of some seconds at a time, so that a flush is needed only that often,
 * and by whoever first finds less than a quarter of the window left, so that
 * the others do not stop for it.
 *
 * H4 is for who comes after a crash.  Every shard then begins above the horizon,
 * also one that was idle; with H4 it can, at once or after a quarter of a second.
 * So a shard that is held at its limit, by flakeid.max_ahead, gets a window of
 * only that size.
 *
 * Standbys receive the horizon as they receive the rows: the commit record of
 * a row with an id lies behind the horizon record that allowed the id.
 *
 * The horizon's place on disk is the page of the generator's sequence: see
 * horizon_page.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "common/int.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "mint/clock_guard.h"
#include "mint/entry.h"
#include "mint/horizon.h"
#include "mint/horizon_page.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "settings.h"
#include "storage/bufmgr.h"
#include "trust/relation.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* How far ahead of what was handed out the horizon of a layout with time is. */
#define HORIZON_WINDOW_US	(5 * USECS_PER_SEC)

/*
 * H4: how far the horizon may be past what can be claimed.  Three quarters of it
 * are used up between two flushes of a shard that is held at its limit: that
 * makes 5.3 in a second.  With less there would be more.
 */
#define HORIZON_SLACK_US	(250 * INT64CONST(1000))

/* That and a tick are not longer than this, or it is a tick and no slack. */
#define RESTART_WAIT_US		(300 * INT64CONST(1000))

/*
 * Which relation, and which file of it: ALTER SEQUENCE ... RESTART gives a
 * sequence a new file, CREATE EXTENSION gives a generator a new sequence.
 */
static uint64
relation_file(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return (uint64) RelationGetRelid(rel) << 32 | rel->rd_locator.relNumber;
#else
	return (uint64) RelationGetRelid(rel) << 32 | rel->rd_node.relNode;
#endif
}

/* Opens the sequence for a change of its horizon. */
static Relation
open_sequence(const HorizonRef *ref)
{
	Relation	rel = relation_open(ref->sequence, NoLock);

	/* A file that goes away in a rollback would not keep it (H2). */
	if (flake_has_new_file(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot mint ids while changes to generator \"%s\" are not committed",
						RelationGetRelationName(rel)),
				 errdetail("If they were rolled back, ids minted meanwhile could repeat after a crash."),
				 errhint("Commit first.")));
	return rel;
}

/*
 * Makes a horizon that is on disk known, in the file of rel.  The floor may
 * have been read long before: whoever stores it holds the horizon's LWLock from
 * reading to storing, so that none that was raised meanwhile is lost.
 */
static void
publish(HorizonRef *ref, Relation rel, int64 value, int64 floor)
{
	Horizon    *shared = ref->shared;

	Assert(LWLockHeldByMeInMode(&shared->lock, LW_EXCLUSIVE));
	pg_atomic_write_u64(&shared->floor, (uint64) floor);

	/*
	 * File before value: see flake_horizon_margin().  No test can come in
	 * between to any effect: who publishes another file has the lock on the
	 * old one's sequence that keeps those who go by that file from minting.
	 */
	ref->file = relation_file(rel);
	pg_atomic_write_u64(&shared->file, ref->file);
	pg_write_barrier();
	pg_atomic_write_u64(&shared->value, (uint64) value);
}

/*
 * Brings disk and shared memory into agreement on a horizon of at least
 * needed.  Who calls holds the horizon's LWLock.  setval() does not respect
 * it, so the page stays locked from reading to writing.
 */
static void
synchronize(HorizonRef *ref, Relation rel, int64 needed)
{
	int64		published = (int64) pg_atomic_read_u64(&ref->shared->value);
	Buffer		buffer = ReadBuffer(rel, 0);
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	int64		floor = flake_horizon_floor(ref);
	int64		last_value;
	int64		guard;
	int64		value;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	flake_horizon_page_get(rel, BufferGetPage(buffer), ref->unset, &last_value, &guard);

	/*
	 * A page below what was published comes from ALTER SEQUENCE, or belongs
	 * to a generator that was dropped and created again.  It must be raised
	 * (H2).
	 */
	value = Max(Max(needed, published), Max(last_value, guard));
	if (published == FLAKE_PACKED_NONE)
		ref->shared->found = guard;
	if (value != last_value || value != guard)
		lsn = flake_horizon_page_write(rel, buffer, value);
	else if (flake_horizon_page_origin(rel, BufferGetPage(buffer)).timeline == 0)
		(void) flake_horizon_page_stamp(rel, buffer);
	UnlockReleaseBuffer(buffer);

	/*
	 * H2.  No commit record of ours will flush this: the caller may belong to
	 * a transaction that writes nothing.
	 */
	XLogFlush(lsn);

	/*
	 * A page above what this server has published comes from before the
	 * server started.  A last_value that is not the guard comes from
	 * setval(), as in a restore.  Ids up to there may be in use (H3).
	 */
	if (Max(last_value, guard) > published)
		floor = Max(floor, Max(last_value, guard));
	else if (last_value != guard)
		floor = Max(floor, last_value);
	publish(ref, rel, value, floor);
}

/* How far ahead of what was handed out to move the horizon, in packed units. */
static int64
horizon_window(const FlakeLayout *layout)
{
	int64		ticks;

	if (!flake_layout_has_time(layout))
		return layout->block;

	/* Of a long tick a part is enough. */
	if (layout->unit_us > HORIZON_WINDOW_US)
		return Max(flake_layout_max_sequence(layout) /
				   (layout->unit_us / HORIZON_WINDOW_US), 1);

	/* Of a layout that cannot hold as much, a tenth. */
	ticks = Min(HORIZON_WINDOW_US / layout->unit_us,
				flake_layout_max_tick(layout) / 10);
	return Max(flake_layout_pack(layout, ticks, 0), 1);
}

/* H4: what may be claimed at an instant, and the slack. */
static int64
claimable_up_to(const FlakeLayout *layout, TimestampTz now)
{
	int64		slack_us = Min(HORIZON_SLACK_US, RESTART_WAIT_US - layout->unit_us);
	int64		tick = flake_layout_tick_at(layout, now);

	if (tick < flake_layout_min_tick(layout))
		return FLAKE_PACKED_NONE;
	if (pg_add_s64_overflow(tick, flake_max_ahead_us / layout->unit_us +
							Max(slack_us, 0) / layout->unit_us, &tick) ||
		tick > flake_layout_max_tick(layout))
		return flake_layout_max_packed(layout);
	return flake_layout_pack(layout, tick, flake_layout_max_sequence(layout));
}

/*
 * WARNING if a horizon that was found at the server's start is further ahead
 * than H4 lets it go, or some setting of before.
 */
static void
warn_if_far_ahead(const HorizonRef *ref, int64 found)
{
	const FlakeLayout *layout = ref->layout;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz ahead;

	if (!flake_layout_has_time(layout) || found <= claimable_up_to(layout, now) ||
		!flake_layout_tick_start(layout, flake_layout_packed_tick(layout, found), &ahead))
		return;
	ereport(WARNING,
			(errmsg("the horizon of generator \"%s\" is %s ahead of the clock",
					get_rel_name(ref->sequence), flake_long_duration(ahead - now)),
			 errdetail("Ids go on above it, and may be %s ahead of the clock (\"flakeid.max_ahead\").",
					   flake_duration(flake_max_ahead_us)),
			 errhint("If the clock is behind, correct it. If it is right, it was ahead when ids were minted: see flake_rewind().")));
}

/*
 * Where a generator begins that has not handed out anything: at the present,
 * not at the epoch.  Should the clock be set back later, ids do not go back
 * into the time before the generator.
 */
static int64
first_floor(const FlakeLayout *layout, TimestampTz now)
{
	int64		min;
	int64		max;
	int64		tick;

	flake_horizon_bounds(layout, &min, &max);
	if (!flake_layout_has_time(layout))
		return min - 1;
	tick = flake_layout_tick_at(layout, now);
	if (tick < flake_layout_min_tick(layout) ||
		tick > flake_layout_max_tick(layout))
		return min - 1;
	return Max(flake_layout_pack(layout, tick, 0), min) - 1;
}

/* The time of a packed value; DT_NOBEGIN if there is none. */
static TimestampTz
time_of(const FlakeLayout *layout, int64 packed)
{
	TimestampTz result = DT_NOBEGIN;

	if (packed != FLAKE_PACKED_NONE)
		(void) flake_layout_tick_start(layout, flake_layout_packed_tick(layout, packed),
									   &result);
	return result;
}

/* Reads the clock to move a horizon by; its LWLock must be held. */
static void
read_clock(const HorizonRef *ref, ClockMove *move)
{
	flake_clock_guard_read(move);
	move->horizon = time_of(ref->layout, (int64) pg_atomic_read_u64(&ref->shared->value));
	move->found = time_of(ref->layout, ref->shared->found);
}

/*
 * The databases that had an OID, one after the other, are told apart by the
 * transaction that wrote the row in pg_database: no two were created by the same
 * one, and freezing leaves it in the row.  ALTER DATABASE writes another row, so
 * this may change for one and the same database.
 */
static TransactionId
database_incarnation(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	TransactionId xmin;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
	ReleaseSysCache(tuple);
	return xmin;
}

static void
close_slot(Slot *slot, void *arg)
{
	const Horizon *shared = arg;

	if (slot->key.database == shared->key.database &&
		slot->key.generator == shared->key.generator)
		(void) flake_slot_close(slot);
}

/*
 * CREATE DATABASE ... OID makes a database with the OID of one that was dropped.
 * What is known here of that one's generators is then found for the new one's.
 * Its horizon does no harm, as it only makes ids greater.  But its slots may be
 * open for shards that the new database has detached (F2), so they are closed:
 * whoever finds a slot closed looks into the table of states.
 *
 * Who calls holds the horizon's LWLock.  Every session of the new database comes
 * here before it uses a slot, and no session of the old one is left.  So nobody
 * mints from an open slot of the old database before the first session has
 * closed them all, and later ones find that this is done.  They are closed first
 * and that is noted then, so that an error in between leaves it to be done.  If
 * it is the same database after all (ALTER DATABASE), its sessions lose nothing
 * but a look into the table.
 *
 * An entry that is still empty has no slots: whoever makes those has been here,
 * and what frees both frees the slots first.  The slots that databases share,
 * for UUIDs and ObjectIDs, have no states and stay open.
 */
static void
notice_database(Horizon *shared, TransactionId incarnation)
{
	if (shared->incarnation == incarnation)
		return;
	if (shared->incarnation != InvalidTransactionId)
		flake_shmem_each_slot(close_slot, shared);
	shared->incarnation = incarnation;
}

void
flake_horizon_open(HorizonRef *ref, Oid generator, Oid sequence,
				   const FlakeLayout *layout, bool begin)
{
	TransactionId incarnation = database_incarnation();
	Relation	rel;
	bool		is_first;
	bool		is_refused = false;
	int64		found = FLAKE_PACKED_NONE;
	ClockMove	move;

	ref->shared = flake_shmem_horizon(generator);
	ref->sequence = sequence;
	ref->unset = flake_horizon_page_unset(sequence);
	ref->layout = layout;
	ref->window = horizon_window(layout);
	ref->reserve = ref->window / 4;
	ref->max = flake_layout_max_packed(layout);

	rel = open_sequence(ref);
	LWLockAcquire(&ref->shared->lock, LW_EXCLUSIVE);
	notice_database(ref->shared, incarnation);
	is_first = (int64) pg_atomic_read_u64(&ref->shared->value) == FLAKE_PACKED_NONE;
	synchronize(ref, rel, FLAKE_PACKED_NONE);
	if (is_first)
		found = (int64) pg_atomic_read_u64(&ref->shared->value);
	if (begin && flake_horizon_floor(ref) == FLAKE_PACKED_NONE)
	{
		read_clock(ref, &move);
		is_refused = flake_layout_has_time(layout) && !flake_clock_guard_allows(&move);
		if (!is_refused)
			pg_atomic_write_u64(&ref->shared->floor,
								(uint64) first_floor(layout, move.wall));
	}
	LWLockRelease(&ref->shared->lock);
	relation_close(rel, NoLock);

	if (is_refused)
	{
		flake_clock_guard_refuse(&move, &ref->shared->refused);
		flake_horizon_open(ref, generator, sequence, layout, begin);
		return;
	}
	warn_if_far_ahead(ref, found);
}

bool
flake_horizon_extend(HorizonRef *ref, int64 end, Slot *slot)
{
	Horizon    *shared = ref->shared;
	bool		wait = flake_horizon_margin(ref, end) < 0;
	bool		start_over = wait;
	bool		has_time = flake_layout_has_time(ref->layout);
	bool		is_moved = false;
	bool		is_refused = false;
	ClockMove	move;
	Relation	rel;
	int64		cap = ref->max;
	int64		needed;

	/* At the end of the layout there is nothing more to reserve. */
	if (!wait && (int64) pg_atomic_read_u64(&shared->value) >= ref->max)
		return false;

	/* Before the LWLock: opening it may read catalogs. */
	rel = open_sequence(ref);
	if (wait)
		LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	else if (!LWLockConditionalAcquire(&shared->lock, LW_EXCLUSIVE))
	{
		relation_close(rel, NoLock);
		return false;
	}

	ref->file = relation_file(rel);
	if (has_time)
	{
		read_clock(ref, &move);
		cap = claimable_up_to(ref->layout, move.wall);
	}
	if (end > cap)
		start_over = true;		/* the claim had another reading of the clock */
	else
	{
		if (pg_add_s64_overflow(end, ref->window, &needed))
			needed = PG_INT64_MAX;
		needed = Min(needed, cap);

		/*
		 * With less to reserve, who is content with less left flushes less
		 * often.  Somebody else may have moved the horizon while we waited.
		 */
		ref->reserve = (needed - end) / 4;
		if (flake_horizon_margin(ref, end) < ref->reserve)
		{
			start_over = true;
			is_refused = has_time && !flake_clock_guard_allows(&move);
			is_moved = !is_refused;
			if (is_moved)
				synchronize(ref, rel, needed);
		}
	}

	LWLockRelease(&shared->lock);
	relation_close(rel, NoLock);
	if (is_refused)
		flake_clock_guard_refuse(&move, &slot->refused);
	if (is_moved && has_time)
		flake_clock_guard_note(&move);
	return start_over;
}

void
flake_horizon_raise(HorizonRef *ref, int64 above)
{
	Horizon    *shared = ref->shared;
	Relation	rel = open_sequence(ref);
	int64		needed = above;
	ClockMove	move;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);

	/*
	 * Ids begin at the present anyhow; and H5 takes what is on disk for a
	 * time.
	 */
	read_clock(ref, &move);
	if (flake_layout_has_time(ref->layout) && flake_clock_guard_allows(&move))
		needed = Max(needed, first_floor(ref->layout, move.wall));
	synchronize(ref, rel, needed);
	if (flake_horizon_floor(ref) < above)
		pg_atomic_write_u64(&shared->floor, (uint64) above);
	LWLockRelease(&shared->lock);
	relation_close(rel, NoLock);
}

void
flake_horizon_rewind(HorizonRef *ref, int64 value)
{
	Horizon    *shared = ref->shared;
	Relation	rel = open_sequence(ref);
	Buffer		buffer = ReadBuffer(rel, 0);
	XLogRecPtr	lsn;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	lsn = flake_horizon_page_write(rel, buffer, value);
	UnlockReleaseBuffer(buffer);
	XLogFlush(lsn);
	publish(ref, rel, value, value);
	LWLockRelease(&shared->lock);
	relation_close(rel, NoLock);
}
