/*-------------------------------------------------------------------------
 *
 * clock_guard.h
 *	  A clock that has jumped ahead moves no horizon.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_CLOCK_GUARD_H
#define FLAKEID_CLOCK_GUARD_H

#include "datatype/timestamp.h"
#include "port/atomics.h"

#pragma GCC visibility push(hidden)

/* A horizon that is about to be moved, and the reading of the clock for it. */
typedef struct ClockMove
{
	TimestampTz wall;			/* the clock */
	int64		steady_us;		/* a clock that nobody sets, then */
	TimestampTz horizon;		/* where the horizon is; DT_NOBEGIN: nowhere */
	TimestampTz found;			/* where this server has found it, likewise */
} ClockMove;

/* Reads the clocks. */
extern void flake_clock_guard_read(ClockMove *move);

/*
 * For who only asks what is settled: a clock that is further ahead of the steady one
 * than flakeid.max_ahead, since a claim last moved a horizon, is not believed, and
 * the steady one takes its place.  False if no horizon was moved since the start.
 */
extern bool flake_clock_guard_doubt(ClockMove *move);

/* Whether the move may be made. */
extern bool flake_clock_guard_allows(const ClockMove *move);

/*
 * For a move that may not be made.  Reads the clocks once more, and returns if
 * that makes it one that may: start over.  Else it is counted, and ERROR 53400.
 * No LWLock should be held: the message goes to the client first.
 */
extern void flake_clock_guard_refuse(ClockMove *move, pg_atomic_uint64 *refused);

/*
 * For a move that was made: later ones are compared with it.  WARNING if the
 * server cannot tell a long pause from a wrong clock.
 */
extern void flake_clock_guard_note(const ClockMove *move);

/* Takes the clock for right as it is now.  Says so in the server's log. */
extern void flake_clock_guard_accept(void);

/* What was refused since the last move or flake_clock_guard_accept() */
typedef struct ClockRefusals
{
	int64		count;
	TimestampTz since;			/* by the clock as it is now */
	int64		jump_us;		/* how far ahead the clock was the last time */
} ClockRefusals;

/* False if nothing was, or the clock has been corrected. */
extern bool flake_clock_guard_refusals(ClockRefusals *refusals);

#pragma GCC visibility pop

#endif							/* FLAKEID_CLOCK_GUARD_H */
