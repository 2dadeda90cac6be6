/*
 * clients.pml
 *	  A model of leases and of the processes that mint with them, for the model
 *	  checker Spin.
 *
 * The rules are P1 to P8, in docs/clients.md, and L1 to L3, in src/shard/lease.c.
 * README.md in this directory says which function each step stands for, and what
 * is left out and why.
 *
 * Clocks are wild: each reading of the server's, and of a process's, may be any
 * time.  With -DTIME there is a true time, too, which the server and the second clock
 * of a process show.  An instant is a number; UNIT of them are a tick, and a tick
 * has one id of each shard.
 *
 * Copyright (c) 2026, the flakeid developers
 */

#ifndef LARGEST
#define LARGEST		3		/* the layout's last tick; the first is 1 */
#endif
#ifndef UNIT
#define UNIT		1		/* instants of a tick */
#endif
#ifndef MARGIN
#define MARGIN		0		/* flakeid.max_ahead of the server, in instants */
#endif
#ifndef SHARDS
#define SHARDS		1		/* 1 or 2 */
#endif
#ifndef THREADS
#define THREADS		1		/* of a process, that mint: 1 or 2 */
#endif
#ifndef AHEAD
#define AHEAD		1		/* max_ahead of a minter, in ticks */
#endif
#define PROCESSES	2
#define me		(_pid - 1)	/* in a process: its own place, */
#define them	(2 - _pid)	/* and the other's */

/* Which properties to check: these, or by -DSELECTED those that -D names. */
#ifndef SELECTED
#define CHECK_TWICE
#define CHECK_ASCEND
#define CHECK_LEASE
#endif

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define START(tick)	((tick) * UNIT)
#define TICK(instant)	((instant) / UNIT)
#define END			START(LARGEST + 1)	/* the instant after the lifetime */

/* The first tick that begins at or after an instant. */
#define TICK_FROM(instant)	(((instant) + UNIT - 1) / UNIT)

/*
 * The server's tables.  Nobody's is what a process has given up, or another one has,
 * or a request left that was carried out after the process had stopped waiting for it.
 */
#define NONE		3		/* not leased: the server mints it */
#define NOBODY		0
#ifdef BREAK_P7
#define NAME(i)		1
#else
#define NAME(i)		((i) + 1)
#endif

byte owner[SHARDS] = NONE;
byte not_before[SHARDS];	/* a tick */
byte expires_at[SHARDS];	/* an instant */
byte top[SHARDS];			/* the server's ids are above */

/*
 * The processes.
 */
mtype = {
	DEAD,		/* not there (start) */
	LEASING,	/* has no lease */
	ANSWERED,	/* the same, and an answer is under way: shard, first, end */
	LEASED,		/* may mint: shard, first, end */
	CLOSED		/* gives the lease back: shard, last */
};

mtype state[PROCESSES] = DEAD;
byte shard[PROCESSES];
byte first[PROCESSES];		/* the lease's first tick */
byte end[PROCESSES];		/* the first one that is not the lease's */
byte last[PROCESSES];		/* no id is at or below */
byte renewed[PROCESSES];	/* the answer to a renewal is under way: an end */
bool is_child[PROCESSES];	/* was forked, and has made no minter yet */
#ifdef TIME
byte now;					/* the true time, and whether it has been read */
byte sent[PROCESSES];		/* when the request was */
byte remaining[PROCESSES];	/* in the answer that is under way */
byte deadline[PROCESSES];
#endif

/* What a thread is about to swap, 0 if nothing. */
#define THREAD(i, t)	((i) * THREADS + (t))
byte next[PROCESSES * THREADS];
byte seen[PROCESSES * THREADS];
bool outdated[PROCESSES * THREADS];	/* it was chosen for another lease */

/*
 * What the properties are about.  A run watches one id, any of them.
 */
byte watched_shard;
byte watched_tick;
bool was_minted;
byte greatest[PROCESSES];	/* of the minter's ids */
byte granted[PROCESSES];	/* the lease's end, as the server has committed it */

#ifdef PROBE
byte leases_with_ids;		/* a bit for each process, and one for the server */
bool gave_back;				/* and the shard was given back in between */
#endif

#ifdef PLAIN
#define HIDDEN
#else
#define HIDDEN	hidden
#endif
HIDDEN byte no_id_twice, ids_ascend, id_in_lease, id_near_clock, no_id_when_over,
	probe_not_reached;
byte x, y, z;				/* 0 between steps */

#ifdef PLAIN
#define SAY(i, step) \
	printf("process %d ", i); printf(step); \
	printf("; shard %d, ticks %d to %d, last %d\n", shard[i], first[i], end[i] - 1, last[i])
#define SERVER_SAYS(s, step) \
	printf("the server "); printf(step); \
	printf("; shard %d, from tick %d, to instant %d, its own above %d\n", \
		s, not_before[s], expires_at[s], top[s])
#else
#define SAY(i, step)			skip
#define SERVER_SAYS(s, step)	skip
#endif

/* Any number from what it is to a greater one, in an atomic step. */
inline any(number, upto)
{
	do
	:: number < upto -> number++
	:: break
	od
}

/*
 * Ids.
 */
inline hand_out(s, tick)
{
	if
	:: s == watched_shard && tick == watched_tick ->
#ifdef CHECK_TWICE
		no_id_twice = !was_minted;
		assert(no_id_twice);
#endif
		was_minted = true
	:: else
	fi
}

/* P1: the first tick that is not the lease's. */
#ifdef BREAK_P1_TICK
#define END_TICK(instant)	(TICK(instant) + 1)
#else
#define END_TICK(instant)	TICK_FROM(instant)
#endif

/* A process chooses its next id, by its clock: P1, P2, P4, P6. */
#ifdef BREAK_P1_BEGIN
#define BEGIN(i)		1
#else
#define BEGIN(i)		first[i]
#endif
#ifdef BREAK_P1_END
#define ENDS(i)			(LARGEST + 1)
#else
#define ENDS(i)			end[i]
#endif
#ifdef BREAK_P2_CLOCK
#define ABOVE(i)		0
#else
#define ABOVE(i)		last[i]
#endif
#ifdef BREAK_P3
#define IS_MINE(i)		true
#else
#define IS_MINE(i)		(!is_child[i])
#endif
#ifdef BREAK_P4
#define IS_NEAR(tick, clock)	true
#else
#define IS_NEAR(tick, clock)	((tick) <= (clock) + AHEAD)
#endif
#if defined(TIME) && !defined(BREAK_P6)
#define IN_TIME(i)		(now < deadline[i])
#else
#define IN_TIME(i)		true
#endif

inline choose(i, t, clock)
{
	x = MAX(MAX(ABOVE(i) + 1, BEGIN(i)), clock);
	if
	:: x < ENDS(i) && x <= LARGEST && IS_NEAR(x, clock) ->
		SAY(i, "chooses an id");
#ifdef CHECK_NEAR
		id_near_clock = x <= clock + AHEAD;
		assert(id_near_clock);
#endif
#ifdef CHECK_OVER
		no_id_when_over = now < START(granted[i]);
		assert(no_id_when_over);
#endif
		next[THREAD(i, t)] = x;
		seen[THREAD(i, t)] = last[i];
		outdated[THREAD(i, t)] = false
	:: else
	fi;
	x = 0
}

/* The compare-and-swap: of the last value, and of the lease that it was chosen for. */
#if defined(BREAK_P2_SWAP)
#define MAY_SWAP(i, t)	(!outdated[THREAD(i, t)])
#elif defined(BREAK_P1_SHARD)
#define MAY_SWAP(i, t)	(last[i] == seen[THREAD(i, t)])
#else
#define MAY_SWAP(i, t)	(last[i] == seen[THREAD(i, t)] && !outdated[THREAD(i, t)])
#endif

inline swap(i, t)
{
	x = next[THREAD(i, t)];
	if
	:: MAY_SWAP(i, t) ->
		last[i] = x;
		SAY(i, "has the id");
#ifdef CHECK_ASCEND
		ids_ascend = x > greatest[i];
		assert(ids_ascend);
#endif
		greatest[i] = x;
#ifdef CHECK_LEASE
		id_in_lease = x >= first[i] && x < granted[i];
		assert(id_in_lease);
#endif
		hand_out(shard[i], x);
#ifdef PROBE
		leases_with_ids = leases_with_ids | (1 << i);
		probe_not_reached = !(leases_with_ids == 7 && gave_back);
		assert(probe_not_reached);
#endif
	:: else
	fi;
	end_choice(i, t);
	x = 0
}

inline end_choice(i, t)
{
	next[THREAD(i, t)] = 0;
	seen[THREAD(i, t)] = 0;
	outdated[THREAD(i, t)] = false
}

/* What was chosen is not the lease's any more. */
inline outdate(i)
{
	outdated[THREAD(i, 0)] = next[THREAD(i, 0)] != 0;
#if THREADS == 2
	outdated[THREAD(i, 1)] = next[THREAD(i, 1)] != 0;
#endif
	skip
}

/*
 * The server's side of a request.
 */

/* L1, L2: when a lease of a shard that has been leased can begin, at the earliest. */
#ifdef BREAK_L1
#define OVER(s)		0
#else
#define OVER(s)		(expires_at[s] + MARGIN)
#endif

/* L3: when one of a shard that has not. */
#ifdef BREAK_L3_BOUND
#define BOUND(s)	1
#else
#define BOUND(s)	(top[s] + 1)
#endif

/* A lease can be had from this instant on. */
#define FROM(s, name) \
	(owner[s] == NONE -> START(BOUND(s)) : \
	 (owner[s] == name -> START(not_before[s]) : MAX(OVER(s), START(not_before[s]))))

/*
 * flake_lease(): x is not_before, a tick, and y is expires_at, an instant; with x as 0,
 * there is none to be had.
 */
inline lease(s, name)
{
	if
#ifdef TIME
	:: FROM(s, name) <= now || owner[s] == NONE ->
		x = MAX(FROM(s, name), now)
	:: else -> x = END
#else
	:: FROM(s, name) <= END -> x = FROM(s, name); any(x, END)
	:: else -> x = END
#endif
	fi;
#ifdef BREAK_L1_TICK
	x = TICK(x);
#else
	x = TICK_FROM(x);
#endif
	if
	:: x <= LARGEST ->
		y = START(x) + 1;
		any(y, END);
		if
		:: owner[s] != NONE -> y = MAX(y, expires_at[s])
		:: else
		fi
	:: else -> x = 0
	fi
}

/* It is committed. */
inline store(s, name)
{
	owner[s] = name;
	not_before[s] = x;
	expires_at[s] = y;
	SERVER_SAYS(s, "leases")
}

#define LEASE(s) \
	:: atomic { state[me] == LEASING && MAY_SEND -> \
		lease(s, NAME(me)); \
		if \
		:: x == 0 \
		:: x > 0 -> give_lease(s) \
		fi; \
		x = 0; y = 0 }

inline give_lease(s)
{
#ifdef BREAK_P5
	/* The row arrives, and it is not committed. */
	if
	:: store(s, NAME(me)); granted[me] = TICK_FROM(y)
	:: skip
	fi;
#else
	store(s, NAME(me));
	granted[me] = TICK_FROM(y);
#endif
	shard[me] = s;
	first[me] = x;
	end[me] = END_TICK(y);
#ifdef TIME
	remaining[me] = y - now;
#endif
	state[me] = ANSWERED
}

/* P7: nobody will ever use the name again. */
inline forget_name(i)
{
#ifndef BREAK_P7
	if
	:: owner[0] == NAME(i) -> owner[0] = NOBODY
#if SHARDS == 2
	:: owner[1] == NAME(i) -> owner[1] = NOBODY
#endif
	:: else
	fi;
#endif
	granted[i] = 0;
	renewed[i] = 0;
#ifdef TIME
	sent[i] = 0;
	remaining[i] = 0;
	deadline[i] = 0;
#endif
	skip
}

/* No lease, and what it was does not matter. */
inline forget_lease(i)
{
	outdate(i);
	forget_name(i);
#ifdef BREAK_P2_LEASE
	last[i] = 0;
#endif
	shard[i] = 0;
	first[i] = 0;
	end[i] = 0
}

inline die(i)
{
	forget_lease(i);
	end_choice(i, 0);
#if THREADS == 2
	end_choice(i, 1);
#endif
	last[i] = 0;
	greatest[i] = 0;
	is_child[i] = false;
	state[i] = DEAD
}

#ifdef TIME
#define MAY_SEND	(sent[me] > 0)
#define SENDS \
	:: d_step { (state[me] == LEASING || state[me] == LEASED) && sent[me] == 0 && !is_child[me] -> \
		SAY(me, "sends a request"); sent[me] = now }
#define SET_DEADLINE	set_deadline()

inline set_deadline()
{
#ifdef BREAK_P6_LATE
	deadline[me] = now + remaining[me];
#else
	deadline[me] = sent[me] + remaining[me];
#endif
	sent[me] = 0;
	remaining[me] = 0
}
#else
#define MAY_SEND	true
#define SENDS
#define SET_DEADLINE	skip
#endif

/* P8: what the server's clock shows, at the least, when the lease is given back. */
#ifdef BREAK_P8
#define PAST(tick)	0
#else
#define PAST(tick)	(START(tick) + 1)
#endif
#ifdef BREAK_P8_EARLY
#define MAY_GIVE_BACK	(state[me] == LEASED || state[me] == CLOSED)
#else
#define MAY_GIVE_BACK	(state[me] == CLOSED)
#endif
#ifdef BREAK_P3_CLOSE
#define MAY_CLOSE	true
#else
#define MAY_CLOSE	(!is_child[me])
#endif

/*
 * A process.  That it is stopped for a while needs no step of its own.
 */
#define CHOOSE(t, clock) \
	:: atomic { clock <= LARGEST && state[me] == LEASED && IS_MINE(me) && IN_TIME(me) && \
		next[THREAD(me, t)] == 0 -> choose(me, t, clock) }
#define CHOOSES(t) \
	CHOOSE(t, 1) CHOOSE(t, 2) CHOOSE(t, 3) CHOOSE(t, 4) CHOOSE(t, 5) \
	:: atomic { next[THREAD(me, t)] > 0 -> swap(me, t) }

proctype process()
{
	do
	:: d_step { state[me] == DEAD -> SAY(me, "starts"); state[me] = LEASING }
	:: d_step { state[me] != DEAD -> SAY(me, "dies"); die(me) }

	SENDS
	LEASE(0)
#if SHARDS == 2
	LEASE(1)
#endif
	:: d_step { state[me] == ANSWERED ->
		/* P1, P2 */
#if defined(BREAK_P1_BEGIN)
		skip;
#elif defined(BREAK_P2_LEASE)
		last[me] = first[me] - 1;
#else
		last[me] = MAX(last[me], first[me] - 1);
#endif
		SET_DEADLINE;
		state[me] = LEASED;
		SAY(me, "has the lease") }
	:: d_step { state[me] == ANSWERED ->
		SAY(me, "loses the answer");
		forget_lease(me);
		state[me] = LEASING }

	/* The server has extended the lease, or others_steps() does. */
	:: d_step { state[me] == LEASED && !is_child[me] && MAY_SEND && renewed[me] == 0 &&
		owner[shard[me]] == NAME(me) ->
		SERVER_SAYS(shard[me], "renews");
#ifdef TIME
		remaining[me] = MAX(expires_at[shard[me]], now) - now;
#endif
		renewed[me] = END_TICK(expires_at[shard[me]]) }
	:: d_step { renewed[me] > 0 && state[me] == LEASED ->
		end[me] = renewed[me];
		renewed[me] = 0;
		SET_DEADLINE;
		SAY(me, "has the renewal") }
	:: d_step { renewed[me] > 0 ->
		SAY(me, "loses the answer to a renewal");
#ifdef TIME
		sent[me] = 0;
		remaining[me] = 0;
#endif
		renewed[me] = 0 }
#ifdef BREAK_P5_RENEW
	:: d_step { state[me] == LEASED && end[me] <= LARGEST ->
		end[me] = end[me] + 1;
		SAY(me, "takes the lease for renewed") }
#endif

	/* At the deadline, or with 42704, and in a child that makes a minter of its own. */
	:: d_step { state[me] == LEASED && !is_child[me] ->
		SAY(me, "gives up its lease");
		forget_lease(me);
		state[me] = LEASING }
	:: d_step { state[me] == LEASED && is_child[me] ->
		SAY(me, "makes a minter of its own");
		die(me);
		state[me] = LEASING }

	CHOOSES(0)
#if THREADS == 2
	CHOOSES(1)
#endif

	/* P8 */
	:: d_step { state[me] == LEASED && MAY_CLOSE ->
		SAY(me, "closes its minter");
#ifndef BREAK_P8_STOP
		outdate(me);
#endif
		renewed[me] = 0;
		state[me] = CLOSED }
	:: atomic { MAY_GIVE_BACK && owner[shard[me]] == (is_child[me] -> NAME(them) : NAME(me)) &&
		expires_at[shard[me]] + MARGIN > PAST(last[me]) ->
		z = shard[me];
		/* The second reading may be a margin less. */
		y = MAX(PAST(last[me]), MARGIN) - MARGIN;
		x = expires_at[z] - 1;
		any(y, x);
		expires_at[z] = MIN(expires_at[z], y);
		SERVER_SAYS(z, "ends a lease that is given back");
#ifdef PROBE
		gave_back = true;
#endif
#if defined(BREAK_P8_EARLY) || defined(BREAK_P8_STOP)
		owner[z] = NOBODY;
#else
		if
		:: is_child[me] -> owner[z] = NOBODY
		:: else
		fi;
		die(me);
#endif
		x = 0; y = 0; z = 0 }

	/* P3: the other process is a copy. */
	:: d_step { state[me] == LEASED && state[them] == DEAD ->
		SAY(me, "forks");
		state[them] = LEASED;
		is_child[them] = true;
		shard[them] = shard[me];
		first[them] = first[me];
		end[them] = end[me];
		last[them] = last[me];
		greatest[them] = greatest[me];
		granted[them] = granted[me];
#ifdef TIME
		deadline[them] = deadline[me];
#endif
		}
	od
}

/*
 * The server's own steps, and others'.
 */
#ifdef BREAK_L3
#define MAY_MINT(s)		true
#else
#define MAY_MINT(s)		(owner[s] == NONE)
#endif
#ifdef BREAK_L3_AFTER
#define AFTER(s)		top[s]
#else
#define AFTER(s)		MAX(top[s], MIN(TICK(expires_at[s] + MARGIN), LARGEST))
#endif

#define OTHERS(s) \
	:: atomic { MAY_MINT(s) && top[s] < LARGEST -> \
		z = top[s] + 1; \
		any(z, LARGEST); \
		top[s] = z; \
		SERVER_SAYS(s, "mints"); \
		hand_out(s, z); \
		note_server(); \
		z = 0 } \
	:: atomic { owner[s] != NONE && expires_at[s] < END -> \
		expires_at[s]++; \
		note_end(s, 0); \
		note_end(s, 1); \
		SERVER_SAYS(s, "extends a lease, and nobody has an answer yet") } \
	:: d_step { owner[s] != NONE -> \
		top[s] = AFTER(s); \
		owner[s] = NONE; \
		not_before[s] = 0; \
		expires_at[s] = 0; \
		SERVER_SAYS(s, "takes the shard back") } \
	:: atomic { true -> \
		lease(s, NOBODY); \
		if \
		:: x == 0 \
		:: x > 0 -> store(s, NOBODY) \
		fi; \
		x = 0; y = 0 }

inline note_server()
{
#ifdef PROBE
	leases_with_ids = leases_with_ids | 4
#else
	skip
#endif
}

inline note_end(s, i)
{
	if
	:: (state[i] == LEASED || state[i] == ANSWERED) && shard[i] == s && granted[i] > 0 &&
		owner[s] == (is_child[i] -> NAME(1 - i) : NAME(i)) ->
		granted[i] = TICK_FROM(expires_at[s])
	:: else
	fi
}

init
{
	atomic {
		watched_tick = 1;
		any(watched_tick, LARGEST);
		any(watched_shard, SHARDS - 1);
#ifdef TIME
		now = 1;
#endif
		run process();
		run process()
	}

	do
	OTHERS(0)
#if SHARDS == 2
	OTHERS(1)
#endif
#ifdef TIME
	:: d_step { now < END -> printf("time passes\n"); now++ }
#endif
	od
}
