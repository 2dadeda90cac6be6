/*
 * settled.pml
 *	  A model of flake_settled(), for the model checker Spin.
 *
 * The rules are S1 to S6, in src/mint/holders.c and src/mint/settled.c;
 * docs/internals/settled.md argues with them.  README.md in this directory says
 * which function each step stands for, and what is left out and why.
 *
 * A run watches one id.  So one transaction at a time is enough, besides one that
 * is prepared: all others can only hold a bound back.  There are no slots, but
 * with -DNUMBERS: a claim may have any value that the floor and the horizon allow,
 * as that of some shard could.
 *
 * Copyright (c) 2026, the flakeid developers
 */

#ifndef LARGEST
#define LARGEST		4		/* the layout's last value; at most 9 */
#endif
#ifndef CRASHES
#define CRASHES		2		/* crashes and failovers in a run, together */
#endif
#ifndef READERS
#define READERS		1		/* 1 or 2 */
#endif

/* Which properties to check: these, or by -DSELECTED those that -D names. */
#ifndef SELECTED
#define CHECK_BELOW
#define CHECK_ENDED
#define CHECK_UP
#endif

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))

/*
 * Shared memory, which a crash wipes out.
 */
#define NONE		0		/* FLAKE_PACKED_NONE */
#define LOWEST		1
#define NOTHING		15		/* FLAKE_HOLDS_NOTHING */

byte floor = LOWEST;		/* shared->floor */
byte horizon = LOWEST;		/* shared->value, and asked */
#ifdef SYNC
byte lsn = LOWEST;			/* shared->lsn, as the horizon that it is of */
byte confirmed;				/* settled->confirmed */
byte pending;				/* settled->pending and pending_lsn */
#endif
#ifdef NUMBERS
byte slot;					/* the last value that a shard has handed out */
byte general;				/* the latest of the generator's entry */
#endif
byte entry = NOTHING;		/* what the minting session holds */
byte copy = NOTHING;		/* what the prepared transaction does */
bool is_read;				/* prepared transactions' locks were */
bool locked;				/* settled->lock */
byte latest;				/* settled->latest */

/*
 * WAL that is flushed, and what the synchronous standby has of it.
 */
byte disk = LOWEST;			/* the horizon */
bool prepared;				/* there is a prepared transaction, */
byte lock_name;				/* which has a lock of this name */
#ifdef SYNC
byte standby = LOWEST;
bool standby_prepared;
#endif

/*
 * The watched id, and where it is.  A transaction ends when others see that.
 */
mtype = { NOWHERE, IN_SESSION, IN_PREPARED, IN_ENDED };

byte watched;
mtype at = NOWHERE;
byte given;					/* the greatest bound that was returned, ever */
byte crashes;

/* The session that mints */
mtype = {
	IDLE,		/* begin a transaction */
	REGISTERS,	/* write an entry that holds every bound */
	READS,		/* read the floor for it */
	SETS,		/* write that into it: above */
	MINTS,		/* claim, end, or prepare */
	CLAIMS,		/* hand out, having read the floor and the slot: last */
	LETS_GO,	/* remove the entry, or end, whichever comes last */
	PREPARES	/* write the record, having copied the entry */
};

mtype to = IDLE;
byte above;
byte last;

/* Those who ask */
mtype = {
	RAISES,		/* raise the floor (IDLE: take a snapshot, or ask) */
	LOCKS,		/* read the floor, lock the rest, read the horizon: bound */
	LIMITS,		/* read how far standbys are: bound, value */
	LOOKS,		/* look at the minting session's entry: bound */
	LOOKS_MORE,	/* look at prepared ones, and return: bound */
	REMEMBERS,	/* take a snapshot, to go with the bound: bound */
	AFTERWARDS	/* BREAK_S3_LATE: raise the floor: bound */
};

mtype asks[READERS] = IDLE;
byte bound[READERS];
byte value[READERS];
#ifdef NUMBERS
byte low[READERS];			/* the floor */
bool has_slot[READERS];		/* is there an entry, too? */
#endif
#ifdef SNAPSHOTS
byte known;					/* a bound that the one reader has found, */
bool known_ended;			/* and if the watched id's transaction had ended then */
bool sees;					/* its snapshot sees that it has ended */
#endif

#define me			(_pid - 2)	/* in a reader: its own place in these */

#ifdef BREAK_S3_STORE
byte stale;					/* the floor, as others have read it */
#endif
#ifdef PROBE
bool survived;				/* the watched id was in one prepared, over a start */
#endif

#ifdef PLAIN
#define HIDDEN
#else
#define HIDDEN	hidden
#endif
HIDDEN byte none_minted_below, all_below_ended, bounds_go_up,
	snapshot_sees_all, probe_not_reached;

#ifdef PLAIN
#define SAY(step)	printf("the minting session "); printf(step); printf("\n")
#define READER_SAYS(step) \
	printf("the reader %d ", me); printf(step); printf("; bound %d\n", bound[me])
#else
#define SAY(step)			skip
#define READER_SAYS(step)	skip
#endif

/*
 * Minting: M2, M3, S1, S2.
 */
#ifdef NUMBERS
#define ABOVE		MAX(slot, floor)
#else
#define ABOVE		floor
#endif

/* What a transaction does first, and after it has registered. */
inline begin()
{
	SAY("begins a transaction");
#if defined(BREAK_S1_LATE)
	last = ABOVE;
	to = CLAIMS
#elif defined(BREAK_S1_CLAIM)
	last = ABOVE;
	to = REGISTERS
#elif defined(BREAK_S1_VALUE)
	above = ABOVE;
	to = REGISTERS
#else
	to = REGISTERS
#endif
}

#ifdef BREAK_S1_CLAIM
#define REGISTERED	CLAIMS
#else
#define REGISTERED	MINTS
#endif
#ifdef BREAK_S1_LATE
#define CLAIMED		(entry == NOTHING -> REGISTERS : MINTS)
#else
#define CLAIMED		MINTS
#endif

inline hand_out(id)
{
	if
	:: id == watched && at == NOWHERE ->
#ifdef CHECK_BELOW
		none_minted_below = id > given;
		assert(none_minted_below);
#endif
		at = IN_SESSION
	:: else
	fi
}

inline end_transaction()
{
	if
	:: at == IN_SESSION -> at = IN_ENDED
	:: else
	fi
}

proctype minter()
{
	do
	:: d_step { to == IDLE -> begin() }
	:: d_step { to == REGISTERS ->
		SAY("registers");
		entry = NONE;
#ifdef BREAK_S1_VALUE
		to = SETS
#else
		to = READS
#endif
		}
	:: d_step { to == READS ->
		SAY("reads what its ids are above");
		above = ABOVE;
		to = SETS }
	:: d_step { to == SETS ->
		SAY("says so in its entry");
		entry = above;
		above = 0;
		to = REGISTERED }
	:: d_step { to == MINTS && at == NOWHERE ->
		SAY("reads the floor, for a claim");
		last = ABOVE;
		to = CLAIMS }

	/* Whatever it claims, only the watched id matters. */
#ifdef NUMBERS
	:: d_step { to == CLAIMS && last == ABOVE && last + 1 <= horizon ->
		SAY("swaps: an id");
		slot = last + 1;
		hand_out(slot);
#else
	:: d_step { to == CLAIMS && last < watched && watched <= horizon ->
		SAY("has the id");
		hand_out(watched);
#endif
		last = 0;
		to = CLAIMED }
	:: d_step { to == CLAIMS -> last = 0; to = CLAIMED }

	/* S2.  Rolled back or committed is all the same; WAL need not be flushed. */
#ifdef BREAK_S2_EARLY
	:: d_step { to == MINTS -> SAY("removes its entry"); entry = NOTHING; to = LETS_GO }
	:: d_step { to == LETS_GO -> SAY("ends"); end_transaction(); to = IDLE }
#else
	:: d_step { to == MINTS -> SAY("ends"); end_transaction(); to = LETS_GO }
	:: d_step { to == LETS_GO -> SAY("removes its entry"); entry = NOTHING; to = IDLE }
#endif
	:: d_step { to == MINTS && !prepared ->
		SAY("prepares: copies its entry");
#ifndef BREAK_S2_PREPARE
		copy = entry;
#endif
		to = PREPARES }
	:: d_step { to == PREPARES ->
		SAY("prepares: writes and flushes WAL");
		prepared = true;
		lock_name = entry;
		if
		:: at == IN_SESSION -> at = IN_PREPARED
		:: else
		fi;
#ifdef BREAK_S2_EARLY
		entry = NOTHING;
		to = IDLE
#else
		to = LETS_GO
#endif
		}
	:: d_step { to == PREPARES ->
		SAY("fails to prepare, and rolls back");
		copy = NOTHING;
		end_transaction();
#ifdef BREAK_S2_EARLY
		entry = NOTHING;
		to = IDLE
#else
		to = LETS_GO
#endif
		}
	od
}

/*
 * Asking: S3 to S6.
 */

/* S3: the clock may be anywhere, but the horizon is not passed. */
#ifdef BREAK_S4_DISK
#define MAY_RAISE(past)	((past) <= LARGEST)
#else
#define MAY_RAISE(past)	((past) <= horizon)
#endif

#define RAISE_TO(past) \
	:: d_step { asks[me] == RAISES && MAY_RAISE(past) -> \
		raise(past); \
		READER_SAYS("raises the floor"); \
		asks[me] = LOCKS }

inline raise(past)
{
#if defined(BREAK_S3_FLOOR) || defined(BREAK_S3_LATE)
	bound[me] = MAX(past, floor)
#else
	floor = MAX(past, floor)
#endif
}

inline read_bound()
{
#ifdef NUMBERS
	low[me] = floor;
	has_slot[me] = slot != NONE;
	bound[me] = MAX(slot, floor)
#elif !defined(BREAK_S3_FLOOR) && !defined(BREAK_S3_LATE)
	bound[me] = floor
#else
	skip
#endif
}

/* S4: what confirmed_horizon() does. */
inline limit()
{
#if defined(BREAK_S4_DISK)
	skip
#elif defined(NUMBERS)
	general = MAX(general, MIN(low[me], value[me]));
	bound[me] = MAX(general, MIN(bound[me], value[me]));
	locked = false
#elif !defined(SYNC) || defined(BREAK_S4_STANDBY)
	bound[me] = MIN(bound[me], value[me])
#else
	if
	:: pending != NONE && pending <= standby ->
		confirmed = MAX(confirmed, pending);
		pending = NONE
	:: else
	fi;
#ifdef BREAK_S4_ORDER
	if
	:: value[me] <= standby -> confirmed = MAX(confirmed, horizon)
#else
	if
	:: lsn <= standby -> confirmed = MAX(confirmed, value[me])
#endif
	:: else ->
		if
		:: pending == NONE -> pending = lsn
		:: else
		fi
	fi;
	bound[me] = MIN(bound[me], confirmed)
#endif
}

/* Prepared ones: what a start has left, from their locks. */
inline look_more()
{
#ifndef BREAK_S2_RESTART
	if
	:: !is_read && prepared && copy == NOTHING -> copy = lock_name
	:: else
	fi;
#endif
	is_read = true;
	bound[me] = MIN(bound[me], copy)
}

/* S6, and the properties */
inline return_bound()
{
#if defined(BREAK_S6)
	latest = bound[me];
	locked = false;
#elif defined(NUMBERS)
	if
	:: has_slot[me] ->
		latest = MAX(latest, bound[me]);
		bound[me] = latest
	:: else
	fi;
	low[me] = 0;
	has_slot[me] = false;
#else
	latest = MAX(latest, bound[me]);
	bound[me] = latest;
	locked = false;
#endif
	value[me] = 0;
	READER_SAYS("returns");
	if
	:: bound[me] == NONE -> asks[me] = IDLE
	:: else ->
#ifdef CHECK_ENDED
		all_below_ended = watched > bound[me] || at == NOWHERE || at == IN_ENDED;
		assert(all_below_ended);
#endif
#ifdef CHECK_UP
		bounds_go_up = bound[me] >= given;
		assert(bounds_go_up);
#endif
		given = MAX(given, bound[me]);
#ifdef SNAPSHOTS
		asks[me] = REMEMBERS
#else
		bound[me] = NONE;
		asks[me] = IDLE
#endif
	fi
}

#ifdef BREAK_S5
#define IS_RIGHT	true
#else
#define IS_RIGHT	(sees || !known_ended)
#endif

inline use_bound()
{
#ifndef PROBE
	snapshot_sees_all = watched > known || at == NOWHERE || sees;
	assert(snapshot_sees_all);
#endif
#ifdef PROBE
	probe_not_reached = !(survived && known > watched && crashes == CRASHES);
	assert(probe_not_reached);
#endif
	skip
}

proctype reader()
{
	do
#ifdef SNAPSHOTS
	:: d_step { asks[me] == IDLE && sees != (at == IN_ENDED) ->
		READER_SAYS("takes a snapshot");
		sees = at == IN_ENDED }
	:: d_step { asks[me] == IDLE && known != NONE && IS_RIGHT ->
		READER_SAYS("uses a bound with its snapshot");
		use_bound() }
#endif
#ifdef NUMBERS
	:: d_step { asks[me] == IDLE -> asks[me] = LOCKS }
#else
	:: d_step { asks[me] == IDLE -> asks[me] = RAISES }
	RAISE_TO(1) RAISE_TO(2) RAISE_TO(3) RAISE_TO(4)
	RAISE_TO(5) RAISE_TO(6) RAISE_TO(7) RAISE_TO(8) RAISE_TO(9)
#endif
	:: d_step { asks[me] == LOCKS && bound[me] == NONE ->
		read_bound();
		READER_SAYS("reads the floor") }
	:: d_step { asks[me] == LOCKS && bound[me] != NONE && !locked ->
		READER_SAYS("locks the rest, and reads the horizon");
		locked = true;
#ifdef BREAK_S4_ORDER
		value[me] = lsn;
#else
		value[me] = horizon;
#endif
		asks[me] = LIMITS }
	:: d_step { asks[me] == LIMITS ->
		limit();
		READER_SAYS("reads how far the standby is");
		asks[me] = LOOKS }
#ifdef BREAK_S2_LOOK
	:: d_step { asks[me] == LOOKS ->
		look_more();
		READER_SAYS("looks at prepared transactions");
		asks[me] = LOOKS_MORE }
	:: d_step { asks[me] == LOOKS_MORE ->
		bound[me] = MIN(bound[me], entry);
		return_bound() }
#else
	:: d_step { asks[me] == LOOKS ->
		bound[me] = MIN(bound[me], entry);
		READER_SAYS("looks at the minting session's entry");
		asks[me] = LOOKS_MORE }
	:: d_step { asks[me] == LOOKS_MORE ->
		look_more();
#ifdef BREAK_S3_LATE
		asks[me] = AFTERWARDS }
	:: d_step { asks[me] == AFTERWARDS ->
		floor = MAX(floor, bound[me]);
#endif
		return_bound() }
#endif

	/* S5.  It may keep this bound, or the one that it had. */
#ifdef SNAPSHOTS
	:: d_step { asks[me] == REMEMBERS ->
		known = bound[me];
		known_ended = at == IN_ENDED;
		READER_SAYS("takes note of what has ended");
		bound[me] = NONE;
		asks[me] = IDLE }
	:: d_step { asks[me] == REMEMBERS && known != NONE ->
		bound[me] = NONE;
		asks[me] = IDLE }
#endif
	od
}

inline forget(i)
{
	asks[i] = IDLE;
	bound[i] = NONE;
#ifdef NUMBERS
	low[i] = 0;
	has_slot[i] = false;
#endif
	value[i] = 0
}

/*
 * The server starts, after a crash or as a standby that is promoted, with the horizon
 * (H3) and the prepared transaction that WAL has.  What was open has ended.
 */
inline start()
{
	crashes++;
	forget(0);
#if READERS == 2
	forget(1);
#endif
	to = IDLE;
	above = 0;
	last = 0;
	floor = disk;
	horizon = disk;
#ifdef SYNC
	lsn = disk;
	confirmed = NONE;
	pending = NONE;
#endif
#ifdef NUMBERS
	slot = NONE;
	general = NONE;
#endif
	entry = NOTHING;
	copy = NOTHING;
	is_read = false;
	locked = false;
	latest = NONE;
	end_transaction();
	if
	:: at == IN_PREPARED && !prepared -> at = IN_ENDED
	:: else
	fi;
#ifdef SNAPSHOTS
	known = NONE;
	known_ended = false;
	sees = at == IN_ENDED;
#endif
#ifdef PROBE
	survived = survived || at == IN_PREPARED;
#endif
	if
	:: !prepared -> lock_name = 0
	:: else
	fi
}

init
{
	atomic {
		if
		:: watched = 2
		:: watched = 3
		:: watched = 4
		:: watched = 5
		:: watched = 6
		:: watched = 7
		:: watched = 8
		:: watched = 9
		fi;
		watched <= LARGEST;
		run minter();
		run reader();
#if READERS == 2
		run reader()
#endif
	}

	do
	/* H2.  The horizon, whoever moves it: flushed; then published, lsn first. */
	:: d_step { disk < LARGEST -> printf("the horizon is written and flushed\n"); disk++ }
#ifdef SYNC
	:: d_step { lsn < disk -> printf("the place in WAL is published\n"); lsn = disk }
	:: d_step { horizon < lsn -> printf("the horizon is published\n"); horizon = lsn }
#else
	:: d_step { horizon < disk -> printf("the horizon is published\n"); horizon = disk }
#endif

	/* Others raise the floor, or mint. */
#ifdef BREAK_S3_STORE
	:: d_step { stale == NONE -> printf("the floor is read by others\n"); stale = floor }
	:: d_step { stale != NONE && stale < horizon ->
		printf("the floor is stored by others\n");
		floor = stale + 1;
		stale = NONE }
#else
	:: d_step { floor < horizon -> printf("the floor is raised by others\n"); floor++ }
#endif
#ifdef NUMBERS
	:: d_step { ABOVE < horizon -> printf("the slot rises\n"); slot = ABOVE + 1 }
#endif

	/* COMMIT PREPARED, or ROLLBACK PREPARED: seen once the standby has it. */
	:: d_step { prepared && to != LETS_GO ->
		printf("the prepared transaction ends\n");
		prepared = false;
		copy = NOTHING;
#ifndef BREAK_S2_LOCAL
		lock_name = 0;
#ifdef SYNC
		standby = disk;
		standby_prepared = false;
#endif
#endif
		if
		:: at == IN_PREPARED -> at = IN_ENDED
		:: else
		fi }

	:: d_step { crashes < CRASHES -> printf("the server crashes, and starts again\n"); start() }
#ifdef SYNC
	:: d_step { standby != disk || standby_prepared != prepared ->
		printf("the standby receives all WAL\n");
		standby = disk;
		standby_prepared = prepared }
	:: d_step { crashes < CRASHES ->
		printf("failover to the standby\n");
		disk = standby;
		prepared = standby_prepared;
		start() }
#endif
	od
}
