/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  What flakeid keeps in shared memory.
 *
 * Three tables in dynamic shared memory, shared by all databases of the server:
 *
 *	Horizon		one per generator: how far ids may go (see horizon.h)
 *	Slot		one per generator and shard: how far they have gone (slot.h)
 *	Settled		one per generator that somebody has asked for a bound of what is
 *				settled, and without time one per shard that has a slot, too
 *				(settled.h)
 *
 * An entry never moves.  It stays as long as its generator exists, and that of
 * a generator of the extension's own as long as its database, so a session
 * that holds a lock on the generator's sequence may use a pointer to it.
 * Entries are a multiple of a cache line apart, so that sessions minting for
 * different shards, and everybody reading the horizon, do not disturb each other.
 *
 * And for the server one ClockGuard (see clock_guard.c), and the Holders (see
 * holders.c).
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_ENTRY_H
#define FLAKEID_ENTRY_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

#pragma GCC visibility push(hidden)

/*
 * The extension's own generators go by these numbers instead of the OIDs of
 * their sequences: a database has only one of each, and what is known about it
 * must outlive DROP EXTENSION and CREATE EXTENSION.
 */
#define FLAKE_DEFAULT	((Oid) 0)	/* of 64-bit ids */
#define FLAKE_UUID		((Oid) 1)	/* of flake_uuid() */
#define FLAKE_OBJECTID	((Oid) 2)	/* of flake_objectid() */
#define FLAKE_UUIDV7	((Oid) 3)	/* of flake_uuidv7() */
#define FLAKE_BUILTINS	4

typedef struct FlakeKey
{
	Oid			database;		/* InvalidOid for slots of all databases */
	Oid			generator;		/* sequence, or one of the above */
	int32		shard;			/* 0 in the key of a Horizon */
} FlakeKey;

/* In a Horizon: no database has used it yet.  See horizon_database.c. */
#define FLAKE_NO_INCARNATION	0

/* In the key of a Holder or a Settled: all shards. */
#define FLAKE_EVERY_SHARD	(-1)

typedef struct Horizon
{
	FlakeKey	key;			/* must be first */
	LWLock		lock;			/* held while the horizon is moved */
	pg_atomic_uint32 warned;	/* of what, since the start: see restore.c */
	uint64		incarnation;	/* of the database: see horizon_database.c */
	int64		found;			/* packed: on disk when the server started */
	pg_atomic_uint64 file;		/* the file that holds value durably */
	pg_atomic_uint64 value;		/* packed: no id may be above */
	pg_atomic_uint64 floor;		/* packed: every new id must be above */
	pg_atomic_uint64 lsn;		/* at least that of the record of value */
	pg_atomic_uint64 asked;		/* packed: at least each bound given out of
								 * what is settled, durably; see settled.c */
	pg_atomic_uint64 refused;	/* claims refused before there was a slot */
	Oid			tablespace;		/* of the database, with incarnation */
} Horizon;

typedef struct Slot
{
	FlakeKey	key;			/* must be first */
	pg_atomic_uint64 last;		/* packed: the last value handed out, or what
								 * it was raised to since; FLAKE_PACKED_NONE
								 * if the slot is closed */
	pg_atomic_uint64 resume;	/* packed: while it is, at least the last;
								 * else what it was opened at or raised to */
	pg_atomic_uint64 backfilled;	/* packed: at least the last that was
									 * backfilled since the server started,
									 * and may have been kept */

	/* Statistics; minting does not depend on them. */
	pg_atomic_uint64 seen;		/* the latest clock reading, TimestampTz */
	pg_atomic_uint64 issued;	/* ids handed out */
	pg_atomic_uint64 waits;		/* times that a caller had to wait */
	pg_atomic_uint64 wait_us;	/* how long, in all */
	pg_atomic_uint64 refused;	/* claims refused with 53400 */
	pg_atomic_uint64 clock_steps_back;	/* times the clock was seen behind */
	pg_atomic_uint64 minted;	/* packed: the last value handed out, when it
								 * was last opened, closed or raised */

	LWLock		lock;			/* held while it is opened, closed or advanced */
} Slot;

typedef struct Settled
{
	FlakeKey	key;			/* must be first */
	LWLock		lock;
	uint64		epoch;			/* changes when bounds are forgotten */
	int64		latest;			/* packed: the latest bound that was found */
	int64		confirmed;		/* packed: a horizon that standbys have */
	int64		pending;		/* packed: one that they may not have yet */
	uint64		pending_lsn;	/* with this it is confirmed; 0 if there is
								 * none */
} Settled;

/* What a process, or a prepared transaction, has minted from. */
#define FLAKE_HOLDS	4

typedef struct Holder
{
	/* What others always read is in one cache line. */
	pg_atomic_uint64 above[FLAKE_HOLDS];	/* packed: all its ids are;
											 * FLAKE_HOLDS_NOTHING if it has
											 * none */
	pg_atomic_uint32 overflow;	/* 1 if it holds more than fits, */
	Oid			database;		/* and then in this database */
	FlakeKey	key[FLAKE_HOLDS];
	TimestampTz since[FLAKE_HOLDS];
} Holder;

typedef struct PreparedHolder
{
	TransactionId xid;			/* invalid if this is free */
	Holder		holder;
} PreparedHolder;

typedef struct Holders
{
	LWLock		lock;			/* of the prepared ones */
	pg_atomic_uint64 epochs;	/* of Settled so far */
	bool		is_read;		/* those from before the server's start, too */
	int			nprocesses;
	int			nprepared;

	/* Then a Holder for each process, and a PreparedHolder for each of those. */
} Holders;

typedef struct ClockGuard
{
	slock_t		mutex;
	bool		is_set;			/* is there anything to compare with? */
	bool		is_proven;		/* was it compared with a time before the
								 * start? */
	TimestampTz wall;			/* the clock when it was found right */
	int64		steady_us;		/* a clock that nobody sets, then */
	int64		refusals;		/* since then */
	int64		refusing_since_us;	/* when the first was, by the steady clock */
	TimestampTz refused_wall;	/* at the last one: the clock */
	int64		refused_steady_us;	/* the steady clock */
	int64		refused_jump_us;	/* and how far ahead it had jumped */
} ClockGuard;

#pragma GCC visibility pop

#endif							/* FLAKEID_ENTRY_H */
