/*-------------------------------------------------------------------------
 *
 * horizon.h
 *	  The durable bound of everything that a generator has handed out.
 *
 * Whoever calls a function here holds a lock on the generator's sequence, at
 * least RowExclusiveLock unless another is named.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_HORIZON_H
#define FLAKEID_HORIZON_H

#include "common/int.h"
#include "layout/layout.h"
#include "mint/entry.h"

#pragma GCC visibility push(hidden)

/* A session's view of one generator's horizon. */
typedef struct HorizonRef
{
	Horizon    *shared;
	Oid			sequence;		/* the relation that keeps it */
	int64		unset;			/* what last_value is if nothing has set it */
	uint64		file;			/* that relation's file, as last seen here */
	const FlakeLayout *layout;	/* the generator's, for as long as this */
	int64		window;			/* packed: how far to reserve ahead */
	int64		reserve;		/* packed: extend if less is left above an id */
	int64		max;			/* packed: no horizon is above */
} HorizonRef;

/*
 * Points ref at the horizon of a generator, which has that key in shared
 * memory, and brings disk and shared memory into agreement.  No slot of this
 * database's may be used before.  The layout is to stay where it is.  Without
 * begin, a generator that has handed out nothing yet stays so.
 *
 * ERROR 53400 if a new generator would begin where the clock has jumped (H5).
 * WARNING, once after a server start, if the horizon is so far ahead of the
 * clock that ids have to wait for the clock.
 */
extern void flake_horizon_open(HorizonRef *ref, Oid generator, Oid sequence,
							   const FlakeLayout *layout, bool begin);

/* The same, without beginning a generator and without waiting: false if in use. */
extern bool flake_horizon_try_open(HorizonRef *ref, Oid generator, Oid sequence,
								   const FlakeLayout *layout);

/*
 * Moves the horizon to a window past end, or as far of that as H4 allows,
 * durably, and then publishes it.  After true, start over: the clock has moved
 * on, or was not as it seemed.  False if end is covered, and the horizon was left
 * as it is: somebody else is about to move it, or nothing is left to reserve.
 *
 * ERROR 53400 if the clock has jumped ahead (H5); it is counted in the slot that
 * the claim is for.  No slot is for who only asks what is settled: then it is false
 * instead, and the clock that counts is that of flake_clock_guard_doubt().
 */
extern bool flake_horizon_extend(HorizonRef *ref, int64 end, Slot *slot);

/* Makes sure, durably, that every new id is above a packed value. */
extern void flake_horizon_raise(HorizonRef *ref, int64 above);

/*
 * Sets the horizon back to a packed value, durably.  Ids above it can be
 * handed out again.  The sequence must be locked so that nobody mints.
 */
extern void flake_horizon_rewind(HorizonRef *ref, int64 value);

/*
 * Makes durable that bounds up to the horizon may be given out of what is settled.
 * Whatever moves the horizon later does so, too, until it is set back.
 */
extern void flake_horizon_ask(HorizonRef *ref);

/*
 * Raises the floor to a packed value, if that is at or below the horizon, and
 * returns the floor.
 */
extern int64 flake_horizon_raise_floor(HorizonRef *ref, int64 above);

/*
 * The same with what is past at an instant, now and then, if the generator is asked
 * what is settled.
 */
extern void flake_horizon_follow_clock(HorizonRef *ref, TimestampTz now);

/*
 * How many packed values the horizon leaves above end; negative if end is
 * not covered.
 *
 * The published value counts only as long as it is kept in the file that this
 * session knows as the generator's (ALTER SEQUENCE and DROP EXTENSION change
 * the file, and may yet be rolled back).  The value is read first: whoever
 * changes both writes the file first.
 */
static inline int64
flake_horizon_margin(const HorizonRef *ref, int64 end)
{
	int64		value = (int64) pg_atomic_read_u64(&ref->shared->value);
	int64		margin;

	pg_read_barrier();
	if (unlikely(pg_atomic_read_u64(&ref->shared->file) != ref->file))
		return -1;
	if (unlikely(pg_sub_s64_overflow(value, end, &margin)))
		return value < end ? -1 : PG_INT64_MAX;
	return margin;
}

/* Every new id must be above this. */
static inline int64
flake_horizon_floor(const HorizonRef *ref)
{
	return (int64) pg_atomic_read_u64(&ref->shared->floor);
}

#pragma GCC visibility pop

#endif							/* FLAKEID_HORIZON_H */
