/*
 * transactions.pml
 *	  The part of the model that is about transactions: what flake_rewind()
 *	  waits for, and what becomes of slots when the extension is replaced.
 *
 * flakeid.pml includes this.  Without -DREWIND or -DREPLACE nothing of it is
 * there: each id is in somebody's hands for good once the slot is swapped.  With
 * one of them a session is in a transaction from its first step on, and each id
 * is in a row of that transaction.  It is void if the transaction is rolled back.
 *
 *	R1	flake_rewind() waits for every transaction that has minted, and looks
 *		at the rows then.  Until its own transaction ends nobody else mints.
 *		For that a transaction holds a lock on the sequence from its first id
 *		to its end, and none mints in a process whose locks end earlier: a
 *		parallel worker.
 *	R2	The horizon, on disk and as published, the floor and the slots are all
 *		set back, to a value that no row has an id above.
 *	R3	A slot that databases share is not set back.
 *	F4	A transaction that has itself created the table of states opens only
 *		slots that nobody else can mint from before its end, and closes them
 *		if it is rolled back.
 *
 * There is one shard.  Other shards have other ids.
 *
 * Copyright (c) 2026, the flakeid developers
 */

#if defined(REWIND) || defined(REPLACE)
#define TRANSACTIONS
#endif

#ifndef TRANSACTIONS
#define TRANSACTION_KEYS		1
#define TRANSACTION_KEY(i)		0
#define TRANSACTION_STEPS
#define MAY_LOCK(mode)			true
#define MAY_CHANGE				true
#define MAY_READ_TABLE			true
#define TABLE_ALLOWS(committed)	(committed)
#define READY_TO_OPEN			OPENS
#define RESUMES_AT				slot_resume[shard[me]]
#define FILE_COUNTS				true
#define DURABLE					disk
#define REPLACES				false
#define COVERS_ROWS				true

inline exchange_transactions(i, j) { skip }
inline lock_sequence() { skip }
inline minted() { skip }
inline note_opening() { skip }
inline commit_rows() { skip }
inline undo_rows() { skip }
inline abort_all() { skip }
inline choose_generator() { skip }

#else

/*
 * The lock on the generator's sequence, by session, which is kept to the end of
 * the transaction.
 */
#define MINTING		1		/* RowExclusiveLock: others may have it, too */
#define ALONE		2		/* AccessExclusiveLock */

byte lock[SESSIONS];
bool holds[SESSIONS];		/* the open transaction has a row with watched_id */

/*
 * The transaction that replaces the extension: in it are these sessions, of which
 * there is one at most, but for BREAK_F4_WORKER.
 */
bool replaces[SESSIONS];
bool opened[SESSIONS];		/* it has opened the slot by its own table */

#ifdef REPLACE
/*
 * Is the generator one of the extension's own?  Then replacing the extension
 * replaces the sequence, too, and with it the file that the horizon is in.
 */
bool builtin;
byte new_page;				/* the horizon in the file that is not committed */
byte published_in;			/* shared->file: where the published horizon is */
#define ITS_FILE	0		/* the file that is committed */
#define NEW_FILE	1		/* that of the open transaction */
#define LOST_FILE	2		/* one that was rolled back */
#endif

#ifdef SHARED
bool seen_elsewhere;		/* another database has a row with watched_id */
#define IS_SEEN_ELSEWHERE	seen_elsewhere
#else
#define IS_SEEN_ELSEWHERE	false
#endif

#ifdef PROBE
bool was_void;				/* watched_id was in a row that was rolled back */
bool came_between;			/* a shared slot rose after it was looked at */
bool was_undone;			/* a slot was closed by a rollback */
bool forgot_state;			/* the table of a detached shard was replaced */
#endif

mtype = {
	LOOKS,			/* flake_rewind(): look for live ids */
	SETS_PAGE,		/* set the page back: end */
	FLUSHES_PAGE,	/* flush that: end */
	SETS_SHARED,	/* set back what is published: end */
	SETS_SLOT,		/* set the slot back: end */
	SWAPS_OPEN,		/* open the slot, having read where it resumes: shard, last */
	SWAPS_ELSEWHERE	/* as SWAPS, in another database: last, end */
};

#define TRANSACTION_KEYS	24
#define TRANSACTION_KEY(i) \
	(((lock[i] * 2 + holds[i]) * 2 + replaces[i]) * 2 + opened[i])

inline exchange_transactions(i, j)
{
	other = lock[i]; lock[i] = lock[j]; lock[j] = other;
	other = holds[i]; holds[i] = holds[j]; holds[j] = other;
	other = replaces[i]; replaces[i] = replaces[j]; replaces[j] = other;
	other = opened[i]; opened[i] = opened[j]; opened[j] = other
}

/* Processes of one transaction do not keep each other out. */
#define SAME(j)				((j) == me || (replaces[j] && replaces[me]))
#define OTHER_HAS(mode) \
	((!SAME(0) && lock[0] >= (mode)) || (!SAME(1) && lock[1] >= (mode)) || \
	 (!SAME(2) && lock[2] >= (mode)))
#define OTHER_REPLACES \
	((!SAME(0) && replaces[0]) || (!SAME(1) && replaces[1]) || \
	 (!SAME(2) && replaces[2]))
#define CONFLICTS_WITH(mode)	(ALONE + MINTING - (mode))
#define MAY_LOCK(mode) \
	(lock[me] >= (mode) || !OTHER_HAS(CONFLICTS_WITH(mode)))

#define IN_TRANSACTION		(lock[me] != NONE || holds[me] || replaces[me])

inline lock_sequence()
{
	lock[me] = MAX(lock[me], MINTING)
}

/* A row that is committed, or may yet be, has the watched id. */
#define IS_IN_ROW \
	(seen || IS_SEEN_ELSEWHERE || holds[0] || holds[1] || holds[2])
#define COVERS_ROWS			(!IS_IN_ROW || BOUND >= watched_id)

/* The row that the id is for, in the open transaction. */
inline put_into_row()
{
	no_id_in_two_rows = !IS_IN_ROW;
	assert(no_id_in_two_rows);
	holds[me] = true
}

/*
 * The lock of a parallel worker ends with the worker.  Its leader's transaction
 * goes on, and has the id.
 */
inline minted()
{
#ifdef BREAK_R1_WORKER
	if
	:: lock[me] == MINTING ->
		SAY("did so in a worker, which ends");
		lock[me] = NONE
	:: else
	fi;
#endif
	skip
}

/*
 * The end of a transaction.  Its locks go last, and keep all others from seeing
 * what was done before.  So it is one step.
 */
inline end_transaction(i)
{
	lock[i] = NONE;
	holds[i] = false;
	replaces[i] = false;
	opened[i] = false
}

inline commit_rows()
{
	seen = seen || holds[me];
	end_transaction(me)
}

inline undo_rows()
{
#ifdef PROBE
	was_void = was_void || holds[me];
#endif
	end_transaction(me)
}

/* A crash */
inline abort_all()
{
	end_transaction(0);
	end_transaction(1);
	end_transaction(2);
#ifdef REPLACE
	new_page = NONE;
	published_in = ITS_FILE;
#endif
	skip
}

#ifdef REWIND

#define MAY_CHANGE				true
#define MAY_READ_TABLE			true
#define TABLE_ALLOWS(committed)	(committed)
#define READY_TO_OPEN			OPENS
#define RESUMES_AT				slot_resume[shard[me]]
#define FILE_COUNTS				true
#define DURABLE					disk
#define REPLACES				false

inline note_opening() { skip }
inline choose_generator() { skip }

/*
 * R1.  The lock, then the rows; the other way round for a transaction that looks
 * with a snapshot from before, as REPEATABLE READ would have it.
 */
#ifdef BREAK_R1_WAIT
#define MAY_LOCK_ALONE	true
#else
#define MAY_LOCK_ALONE	MAY_LOCK(ALONE)
#endif
#ifdef BREAK_R1_ROWS
#define TO_LOOK			IDLE
#define LOOKED			LOOKS
#define TO_LOCK			LOOKS
#define LOCKED			SETS_PAGE
#else
#define TO_LOCK			IDLE
#define LOCKED			LOOKS
#define TO_LOOK			LOOKS
#define LOOKED			SETS_PAGE
#endif

/*
 * It sees the rows that are committed, and its own.  Only the watched id is
 * looked for.  So the model goes back below other ids, too, which the code
 * refuses.  That takes nothing from what is shown for this one.
 */
#define FINDS_LIVE_ID(value)	((seen || holds[me]) && watched_id > (value))

#define SLOT_VALUE \
	(slot_last[MOVED] != NONE -> slot_last[MOVED] : slot_resume[MOVED])

#ifdef SHARED
#define IS_IN_USE(value)	(SLOT_VALUE > (value))
#else
#define IS_IN_USE(value)	false
#endif

#define REWIND_TO(value) \
	:: d_step { to[me] == TO_LOOK && (value) < page && (value) < LARGEST && \
			!FINDS_LIVE_ID(value) && !IS_IN_USE(value) -> \
		to[me] = LOOKED; \
		end[me] = value; \
		SAY("looks at the rows: no id is above end"); \
		done() }

#define REWIND_STEPS \
	:: d_step { to[me] == TO_LOCK && MAY_LOCK_ALONE -> \
		SAY("rewinds: has locked the sequence"); \
		lock[me] = ALONE; \
		to[me] = LOCKED; \
		done() } \
	REWIND_TO(1) REWIND_TO(2) REWIND_TO(3) REWIND_TO(4) \
	REWIND_TO(5) REWIND_TO(6) REWIND_TO(7) REWIND_TO(8) \
	:: d_step { to[me] == LOOKS -> \
		SAY("gives up"); \
		forget(me); \
		done() } \
	:: d_step { to[me] == SETS_PAGE && !horizon_locked -> \
		SAY("sets the horizon back: writes the WAL record"); \
		horizon_locked = true; \
		page = end[me]; \
		to[me] = FLUSHES_PAGE; \
		done() } \
	:: d_step { to[me] == FLUSHES_PAGE -> \
		SAY("flushes WAL"); \
		disk = page; \
		to[me] = SETS_SHARED; \
		done() } \
	:: d_step { to[me] == SETS_SHARED -> \
		SAY("sets horizon and floor back in shared memory"); \
		set_back_horizon(end[me]); \
		horizon_locked = false; \
		to[me] = SETS_SLOT; \
		done() } \
	:: d_step { to[me] == SETS_SLOT -> \
		SAY("sets the slot back: the function returns"); \
		set_back_slot(end[me]); \
		forget(me); \
		done() }

/* R2: two stores, and nobody who looks. */
inline set_back_horizon(value)
{
#ifdef BREAK_R2_LOW
	floor = LOWEST;
#elif !defined(BREAK_R2_FLOOR)
	floor = value;
#endif
#ifndef BREAK_R2_DISK
	horizon = value;
#endif
	skip
}

/* R2, R3: again two stores.  Closed, so that the table is asked for after. */
inline set_back_slot(value)
{
#ifdef PROBE
	came_between = came_between || SLOT_VALUE > value;
#endif
#if !defined(SHARED) || defined(BREAK_R3_SHARED)
#ifndef BREAK_R2_SLOT
	if
	:: SLOT_VALUE > value ->
		slot_resume[MOVED] = value;
#ifdef BREAK_R2_OPEN
		if
		:: slot_last[MOVED] != NONE -> slot_last[MOVED] = value
		:: else
		fi
#else
		slot_last[MOVED] = NONE
#endif
	:: else
	fi;
#endif
#endif
#if defined(CHECK_BACK) && !defined(SHARED)
	ids_go_back = MAX(SLOT_VALUE, floor) <= value;
	assert(ids_go_back);
#endif
	skip
}

#ifdef SHARED
/*
 * A session of another database mints from the same slot.  It has a sequence and
 * a horizon of its own, which are not set back with these.  Here there is always
 * enough of that horizon, and each row is committed at once.
 */
#define FIRST_ELSEWHERE(now) \
	((now) > slot_last[MOVED] -> (now) : slot_last[MOVED] + 1)
#define READ_ELSEWHERE(now) \
	:: d_step { to[me] == IDLE && slot_last[MOVED] != NONE && \
			(now) <= LARGEST && FIRST_ELSEWHERE(now) <= LARGEST -> \
		to[me] = SWAPS_ELSEWHERE; \
		last[me] = slot_last[MOVED]; \
		end[me] = FIRST_ELSEWHERE(now); \
		SAY("reads slot and clock, in another database"); \
		done() }
#define ELSEWHERE_STEPS \
	READ_ELSEWHERE(0) READ_ELSEWHERE(1) READ_ELSEWHERE(2) READ_ELSEWHERE(3) \
	READ_ELSEWHERE(4) READ_ELSEWHERE(5) READ_ELSEWHERE(6) READ_ELSEWHERE(7) \
	READ_ELSEWHERE(8) READ_ELSEWHERE(9) \
	:: d_step { to[me] == SWAPS_ELSEWHERE && slot_last[MOVED] == last[me] -> \
		SAY("swaps, in another database: an id"); \
		slot_last[MOVED] = end[me]; \
		put_into_row_elsewhere(end[me]); \
		slot_rises(MOVED); \
		forget(me); \
		done() } \
	:: d_step { to[me] == SWAPS_ELSEWHERE && slot_last[MOVED] != last[me] -> \
		SAY("swaps in vain"); \
		forget(me); \
		done() } \
	:: d_step { to[me] == IDLE && slot_last[MOVED] == NONE -> \
		SAY("opens the slot, in another database"); \
		slot_last[MOVED] = MAX(slot_resume[MOVED], LOWEST); \
		slot_rises(MOVED); \
		done() }

inline put_into_row_elsewhere(id)
{
#ifdef CHECK_NEW
	if
	:: id == watched_id ->
		no_id_in_two_rows = !IS_IN_ROW;
		assert(no_id_in_two_rows);
		seen_elsewhere = true
	:: else
	fi;
#endif
	skip
}

#define PROBE_TRANSACTIONS(id)	!came_between
#else
#define ELSEWHERE_STEPS
#define PROBE_TRANSACTIONS(id)	!(was_void && holds[me])
#endif

#define TRANSACTION_STEPS \
	REWIND_STEPS \
	ELSEWHERE_STEPS \
	:: d_step { to[me] == IDLE && IN_TRANSACTION -> \
		SAY("commits"); \
		disk = page; \
		commit_rows(); \
		done() } \
	:: d_step { to[me] == IDLE && IN_TRANSACTION -> \
		SAY("rolls back"); \
		undo_rows(); \
		done() }

#else							/* REPLACE */

/*
 * The dropped table of states is locked: to read or write it means to wait.  A
 * session that has read it before, and gone on, keeps only the shard's lock.
 */
#define REPLACES			replaces[me]
#define MAY_CHANGE			(!OTHER_REPLACES && !replaces[me])
#define MAY_READ_TABLE		(!OTHER_REPLACES)

/* F4: the new table is empty. */
#ifdef BREAK_F4_TABLE
#define MAY_OPEN			true
#else
#define MAY_OPEN			(lock[me] == ALONE)
#endif
#define TABLE_ALLOWS(committed)	(replaces[me] -> MAY_OPEN : (committed))

#define READY_TO_OPEN		SWAPS_OPEN
#define RESUMES_AT			last[me]

/* The new file counts if the transaction is committed, which flushes WAL. */
#define HAS_NEW_FILE		(replaces[me] && builtin)
#define DURABLE				(HAS_NEW_FILE -> new_page : disk)
#ifdef BREAK_H2_FILE
#define FILE_COUNTS			true
#else
#define FILE_COUNTS			(published_in == (HAS_NEW_FILE -> NEW_FILE : ITS_FILE))
#endif

inline note_opening()
{
	opened[me] = opened[me] || replaces[me]
}

inline choose_generator()
{
	if
	:: builtin = false
	:: builtin = true
	fi
}

/*
 * DROP EXTENSION, CREATE EXTENSION.  The latter brings the new file of the
 * horizon up to what was published: nobody mints meanwhile.
 */
inline replace()
{
	replaces[me] = true;
	if
	:: builtin ->
		lock[me] = ALONE;
		new_page = horizon;
		published_in = NEW_FILE
	:: else
	fi
}

/*
 * The shard's state is forgotten, and so is the bound of ids minted elsewhere.  A
 * slot that was opened stays open.
 */
inline commit_replacement()
{
#ifdef PROBE
	forgot_state = forgot_state || !attached;
#endif
	if
	:: builtin ->
		page = new_page;
		new_page = NONE;
		published_in = ITS_FILE
	:: else
	fi;
	disk = page;
	attached = true;
	after = NONE;
#ifdef KEEP_TOP
	top = NONE;
#endif
	commit_rows()
}

/*
 * flake_slot_close() tries until its swap succeeds.  It is one step, because
 * slot->resume, which it raises before, is not looked at while the slot is open.
 */
inline close_opened()
{
	if
	:: opened[me] && slot_last[MOVED] != NONE ->
#ifdef PROBE
		was_undone = true;
#endif
		slot_resume[MOVED] = MAX(slot_resume[MOVED], slot_last[MOVED]);
		slot_last[MOVED] = NONE
	:: else
	fi
}

inline undo_replacement()
{
#ifndef BREAK_F4_UNDO
	close_opened();
#endif
	if
	:: builtin ->
		new_page = NONE;
		published_in = LOST_FILE
	:: else
	fi;
	undo_rows()
}

/*
 * A parallel worker of the transaction: it has the locks and the table of its
 * leader, and closes what it has opened as it ends.
 */
#ifdef BREAK_F4_WORKER
#define WORKER			2
#define IS_LEADER		(me != WORKER)
#define WORKER_IS_GONE	(!replaces[WORKER])
#define WORKER_STEPS \
	:: d_step { to[me] == IDLE && !IS_LEADER && !IN_TRANSACTION && \
			(replaces[0] || replaces[1]) -> \
		SAY("starts as a worker of who replaces the extension"); \
		replaces[me] = true; \
		lock[me] = (builtin -> ALONE : NONE); \
		done() } \
	:: d_step { to[me] == IDLE && !IS_LEADER && replaces[me] -> \
		SAY("ends as a worker, and closes what it has opened"); \
		close_opened(); \
		if \
		:: replaces[0] -> holds[0] = holds[0] || holds[me] \
		:: else -> holds[1] = holds[1] || holds[me] \
		fi; \
		end_transaction(me); \
		done() }
#else
#define IS_LEADER		true
#define WORKER_IS_GONE	true
#define WORKER_STEPS
#endif

#define PROBE_TRANSACTIONS(id)	!(was_undone && forgot_state && !replaces[me])

/*
 * Dropping the sequence takes its lock.  Dropping the table waits for sessions
 * that have written to it.  One that is about to write, and has the shard's lock,
 * could be overtaken; but then it waits for the end of this transaction, which
 * cannot open the slot meanwhile.
 */
#define TRANSACTION_STEPS \
	:: d_step { to[me] == IDLE && IS_LEADER && !replaces[me] && \
			!OTHER_REPLACES && !exclusive[MOVED] && \
			(!builtin || MAY_LOCK(ALONE)) -> \
		SAY("replaces the extension"); \
		replace(); \
		done() } \
	:: d_step { to[me] == IDLE && IN_TRANSACTION && !replaces[me] -> \
		SAY("commits"); \
		disk = page; \
		commit_rows(); \
		done() } \
	:: d_step { to[me] == IDLE && IN_TRANSACTION && !replaces[me] -> \
		SAY("rolls back"); \
		undo_rows(); \
		done() } \
	:: d_step { to[me] == IDLE && replaces[me] && IS_LEADER && WORKER_IS_GONE -> \
		SAY("commits, with the extension replaced"); \
		commit_replacement(); \
		done() } \
	:: d_step { to[me] == IDLE && replaces[me] && IS_LEADER && WORKER_IS_GONE -> \
		SAY("rolls back to the old extension"); \
		undo_replacement(); \
		done() } \
	:: d_step { to[me] == IDLE && opened[me] && IS_LEADER -> \
		SAY("rolls back to a savepoint, and closes what it has opened"); \
		close_opened(); \
		opened[me] = false; \
		done() } \
	WORKER_STEPS

#endif							/* REWIND, REPLACE */
#endif							/* TRANSACTIONS */
