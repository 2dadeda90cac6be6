/*
 * flakeid.pml
 *	  A model of how flakeid mints, for the model checker Spin.
 *
 * The rules are those that src/mint/claim.c (M1 to M4), src/mint/horizon.c (H1 to
 * H5) and src/shard/fence.c (F1 to F3) name, and docs/internals/design.md explains.
 * README.md in this directory says how to read this, which function each step
 * stands for, and what is left out and why.  "make model" checks it.
 *
 * A d_step is one step: nothing happens between its parts.  Each is one access to
 * memory that sessions share, or several of which the others cannot tell when
 * they happen; the comment at it says why.
 *
 * Copyright (c) 2026, the flakeid developers
 */

/*
 * Bounds.  A packed value is a number from 1 to LARGEST, and so is a tick: there
 * is no sequence within it.
 */
#ifndef LARGEST
#define LARGEST		5		/* the layout's last value; at most 9 */
#endif
#ifndef CRASHES
#define CRASHES		2		/* crashes and failovers in a run, together */
#endif
#ifndef WINDOW
#define WINDOW		1		/* how far past an id the horizon is moved */
#endif
#ifndef RESERVE
#define RESERVE		1		/* with less than this left, it is moved early */
#endif
#ifndef AHEAD
#define AHEAD		1		/* flakeid.max_ahead */
#endif
#ifndef SLACK
#define SLACK		0		/* how far past what may be claimed a horizon may be */
#endif
#define SESSIONS	3
#define SHARDS		2
#define MOVED		0		/* the shard that is detached and attached */

/* Which properties to check: these, or by -DSELECTED those that -D names. */
#ifndef SELECTED
#define CHECK_ORDER
#define CHECK_DURABLE
#define CHECK_FENCE
#define CHECK_BOUND
#define CHECK_AHEAD
#define CHECK_BACK
#endif
#if defined(CHECK_ORDER) || defined(CHECK_BOUND)
#define KEEP_TOP
#endif

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))

/*
 * Shared memory, which a crash wipes out.
 */
#define NONE		0		/* FLAKE_PACKED_NONE */
#define LOWEST		1		/* what an open slot has at least */

byte slot_last[SHARDS];		/* slot->last; NONE: closed */
byte slot_resume[SHARDS];	/* slot->resume */
byte horizon = LOWEST;		/* shared->value, the published horizon */
byte floor = LOWEST;		/* shared->floor */
bool horizon_locked;		/* shared->lock */
bool exclusive[SHARDS];		/* the shard's lock: somebody has it alone */
byte sharers[SHARDS];		/* or so many share it */
#ifdef BREAK_F1_FLAG
bool flagged[SHARDS];		/* what stands there for closed slots */
#endif

/*
 * The disk: the generator's page, and the row of shard MOVED in the table of
 * shard states.  The other shard has no row.
 */
byte page = LOWEST;			/* the horizon in the buffer and in WAL */
byte disk = LOWEST;			/* the horizon in WAL that is flushed */
bool attached = true;		/* as committed */
byte after;					/* packed; NONE: null */

#ifdef TIME
/*
 * H4 and H5 are about how far the horizon gets from the true time.  A claim may
 * have read any tick.  Who moves the horizon reads the true time, or one that
 * is WILD ahead.
 */
#define JUMP		1		/* flakeid.max_jump */
#define WILD		(JUMP + AHEAD + SLACK + 1)	/* so far from any horizon */
#define LONGEST		1		/* how far a horizon on disk may be behind the clock */
byte present = LOWEST;		/* the true time */
bool is_known;				/* the guard has something to compare with, */
bool was_wild;				/* which was a wild reading */
byte found = LOWEST;		/* the horizon that the server has started with */
#endif

#ifdef LAG
/*
 * A standby: what the above, and the rows, were at the last place of the WAL that
 * it receives before the primary fails.
 */
bool received;
byte received_page;
bool received_attached;
byte received_after;
byte received_top;
bool received_seen;
#endif

/*
 * The sessions: what each is about to do, and what it remembers.
 */
mtype = {
	IDLE,		/* anything */
	COMPARES,	/* compare end with the horizon, for a claim: shard, last, end */
	SWAPS,		/* swap the slot from last to end: shard, last, end */
	WAITS,		/* lock the horizon, to extend it past end */
	WRITES,		/* write the WAL record: end */
	FLUSHES,	/* flush it */
	PUBLISHES,	/* publish the horizon, and unlock it */
	ASKS,		/* look for the state of a shard whose slot was closed: shard */
	OPENS,		/* open the slot, having found that it may: shard */
	CLOSES,		/* close the slot: shard, last, end (DETACH or ATTACH) */
	ENDS		/* commit or roll back; the function has returned: shard, end */
};
#define DETACH		0
#define ATTACH		1

mtype to[SESSIONS] = IDLE;
byte shard[SESSIONS];
byte last[SESSIONS];
byte end[SESSIONS];

byte crashes;

#define me			(_pid - 1)	/* in a session: its own place in these */

/*
 * What the properties are about.  A run watches one shard, any of the two.
 */
byte watched_shard;
byte top;					/* its greatest id so far */
bool returned;				/* flake_detach() has, in an open transaction */
byte watched_id;			/* any id of the shard */
bool seen;					/* it has been handed out, or is in a committed row */

/* What -DPROBE asks for: is it reached at all? */
#ifdef PROBE
byte lives_with_ids;		/* a bit for each life of the server */
bool came_back;				/* shard MOVED was detached, and attached again */
#endif

/*
 * The properties.  Set right before they are asserted, so that a failure shows
 * the name.  They are no part of the state, so they are hidden; but Spin's
 * breadth-first search, which PLAIN is for, has no hidden variables.
 */
#ifdef PLAIN
#define HIDDEN
#else
#define HIDDEN	hidden
#endif
HIDDEN byte no_id_twice, ids_in_order, id_within_durable_horizon,
	no_id_after_detach, bound_covers_all_ids, id_not_too_far_ahead,
	no_id_in_two_rows, ids_go_back, horizon_near_clock, probe_not_reached;

/* What "model/run BREAK_..." shows of a trace. */
#ifdef PLAIN
#define SAY(step) \
	printf("session %d ", me); \
	printf(step); \
	printf("; shard %d, last %d, end %d\n", shard[me], last[me], end[me])
#else
#define SAY(step)	skip
#endif

/* Transactions, if the variant has them. */
#include "transactions.pml"

/*
 * Making equal what is equal.
 *
 * PLAIN leaves this out.  README.md says why nothing is lost by it.
 */
#define OUTDATED	15		/* as last: the slot has not that value any more */

#define KEY(i)		((((to[i] * 2 + shard[i]) * 16 + last[i]) * 16 + end[i]) * \
					 TRANSACTION_KEYS + TRANSACTION_KEY(i))

HIDDEN byte other;
HIDDEN mtype other_to;

inline in_order(i, j)
{
	if
	:: KEY(i) > KEY(j) ->
		other_to = to[i]; to[i] = to[j]; to[j] = other_to;
		other = shard[i]; shard[i] = shard[j]; shard[j] = other;
		other = last[i]; last[i] = last[j]; last[j] = other;
		other = end[i]; end[i] = end[j]; end[j] = other;
		exchange_transactions(i, j)
	:: else
	fi
}

/* Ends a step.  Sessions are alike: which is which is all the same. */
inline done()
{
#ifndef PLAIN
	in_order(0, 1);
	in_order(1, 2);
	in_order(0, 1);
#endif
	skip
}

inline outdate(i, s)
{
	if
	:: (to[i] == COMPARES || to[i] == SWAPS) && shard[i] == s && last[i] < slot_last[s] ->
		last[i] = OUTDATED;
		if
		:: to[i] == SWAPS -> end[i] = 0
		:: else
		fi
	:: else
	fi
}

/* A slot has another value: swaps from older ones cannot succeed any more. */
inline slot_rises(s)
{
#ifndef PLAIN
	outdate(0, s);
	outdate(1, s);
	outdate(2, s);
#endif
	skip
}

/* Below all that it could bound, a row's after is as good as none. */
inline forget_after()
{
#if !defined(PLAIN) && !defined(REWIND)
	if
	:: after <= disk &&
			after <= MAX(MAX(slot_last[MOVED], slot_resume[MOVED]), floor) ->
		after = NONE
	:: else
	fi;
#endif
	skip
}

/* The session has nothing more in hand. */
inline forget(i)
{
	to[i] = IDLE;
	shard[i] = 0;
	last[i] = 0;
	end[i] = 0
}

/*
 * M1, M2, M4: where a claim begins, by what was read of the slot and the clock.
 */
#ifdef BREAK_M2
#define ABOVE(s)		slot_last[s]
#else
#define ABOVE(s)		MAX(slot_last[s], floor)
#endif
#ifdef BREAK_M1
#define FIRST(s, now)	MAX(now, ABOVE(s))
#else
#define FIRST(s, now)	((now) > ABOVE(s) -> (now) : ABOVE(s) + 1)
#endif
#ifdef BREAK_M4
#define M4(s, now)		true
#else
#define M4(s, now)		(FIRST(s, now) <= (now) + AHEAD)
#endif

#ifdef BREAK_F1_FLAG
#define IS_CLOSED(s)	flagged[s]
#else
#define IS_CLOSED(s)	(slot_last[s] == NONE)
#endif

/*
 * A claim begins.  The slot is shared; the floor has its value since the server
 * started; and the clock may show any tick at any time, so when it is read makes
 * no difference.  Where M4 does not hold a session waits: it stays IDLE.
 */
#define READ(s, now) \
	:: d_step { to[me] == IDLE && MAY_LOCK(MINTING) && \
			!IS_CLOSED(s) && (now) <= LARGEST && \
			FIRST(s, now) <= LARGEST && M4(s, now) -> \
		lock_sequence(); \
		to[me] = COMPARES; \
		shard[me] = s; \
		last[me] = slot_last[s]; \
		end[me] = FIRST(s, now); \
		SAY("reads slot and clock"); \
		check_ahead(now); \
		done() }
#define READ_SLOT_AND_CLOCK(s) \
	READ(s, 0) READ(s, 1) READ(s, 2) READ(s, 3) READ(s, 4) \
	READ(s, 5) READ(s, 6) READ(s, 7) READ(s, 8) READ(s, 9) \
	:: d_step { to[me] == IDLE && MAY_LOCK(MINTING) && IS_CLOSED(s) -> \
		lock_sequence(); \
		to[me] = ASKS; \
		shard[me] = s; \
		SAY("finds the slot closed"); \
		done() }

inline check_ahead(now)
{
#ifdef CHECK_AHEAD
	id_not_too_far_ahead = end[me] <= (now) + AHEAD;
	assert(id_not_too_far_ahead);
#endif
	skip
}

/* A swap has succeeded: the id is in somebody's hands. */
inline hand_out(s, id)
{
#ifdef CHECK_DURABLE
	id_within_durable_horizon = id <= DURABLE;
	assert(id_within_durable_horizon);
#endif
#ifdef CHECK_FENCE
	no_id_after_detach = s != MOVED || (attached && !returned) || REPLACES;
	assert(no_id_after_detach);
#endif
#ifdef CHECK_ORDER
	ids_in_order = s != watched_shard || id > top || REPLACES;
	assert(ids_in_order);
#endif
#if defined(KEEP_TOP) && !defined(TRANSACTIONS)
	if
	:: s == watched_shard && id > top -> top = id
	:: else
	fi;
#endif
#ifdef CHECK_NEW
	if
	:: s == watched_shard && id == watched_id ->
#ifdef TRANSACTIONS
		put_into_row()
#else
		no_id_twice = !seen;
		assert(no_id_twice);
		seen = true
#endif
	:: else
	fi;
#endif
#ifdef PROBE
	lives_with_ids = lives_with_ids | (1 << crashes);
#ifdef TRANSACTIONS
	probe_not_reached = PROBE_TRANSACTIONS(id);
#elif defined(FENCING)
	probe_not_reached = s != MOVED || !came_back || crashes < 1;
#else
	probe_not_reached = lives_with_ids != 7;
#endif
	assert(probe_not_reached);
#endif
	minted();
	slot_rises(s)
}

/* How far a reading of the clock lets the horizon go. */
#define CAP(reading)	((reading) + AHEAD + SLACK)
#if defined(TIME) && !defined(BREAK_H4)
#define WANTED		MIN(end[me] + WINDOW, CAP(last[me]))
#define MAY_REACH(reading)	(end[me] <= CAP(reading))
#else
#define WANTED		(end[me] + WINDOW)
#define MAY_REACH(reading)	true
#endif

/* A page that was behind what is published is brought up to it. */
#define EXTENDED	MAX(MIN(WANTED, LARGEST), horizon)

inline write_page()
{
#ifdef REPLACE
	if
	:: HAS_NEW_FILE -> new_page = MAX(EXTENDED, new_page)
	:: else -> page = MAX(EXTENDED, page)
	fi
#else
	page = MAX(EXTENDED, page)
#endif
#ifdef CHECK_NEAR
	;
	horizon_near_clock = page <= CAP(present);
	assert(horizon_near_clock)
#endif
}

inline publish_page()
{
#ifdef REPLACE
	if
	:: HAS_NEW_FILE -> horizon = new_page; published_in = NEW_FILE
	:: else -> horizon = page; published_in = ITS_FILE
	fi
#else
	horizon = page
#endif
}

/* What of the published horizon asks for an extension. */
#define ENOUGH		MIN(end[me] + RESERVE, LARGEST)

/*
 * H4, H5: who has locked the horizon to move it reads the clock, and leaves it
 * alone if the claim ends further than it may, or the clock has jumped.  What
 * the guard compares with is noted right away: it is for those who lock next.
 */
#ifdef TIME
#ifdef BREAK_H5
#define IS_RIGHT(reading)	true
#else
#define IS_RIGHT(reading) \
	((reading) <= horizon + JUMP || \
	 (is_known -> (reading) == present || was_wild : AT_START(reading)))
#endif
#ifdef BREAK_H5_START
#define AT_START(reading)	true
#else
#define AT_START(reading)	((reading) <= found + LONGEST)
#endif

inline note_clock(reading)
{
	is_known = true;
	was_wild = (reading) != present
}
#endif

#define LOCKED_TO_MOVE	horizon_locked = true; to[me] = WRITES

inline read_clock(reading)
{
#ifdef TIME
	if
	:: !IS_RIGHT(reading) ->
		SAY("finds that the clock has jumped: an error");
#ifdef BREAK_H5_REFUSED
		note_clock(reading);
#endif
		forget(me)
	:: IS_RIGHT(reading) && !MAY_REACH(reading) -> forget(me)
	:: else -> note_clock(reading); last[me] = reading; LOCKED_TO_MOVE
	fi
#else
	LOCKED_TO_MOVE
#endif
}

#define LOCK_HORIZON(reading) \
	:: d_step { to[me] == WAITS && !horizon_locked -> \
		SAY("locks the horizon, and compares again"); \
		if \
		:: FILE_COUNTS && horizon >= ENOUGH -> forget(me) \
		:: else -> read_clock(reading) \
		fi; \
		done() }

/*
 * F2, F3: opening a slot.
 */
#ifdef BREAK_F2_LOCK
#define MAY_SHARE(s)	true
#else
#define MAY_SHARE(s)	!exclusive[s]
#endif
#ifdef BREAK_F2_STATE
#define MAY_MINT(s)		true
#else
#define MAY_MINT(s)		TABLE_ALLOWS(s != MOVED || attached)
#endif
#ifdef BREAK_F3_AFTER
#define AFTER(s)		NONE
#else
#define AFTER(s)		(s == MOVED && !REPLACES -> after : NONE)
#endif

inline share(s)
{
#ifndef BREAK_F2_LOCK
	sharers[s]++;
#endif
	skip
}

inline unshare(s)
{
#ifndef BREAK_F2_LOCK
	sharers[s]--;
#endif
	skip
}

/*
 * F1, F3: closing a slot, and what flake_detach() returns.
 */
#ifdef BREAK_F3_FLOOR
#define BOUND	MAX(slot_resume[MOVED], after)
#else
#define BOUND	MAX(MAX(slot_resume[MOVED], floor), after)
#endif

/*
 * Takes the shard's lock alone, reads the state, which does not change under the
 * lock, and the slot.  If the slot changes after that, the swap notices.
 */
#define CHANGE(what, does) \
	:: d_step { to[me] == IDLE && MAY_LOCK(MINTING) && MAY_CHANGE && \
			!exclusive[MOVED] && sharers[MOVED] == 0 -> \
		lock_sequence(); \
		exclusive[MOVED] = true; \
		shard[me] = MOVED; \
		end[me] = what; \
		SAY(does); \
		read_to_close() }

/* Only who has the lock alone, or opens, writes slot->resume: no step of its own. */
inline read_to_close()
{
	if
	:: IS_CLOSED(MOVED) -> is_closed()
	:: else ->
		last[me] = slot_last[MOVED];
		slot_resume[MOVED] = MAX(slot_resume[MOVED], last[me]);
#ifdef BREAK_F1_FLAG
		flagged[MOVED] = true;
		is_closed()
#else
		to[me] = CLOSES;
		done()
#endif
	fi
}

/* Nothing that others see is done before flake_detach() returns. */
inline is_closed()
{
	SAY("has closed the slot: the function returns");
	to[me] = ENDS;
	last[me] = 0;
	if
	:: end[me] == DETACH ->
		returned = true;
#ifdef CHECK_BOUND
		bound_covers_all_ids = watched_shard != MOVED ||
			(BOUND >= top && COVERS_ROWS);
		assert(bound_covers_all_ids);
#endif
		skip
	:: else ->
#ifdef BREAK_F2_EARLY
		slot_last[MOVED] = MAX(MAX(slot_resume[MOVED], after), LOWEST);
#endif
		skip
	fi;
	done()
}

/*
 * The end of the transaction.  The new row is seen by nobody before, because who
 * reads it has the lock; the WAL is flushed up to the commit.  The shard may
 * have been on another server meanwhile, and come back with an id from there:
 * one that the horizon here covers, or one that it does not.
 */
#define COMMIT_ATTACH(value) \
	:: d_step { to[me] == ENDS && end[me] == ATTACH && (value) <= LARGEST -> \
		SAY("commits: attached"); \
		disk = page; \
		probe_attached(); \
		attached = true; \
		after = MAX(after, value); \
		minted_elsewhere(value); \
		commit_rows(); \
		end_change() }

inline probe_attached()
{
#ifdef PROBE
	came_back = came_back || !attached;
#endif
	skip
}

inline minted_elsewhere(id)
{
#ifdef KEEP_TOP
	if
	:: watched_shard == MOVED -> top = MAX(top, id)
	:: else
	fi;
#endif
	skip
}

inline end_change()
{
	forget_after();
	returned = false;
	exclusive[MOVED] = false;
	forget(me);
	done()
}

proctype session()
{
	do
	READ_SLOT_AND_CLOCK(0)
#ifndef TRANSACTIONS
	READ_SLOT_AND_CLOCK(1)
#endif

	/* M3: only up to the horizon. */
#ifndef BREAK_M3
	:: d_step { to[me] == COMPARES && FILE_COUNTS && end[me] <= horizon ->
		SAY("finds the end within the horizon");
		to[me] = SWAPS;
		if
		:: last[me] == OUTDATED -> end[me] = 0
		:: else
		fi;
		done() }
	:: d_step { to[me] == COMPARES && (!FILE_COUNTS || horizon < ENOUGH) ->
		SAY("finds too little horizon left");
		to[me] = WAITS;
		shard[me] = 0;
		last[me] = 0;
		done() }
#else
	:: d_step { to[me] == COMPARES -> to[me] = SWAPS; done() }
#endif
	:: d_step { to[me] == SWAPS && slot_last[shard[me]] == last[me] ->
		SAY("swaps: an id");
		slot_last[shard[me]] = end[me];
		hand_out(shard[me], end[me]);
#ifdef BREAK_M3
		if
		:: end[me] > horizon -> to[me] = WAITS; shard[me] = 0; last[me] = 0
		:: else -> forget(me)
		fi;
#else
		forget(me);
#endif
		done() }
	:: d_step { to[me] == SWAPS && slot_last[shard[me]] != last[me] ->
		SAY("swaps in vain");
		forget(me);
		done() }

	/*
	 * H1, H2: write, flush, publish.  Under the lock nobody else writes the
	 * horizon, so it is compared again as it is locked.  To unlock it with the
	 * last step makes nobody wait who would not have waited.
	 */
#ifdef TIME
	LOCK_HORIZON(present)
	LOCK_HORIZON(present + WILD)
#else
	LOCK_HORIZON(0)
#endif
	:: d_step { to[me] == WRITES ->
		SAY("writes the horizon's WAL record");
		write_page();
		last[me] = 0;
		end[me] = 0;
#ifdef BREAK_H2
		to[me] = PUBLISHES;
#else
		to[me] = FLUSHES;
#endif
		done() }
	:: d_step { to[me] == FLUSHES ->
		SAY("flushes WAL");
		disk = page;
#ifdef BREAK_H2
		horizon_locked = false;
		forget(me);
#else
		to[me] = PUBLISHES;
#endif
		done() }
	:: d_step { to[me] == PUBLISHES ->
		SAY("publishes the horizon");
		publish_page();
#ifdef BREAK_H2
		to[me] = FLUSHES;
#else
		horizon_locked = false;
		forget(me);
#endif
		done() }

	/*
	 * F2: share the lock, read the state; then open.  All who share the lock read
	 * the same state, and raise slot->resume to the same value, with that step.
	 * A shard that is detached is an error, and the lock is given back.
	 */
	:: d_step { to[me] == ASKS && MAY_SHARE(shard[me]) && MAY_READ_TABLE ->
		SAY("reads the shard's state under its lock");
		if
		:: MAY_MINT(shard[me]) ->
			share(shard[me]);
			note_opening();
			slot_resume[shard[me]] =
				MAX(slot_resume[shard[me]], MAX(AFTER(shard[me]), LOWEST));
			to[me] = OPENS
		:: else -> forget(me)
		fi;
		done() }
#ifdef REPLACE
	/* A rollback closes slots without the lock: so these are two steps. */
	:: d_step { to[me] == OPENS ->
		SAY("reads where the slot resumes");
		last[me] = slot_resume[shard[me]];
		to[me] = SWAPS_OPEN;
		done() }
#endif
	:: d_step { to[me] == READY_TO_OPEN ->
		SAY("opens the slot");
		if
		:: IS_CLOSED(shard[me]) ->
			slot_last[shard[me]] = RESUMES_AT;
#ifdef BREAK_F1_FLAG
			flagged[shard[me]] = false;
#endif
			skip
		:: else
		fi;
		unshare(shard[me]);
#ifndef PLAIN
		slot_resume[shard[me]] = NONE;	/* not looked at while it is open */
#endif
		slot_rises(shard[me]);
		forget_after();
		forget(me);
		done() }

#ifdef FENCING
	/* F1 */
	CHANGE(DETACH, "detaches: locks the shard, reads the slot")
	CHANGE(ATTACH, "attaches: locks the shard, reads the slot")
	:: d_step { to[me] == CLOSES ->
		SAY("swaps the slot, to close it");
		if
#ifdef BREAK_F1_SWAP
		:: true ->
#else
		:: slot_last[MOVED] == last[me] ->
#endif
			slot_last[MOVED] = NONE;
			is_closed()
		:: else -> read_to_close()
		fi }
	:: d_step { to[me] == ENDS && end[me] == DETACH ->
		SAY("commits: detached");
		disk = page;
		attached = false;
		after = BOUND;
		commit_rows();
		end_change() }
	COMMIT_ATTACH(NONE)
	COMMIT_ATTACH(horizon)
	COMMIT_ATTACH(horizon + 1)
	:: d_step { to[me] == ENDS -> SAY("rolls back"); undo_rows(); end_change() }
#endif
	TRANSACTION_STEPS
	od
}

/*
 * The server starts, after a crash or as a standby that is promoted: with fresh
 * shared memory, and the horizon and the table as WAL has them.  Then H3.
 */
inline start()
{
	crashes++;
	forget(0);
	forget(1);
	forget(2);
	slot_last[0] = NONE;
	slot_last[1] = NONE;
	slot_resume[0] = NONE;
	slot_resume[1] = NONE;
	exclusive[0] = false;
	exclusive[1] = false;
	sharers[0] = 0;
	sharers[1] = 0;
	returned = false;
	horizon_locked = false;
	abort_all();
	close_by_flag();
	page = disk;
	horizon = page;
	forget_clock();
#ifdef BREAK_H3
	floor = page - 1;
#else
	floor = page;
#endif
	forget_after()
}

inline forget_clock()
{
#ifdef TIME
	is_known = false;
	was_wild = false;
	found = disk;
#endif
	skip
}

inline close_by_flag()
{
#ifdef BREAK_F1_FLAG
	flagged[0] = true;
	flagged[1] = true;
#endif
	skip
}

init
{
	atomic {
		close_by_flag();
		choose_generator();
#if defined(FENCING) && !defined(TRANSACTIONS)
		if
		:: watched_shard = 0
		:: watched_shard = 1
		fi;
#endif
#ifdef CHECK_NEW
		if
		:: watched_id = 2
		:: watched_id = 3
		:: watched_id = 4
		:: watched_id = 5
		:: watched_id = 6
		:: watched_id = 7
		:: watched_id = 8
		:: watched_id = 9
		fi;
		watched_id <= LARGEST;
#endif
		run session();
		run session();
		run session()
	}

	do
	/* Somebody else's flush: the WAL writer's, or another commit's. */
	:: d_step { disk != page -> printf("the WAL writer flushes\n"); disk = page }

#ifdef TIME
	:: d_step { present + WILD < LARGEST -> printf("time passes\n"); present++ }
#endif

	/* A crash: what was not flushed is lost. */
	:: d_step { crashes < CRASHES -> printf("the server crashes, and starts again\n"); start() }

#ifndef LAG
	/* A failover to a standby that has received everything. */
	:: d_step { crashes < CRASHES ->
		printf("failover to a standby that has received all WAL\n");
		disk = page;
		start() }
#else
	/* A standby receives the last record that it will, and what is before it. */
	:: d_step { crashes < CRASHES && !received ->
		printf("the standby receives its last WAL record\n");
		disk = page;
		received = true;
		received_page = page;
		received_attached = attached;
		received_after = after;
		received_top = top;
		received_seen = seen }

	/* A failover to it: only its rows count. */
	:: d_step { crashes < CRASHES && received ->
		printf("failover to the standby\n");
		disk = received_page;
		attached = received_attached;
		after = received_after;
		top = received_top;
		seen = received_seen;
		received = false;
		received_page = 0;
		received_attached = false;
		received_after = 0;
		received_top = 0;
		received_seen = false;
		start() }
#endif
	od
}
