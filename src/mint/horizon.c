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
 * horizon_page.c.  Whoever moves the horizon locks first its LWLock, and then the
 * page; if that is not free, he lets go of both, and begins anew (see locks.c).
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "common/int.h"
#include "layout/layout.h"
#include "mint/clock_guard.h"
#include "mint/entry.h"
#include "mint/horizon.h"
#include "mint/horizon_database.h"
#include "mint/horizon_page.h"
#include "mint/horizon_reach.h"
#include "mint/locks.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "settings.h"
#include "storage/bufmgr.h"
#include "trust/relation.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/*
 * How far behind the clock to leave the floor of a generator that is asked what is
 * settled, before a transaction that mints raises it.
 */
#define FOLLOWS_CLOCK_US	(100 * INT64CONST(1000))

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

	/*
	 * A file that goes away in a rollback would not keep it (H2); nor would
	 * this one, if another transaction commits.
	 */
	if (flake_has_new_file(rel) ||
		flake_uncommitted(ref->sequence, rel->rd_rel->relfilenode).other_file)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot use generator \"%s\" while changes to it are not committed",
						RelationGetRelationName(rel)),
				 errdetail("Ids that were handed out, or settled, could be minted after a crash."),
				 errhint("Commit first, or wait until others have committed.")));
	return rel;
}

/* The greater one stays, whoever else raises it. */
static void
raise_to(pg_atomic_uint64 *shared, int64 value)
{
	uint64		old = pg_atomic_read_u64(shared);

	while ((int64) old < value &&
		   !pg_atomic_compare_exchange_u64(shared, &old, (uint64) value))
		;
}

/*
 * Makes a horizon that is on disk known, in the file of rel, with the end of its
 * WAL record.  Who reads the horizon before that finds at least that of the
 * horizon.
 */
static void
publish(HorizonRef *ref, Relation rel, int64 value, XLogRecPtr lsn)
{
	Horizon    *shared = ref->shared;

	Assert(LWLockHeldByMeInMode(&shared->lock, LW_EXCLUSIVE));
	pg_atomic_write_u64(&shared->lsn, lsn);

	/* S4: nothing is confirmed of a file that was rolled back. */
	if (pg_atomic_read_u64(&shared->file) != relation_file(rel))
		flake_shmem_forget_settled(shared->key.generator);

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

/* Ends what flake_page_lock() has begun. */
static void
unlock(Horizon *shared)
{
	flake_page_unlock();
	LWLockRelease(&shared->lock);
}

/*
 * Brings disk and shared memory into agreement on a horizon of at least
 * needed.  Who calls holds the horizon's LWLock.  setval() does not respect
 * it, so the page stays locked from reading to writing; then it is unlocked.
 */
static void
synchronize(HorizonRef *ref, Relation rel, Buffer buffer, int64 needed)
{
	Horizon    *shared = ref->shared;
	int64		published = (int64) pg_atomic_read_u64(&shared->value);
	bool		asked = (int64) pg_atomic_read_u64(&shared->asked) != FLAKE_PACKED_NONE;
	Page		page = BufferGetPage(buffer);
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	XLogRecPtr	page_lsn;
	int64		asked_on_disk;
	int64		last_value;
	int64		guard;
	int64		value;

	flake_horizon_page_get(rel, page, ref->unset, &last_value, &guard);
	asked_on_disk = flake_horizon_page_asked(rel, page);

	/*
	 * A page below what was published comes from ALTER SEQUENCE, or belongs
	 * to a generator that was dropped and created again.  It must be raised
	 * (H2).
	 */
	value = Max(Max(needed, published), Max(last_value, guard));
	if (published == FLAKE_PACKED_NONE)
		shared->found = guard;
	if (value != last_value || value != guard || (asked && asked_on_disk != value))
		lsn = flake_horizon_page_write(rel, buffer, value, asked ? value : asked_on_disk);
	else if (flake_horizon_page_origin(rel, page).timeline == 0)
		(void) flake_horizon_page_stamp(rel, buffer);
	page_lsn = PageGetLSN(page);
	flake_page_unlock();

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
		raise_to(&shared->floor, Max(last_value, guard));
	else if (last_value != guard)
		raise_to(&shared->floor, last_value);
	raise_to(&shared->asked, asked ? value : asked_on_disk);
	publish(ref, rel, value, page_lsn);
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

/* False if the page cannot be had that soon. */
static bool
open_horizon(HorizonRef *ref, Oid generator, Oid sequence,
			 const FlakeLayout *layout, bool begin, PageWait wait)
{
	uint64		incarnation = flake_database_incarnation();
	Relation	rel;
	Buffer		page;
	bool		is_first;
	bool		is_other;
	bool		is_refused = false;
	int64		found = FLAKE_PACKED_NONE;
	ClockMove	move;

	ref->shared = flake_shmem_horizon(generator);
	ref->sequence = sequence;
	ref->unset = flake_horizon_page_unset(sequence);
	ref->layout = layout;
	ref->window = flake_horizon_window(layout);
	ref->reserve = ref->window / 4;
	ref->max = flake_layout_max_packed(layout);

	rel = open_sequence(ref);
	page = flake_page_lock(rel, &ref->shared->lock, wait);
	if (!BufferIsValid(page))
	{
		relation_close(rel, NoLock);
		return false;
	}
	is_other = flake_horizon_is_other(ref->shared, incarnation);
	if (is_other)
		flake_horizon_forget_other(ref->shared);
	is_first = (int64) pg_atomic_read_u64(&ref->shared->value) == FLAKE_PACKED_NONE;
	synchronize(ref, rel, page, FLAKE_PACKED_NONE);

	/* H3: what another database has on disk is no move of ours. */
	if (is_other)
	{
		raise_to(&ref->shared->floor, (int64) pg_atomic_read_u64(&ref->shared->value));
		flake_horizon_forget_slots(ref->shared);
	}
	ref->shared->incarnation = incarnation;
	ref->shared->tablespace = MyDatabaseTableSpace;
	if (is_first)
		found = (int64) pg_atomic_read_u64(&ref->shared->value);
	if (begin && flake_horizon_floor(ref) == FLAKE_PACKED_NONE)
	{
		read_clock(ref, &move);
		is_refused = flake_layout_has_time(layout) && !flake_clock_guard_allows(&move);
		if (!is_refused)
			raise_to(&ref->shared->floor, flake_horizon_first_floor(layout, move.wall));
	}
	unlock(ref->shared);
	relation_close(rel, NoLock);

	if (is_refused)
	{
		flake_clock_guard_refuse(&move, &ref->shared->refused);
		return open_horizon(ref, generator, sequence, layout, begin, wait);
	}
	flake_horizon_warn_if_ahead(layout, sequence, found);
	return true;
}

void
flake_horizon_open(HorizonRef *ref, Oid generator, Oid sequence,
				   const FlakeLayout *layout, bool begin)
{
	FLAKE_TRY_LOCKED();
	{
		(void) open_horizon(ref, generator, sequence, layout, begin, PAGE_OR_ERROR);
	}
	FLAKE_END_LOCKED();
}

bool
flake_horizon_try_open(HorizonRef *ref, Oid generator, Oid sequence,
					   const FlakeLayout *layout)
{
	bool		is_open = false;

	FLAKE_TRY_LOCKED();
	{
		is_open = open_horizon(ref, generator, sequence, layout, false, PAGE_NO_WAIT);
	}
	FLAKE_END_LOCKED();
	return is_open;
}

static bool
extend(HorizonRef *ref, int64 end, Slot *slot)
{
	Horizon    *shared = ref->shared;
	bool		wait = flake_horizon_margin(ref, end) < 0;
	bool		start_over = wait;
	bool		has_time = flake_layout_has_time(ref->layout);
	bool		is_moved = false;
	bool		is_refused = false;
	bool		is_reference = true;
	ClockMove	move;
	Relation	rel;
	Buffer		page;
	int64		cap = ref->max;
	int64		needed;

	/* At the end of the layout there is nothing more to reserve. */
	if (!wait && (int64) pg_atomic_read_u64(&shared->value) >= ref->max)
		return false;

	/* Before the locks: opening it may read catalogs. */
	rel = open_sequence(ref);
	page = flake_page_lock(rel, &shared->lock, wait ? PAGE_OR_ERROR : PAGE_NO_WAIT);
	if (!BufferIsValid(page))
	{
		relation_close(rel, NoLock);
		return false;
	}

	ref->file = relation_file(rel);
	if (has_time)
	{
		read_clock(ref, &move);
		if (slot == NULL)
			is_reference = !flake_clock_guard_doubt(&move);
		cap = flake_horizon_claimable_up_to(ref->layout, move.wall);
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
				synchronize(ref, rel, page, needed);
		}
	}
	unlock(shared);
	relation_close(rel, NoLock);
	if (is_refused && slot == NULL)
		return false;
	if (is_refused)
		flake_clock_guard_refuse(&move, &slot->refused);
	if (is_moved && has_time && is_reference)
		flake_clock_guard_note(&move);
	return start_over;
}

bool
flake_horizon_extend(HorizonRef *ref, int64 end, Slot *slot)
{
	bool		start_over = false;

	FLAKE_TRY_LOCKED();
	{
		start_over = extend(ref, end, slot);
	}
	FLAKE_END_LOCKED();
	return start_over;
}

static void
raise_horizon(HorizonRef *ref, int64 above)
{
	Horizon    *shared = ref->shared;
	Relation	rel = open_sequence(ref);
	Buffer		page = flake_page_lock(rel, &shared->lock, PAGE_OR_ERROR);
	int64		needed = above;
	ClockMove	move;

	/*
	 * Ids begin at the present anyhow; and H5 takes what is on disk for a
	 * time.
	 */
	read_clock(ref, &move);
	if (flake_layout_has_time(ref->layout) && flake_clock_guard_allows(&move))
		needed = Max(needed, flake_horizon_first_floor(ref->layout, move.wall));
	synchronize(ref, rel, page, needed);
	raise_to(&shared->floor, above);
	unlock(shared);
	relation_close(rel, NoLock);
}

void
flake_horizon_raise(HorizonRef *ref, int64 above)
{
	/*
	 * The page can be busy, and is not needed below the horizon that is on
	 * disk.
	 */
	if (flake_horizon_margin(ref, above) >= 0)
	{
		(void) flake_horizon_raise_floor(ref, above);
		return;
	}
	FLAKE_TRY_LOCKED();
	{
		raise_horizon(ref, above);
	}
	FLAKE_END_LOCKED();
}

static void
rewind_horizon(HorizonRef *ref, int64 value)
{
	Horizon    *shared = ref->shared;
	Relation	rel = open_sequence(ref);
	Buffer		page = flake_page_lock(rel, &shared->lock, PAGE_OR_ERROR);
	int64		asked;
	XLogRecPtr	lsn;

	/*
	 * Who had read on up to above the value is set back to it, or the rewind
	 * is refused: see check_settled().  Up to there bounds were given out.
	 */
	asked = Min((int64) pg_atomic_read_u64(&shared->asked), value);
	lsn = flake_horizon_page_write(rel, page, value, asked);
	flake_page_unlock();
	XLogFlush(lsn);

	/* Not raise_to(): nobody else changes them while the sequence is locked. */
	flake_shmem_forget_settled(shared->key.generator);
	pg_atomic_write_u64(&shared->asked, (uint64) asked);
	pg_atomic_write_u64(&shared->floor, (uint64) value);
	publish(ref, rel, value, lsn);
	unlock(shared);
	relation_close(rel, NoLock);
}

void
flake_horizon_rewind(HorizonRef *ref, int64 value)
{
	FLAKE_TRY_LOCKED();
	{
		rewind_horizon(ref, value);
	}
	FLAKE_END_LOCKED();
}

static void
ask(HorizonRef *ref)
{
	Horizon    *shared = ref->shared;
	Relation	rel = open_sequence(ref);
	Buffer		page = flake_page_lock(rel, &shared->lock, PAGE_OR_ERROR);

	raise_to(&shared->asked, FLAKE_PACKED_NONE + 1);
	synchronize(ref, rel, page, FLAKE_PACKED_NONE);
	unlock(shared);
	relation_close(rel, NoLock);
}

void
flake_horizon_ask(HorizonRef *ref)
{
	if (pg_atomic_read_u64(&ref->shared->asked) == pg_atomic_read_u64(&ref->shared->value) &&
		pg_atomic_read_u64(&ref->shared->file) == ref->file)
		return;
	FLAKE_TRY_LOCKED();
	{
		ask(ref);
	}
	FLAKE_END_LOCKED();
}

int64
flake_horizon_raise_floor(HorizonRef *ref, int64 above)
{
	if (flake_horizon_margin(ref, above) >= 0)
		raise_to(&ref->shared->floor, above);
	return flake_horizon_floor(ref);
}

void
flake_horizon_follow_clock(HorizonRef *ref, TimestampTz now)
{
	const FlakeLayout *layout = ref->layout;
	int64		above;

	if (likely((int64) pg_atomic_read_u64(&ref->shared->asked) == FLAKE_PACKED_NONE))
		return;
	above = flake_horizon_last_tick(layout, now - FOLLOWS_CLOCK_US);
	if (flake_horizon_floor(ref) < above)
		(void) flake_horizon_raise_floor(ref, flake_horizon_last_tick(layout, now));
}
