/*-------------------------------------------------------------------------
 *
 * clock_guard.c
 *	  A clock that has jumped ahead moves no horizon.
 *
 * A horizon (see horizon.c) is moved to where the clock says, and stays there.
 * After the next server start every shard of the generator begins above it, and
 * so one wrong reading of the clock, a year ahead, could keep all of them from
 * minting for a year.  Hence:
 *
 *	H5	A claim moves a horizon by more than flakeid.max_jump only if the clock
 *		has advanced, since it was last found right, by no more than
 *		flakeid.max_jump more than a clock that nobody sets.
 *
 * That clock is CLOCK_BOOTTIME.  It goes on while the machine is suspended, but
 * not while a hypervisor has stopped it: then it is the clock that is right and
 * seems to have jumped.  A day, the default, lets a night's pause pass, and stops
 * wrong dates, years and epochs.  It does not stop a wrong time zone, which is
 * off by 14 hours at most, and costs no more than that.
 *
 * What is compared with is the last move of any horizon of the server that was
 * found right, in shared memory.  Before the first one after a server start there is
 * only what is on disk, and two questions:
 *
 *	Is the clock right?  It is compared with the server start and with the last
 *	checkpoint, which nobody can set.  A move by a clock that is a year ahead of
 *	these becomes nobody's reference.  If the checkpoint is from before the start,
 *	the reference proves that the clock was right then.
 *
 *	May this horizon be moved?  It is also compared with where the horizon is, or
 *	was when the server started.
 *	Anybody has a generator that is where he likes, by setval(), so that counts
 *	for this one alone.  It goes on to be looked at until the clock is proven.
 *
 * If the clock is ahead, either it is wrong, or the server was down, or nobody has
 * minted for so long.  More than a year is refused; less is a warning, if the server
 * has just started.
 *
 * After a crash the last checkpoint has today's clock, and a new generator has no
 * horizon.  Its move is let pass, and later ones are compared with it.  But others'
 * moves are still compared with where their horizons are.
 *
 * Who only asks what is settled raises the floor and the horizon of all shards.  A
 * bound that comes late harms nobody, but a moment of a wrong clock could keep all
 * shards from minting until the clock gets there.  So asking follows a clock that is
 * ahead by more than flakeid.max_ahead only once a claim has.
 *
 * The guard costs nothing where no horizon is moved, and nobody asks.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "layout/message.h"
#include "mint/clock_guard.h"
#include "mint/entry.h"
#include "mint/locks.h"
#include "mint/shmem_area.h"
#include "miscadmin.h"
#include "settings.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#ifdef CLOCK_BOOTTIME
#define STEADY_CLOCK		CLOCK_BOOTTIME
#else
#define STEADY_CLOCK		CLOCK_MONOTONIC
#endif

/* A pause before the server start is worth a word for so long after it. */
#define NEWS_US				USECS_PER_HOUR

/* With nothing but the disk to go by, this much is not taken for a pause. */
#define LONGEST_DOWN_US		(365 * USECS_PER_DAY)

/* What the clock has been found to be ahead of. */
typedef struct Doubt
{
	int64		ahead_us;		/* by how much; 0: of nothing */
	TimestampTz since;			/* the last time that is known */
	int64		passed_us;		/* since then by the steady clock, or -1 */
	bool		is_refused;		/* this horizon may not be moved */
	bool		is_doubtful;	/* nobody is to be compared with the move */
	bool		is_proven;		/* the clock was right at the start */
} Doubt;

void
flake_clock_guard_read(ClockMove *move)
{
	struct timespec steady;

	move->wall = GetCurrentTimestamp();
	clock_gettime(STEADY_CLOCK, &steady);
	move->steady_us = steady.tv_sec * USECS_PER_SEC + steady.tv_nsec / 1000;
}

static ClockGuard
get_guard(void)
{
	ClockGuard *shared = flake_shmem_clock_guard();
	ClockGuard	guard;

	SpinLockAcquire(&shared->mutex);
	guard = *shared;
	SpinLockRelease(&shared->mutex);
	return guard;
}

/* NULL if it cannot be read. */
static ControlFileData *
read_control_file(void)
{
	ControlFileData *control = NULL;
	bool		is_intact = false;

	FLAKE_TRY_LOCKED();
	{
		LWLockAcquire(ControlFileLock, LW_SHARED);
		control = get_controlfile(DataDir, &is_intact);
		LWLockRelease(ControlFileLock);
	}
	FLAKE_END_LOCKED();
	return is_intact ? control : NULL;
}

/* When the last checkpoint began, at the latest; DT_NOBEGIN if it cannot be read. */
static TimestampTz
last_checkpoint(void)
{
	ControlFileData *control = read_control_file();
	TimestampTz result;

	if (control == NULL)
		return DT_NOBEGIN;
	result = time_t_to_timestamptz(control->checkPointCopy.time) + USECS_PER_SEC;
	pfree(control);
	return result;
}

/* The comparison with what is on disk. */
static Doubt
doubt_by_disk(const ClockMove *move, bool is_first)
{
	TimestampTz checkpoint = last_checkpoint();
	TimestampTz latest = Max(PgStartTime, checkpoint);
	TimestampTz started = Min(PgStartTime, move->wall);
	int64		max_jump_us = flake_max_jump_s * USECS_PER_SEC;
	int64		longest_us = Max(max_jump_us, LONGEST_DOWN_US);
	TimestampTz own = DT_NOBEGIN;
	TimestampTz before;
	Doubt		doubt = {.passed_us = -1};

	/* The checkpoint at the end of recovery has the clock of the start. */
	if (checkpoint >= PgStartTime)
		checkpoint = DT_NOBEGIN;
	doubt.is_proven = checkpoint != DT_NOBEGIN;
	doubt.is_doubtful = (doubt.is_proven && started - checkpoint > longest_us) ||
		(is_first && move->wall - latest > longest_us);

	/* One that is new since then may have been set back, by flake_rewind(). */
	if (move->found != DT_NOBEGIN)
		own = Max(move->found, move->horizon);

	/* A clock that was corrected after the start counts as it is now. */
	before = Max(own, checkpoint);
	if (before != DT_NOBEGIN && started - before > longest_us)
	{
		doubt.since = before;
		doubt.ahead_us = move->wall - before;
		doubt.is_refused = true;
	}
	else if (move->wall - started < NEWS_US)
	{
		before = doubt.is_proven || !is_first ? checkpoint : own;
		if (before != DT_NOBEGIN && started - before > max_jump_us)
		{
			doubt.since = before;
			doubt.ahead_us = move->wall - before;
		}
	}

	/* And one that was wrong only after the start. */
	latest = Max(latest, own);
	if (is_first && !doubt.is_refused && move->wall - latest > longest_us)
	{
		doubt.since = latest;
		doubt.ahead_us = move->wall - latest;
		doubt.is_refused = true;
	}
	return doubt;
}

/* H5 */
static Doubt
judge(const ClockMove *move)
{
	int64		max_jump_us = flake_max_jump_s * USECS_PER_SEC;
	ClockGuard	guard = get_guard();
	Doubt		doubt = {0};

	if (flake_max_jump_s < 0)
		return doubt;

	if (guard.is_set)
	{
		doubt.since = guard.wall;
		doubt.passed_us = move->steady_us - guard.steady_us;
		doubt.ahead_us = move->wall - guard.wall - doubt.passed_us;
		doubt.is_refused = doubt.ahead_us > max_jump_us;
		doubt.is_doubtful = doubt.is_refused;
	}
	if (!doubt.is_refused)
	{
		doubt.ahead_us = 0;
		if (!guard.is_proven)
			doubt = doubt_by_disk(move, !guard.is_set);
	}

	/* No more can be lost by it, whatever the clock. */
	if (move->horizon != DT_NOBEGIN && move->wall - move->horizon <= max_jump_us)
		doubt.is_refused = false;
	return doubt;
}

bool
flake_clock_guard_doubt(ClockMove *move)
{
	ClockGuard	guard = get_guard();
	TimestampTz expected = guard.wall + move->steady_us - guard.steady_us;

	if (guard.is_set && move->wall - expected > flake_max_ahead_us)
		move->wall = expected;
	return guard.is_set;
}

bool
flake_clock_guard_allows(const ClockMove *move)
{
	return !judge(move).is_refused;
}

void
flake_clock_guard_refuse(ClockMove *move, pg_atomic_uint64 *refused)
{
	ClockGuard *shared = flake_shmem_clock_guard();
	Doubt		doubt;
	char	   *now;
	char	   *since;

	flake_clock_guard_read(move);
	doubt = judge(move);
	if (!doubt.is_refused)
		return;

	pg_atomic_fetch_add_u64(refused, 1);
	SpinLockAcquire(&shared->mutex);
	if (shared->refusals++ == 0)
		shared->refusing_since_us = move->steady_us;
	shared->refused_wall = move->wall;
	shared->refused_steady_us = move->steady_us;
	shared->refused_jump_us = doubt.ahead_us;
	SpinLockRelease(&shared->mutex);

	/* Both from a static buffer. */
	now = pstrdup(timestamptz_to_str(move->wall));
	since = pstrdup(timestamptz_to_str(doubt.since));
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 doubt.passed_us >= 0
			 ? errmsg("the clock has jumped ahead by %s",
					  flake_long_duration(doubt.ahead_us))
			 : errmsg("the clock is %s ahead of what this server last knew",
					  flake_long_duration(doubt.ahead_us)),
			 doubt.passed_us >= 0
			 ? errdetail("It shows %s. It was right at %s, and since then %s have passed. \"flakeid.max_jump\" allows %s more.",
						 now, since, flake_long_duration(doubt.passed_us),
						 flake_long_duration(flake_max_jump_s * USECS_PER_SEC))
			 : errdetail("It shows %s. The latest time that is known from before is %s.",
						 now, since),
			 errhint("Correct the clock; then ids are minted again. If it is right, after a long pause for example, accept it with flake_accept_clock().")));
}

/* Makes a move what later ones are compared with. */
static void
set_reference(const ClockMove *move, bool is_proven)
{
	ClockGuard *shared = flake_shmem_clock_guard();

	SpinLockAcquire(&shared->mutex);
	shared->is_set = true;
	shared->is_proven |= is_proven;
	shared->wall = move->wall;
	shared->steady_us = move->steady_us;
	shared->refusals = 0;
	SpinLockRelease(&shared->mutex);
}

void
flake_clock_guard_note(const ClockMove *move)
{
	Doubt		doubt = judge(move);

	if (doubt.is_doubtful)
		return;
	set_reference(move, doubt.is_proven);
	if (doubt.ahead_us > 0)
	{
		char	   *now = pstrdup(timestamptz_to_str(move->wall));

		ereport(WARNING,
				(errmsg("the clock is %s ahead of what this server last knew",
						flake_long_duration(doubt.ahead_us)),
				 errdetail("It shows %s. The latest time that is known from before is %s.",
						   now, timestamptz_to_str(doubt.since)),
				 errhint("If the server was not down for that long, correct the clock before more ids are minted.")));
	}
}

void
flake_clock_guard_accept(void)
{
	ClockGuard	guard = get_guard();
	ClockMove	move;
	int64		ahead_us;

	flake_clock_guard_read(&move);
	set_reference(&move, true);
	ahead_us = move.wall - guard.wall - (move.steady_us - guard.steady_us);
	ereport(LOG,
			(errmsg("role \"%s\" has accepted the clock at %s",
					GetUserNameFromId(GetUserId(), false),
					timestamptz_to_str(move.wall)),
			 guard.is_set
			 ? errdetail("It is %s %s what was expected.",
						 flake_long_duration(ahead_us < 0 ? -ahead_us : ahead_us),
						 ahead_us < 0 ? "behind" : "ahead of")
			 : 0));
}

bool
flake_clock_guard_refusals(ClockRefusals *refusals)
{
	ClockGuard	guard = get_guard();
	ClockMove	now;
	int64		stepped_us;

	if (guard.refusals == 0)
		return false;

	/* Corrected meanwhile, even if no horizon had to be moved since then. */
	flake_clock_guard_read(&now);
	stepped_us = now.wall - guard.refused_wall - (now.steady_us - guard.refused_steady_us);
	if (stepped_us < -guard.refused_jump_us / 2)
		return false;

	refusals->count = guard.refusals;
	refusals->since = now.wall - (now.steady_us - guard.refusing_since_us);
	refusals->jump_us = guard.refused_jump_us;
	return true;
}
