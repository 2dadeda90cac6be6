/*-------------------------------------------------------------------------
 *
 * state.h
 *	  The table of shard states, and the lock that goes with it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_STATE_H
#define FLAKEID_STATE_H

#include "access/skey.h"
#include "storage/lock.h"
#include "trust/own_table.h"

#pragma GCC visibility push(hidden)

/* The modes of a shard's lock: see state.c. */
#define FLAKE_READ_STATE	RowShareLock
#define FLAKE_CHANGE_LEASE	ShareRowExclusiveLock
#define FLAKE_CHANGE_STATE	ExclusiveLock

/* As a sequence, with shard 0: all shards of the database. */
#define FLAKE_ALL_SHARDS	InvalidOid

/* In the table and for its lock, as a shard: all that have no row of their own. */
#define FLAKE_OTHER_SHARDS	(-1)

/* For its lock, as a shard: the opening of any slot of the generator. */
#define FLAKE_OPENING		(-2)

/* A lock that is held to the end, which pg_locks shows as an advisory one. */
extern LOCKTAG flake_lock_tag(uint32 field2, uint32 field3, uint16 field4);

/*
 * Locks something, until what the present subtransaction writes is undone, or the
 * transaction ends.  False if that would mean waiting, and wait is false.
 */
extern bool flake_lock_as_rows(const LOCKTAG *tag, LOCKMODE mode, bool wait);

/* The same with a shard. */
extern bool flake_shard_lock(Oid sequence, int32 shard, LOCKMODE mode, bool wait);
extern void flake_shard_unlock(Oid sequence, int32 shard, LOCKMODE mode);

/*
 * Locks a shard that this transaction has locked in another mode, also if others wait
 * for that.  False if others have locked it.
 */
extern bool flake_shard_overtake(Oid sequence, int32 shard, LOCKMODE mode);

/* Locks a shard until the end of the transaction, whatever is undone. */
extern void flake_shard_lock_to_the_end(Oid sequence, int32 shard, LOCKMODE mode);

/* Whether this transaction has locked a shard in a mode. */
extern bool flake_shard_is_locked(Oid sequence, int32 shard, LOCKMODE mode);

/* Waits until a shard could be locked.  It is not, then or after an ERROR. */
extern void flake_shard_await(Oid sequence, int32 shard, LOCKMODE mode);

/* A row of the table. */
typedef struct ShardState
{
	bool		exists;
	bool		others_detached;	/* it does not, and all without one are
									 * detached */
	bool		attached;
	bool		in_doubt;		/* changed by this transaction */
	bool		is_new;			/* the table was made by this transaction */
	bool		has_after;
	int64		after;			/* an id */
	bool		has_backfilled; /* it may be backfilled: see backfill.c */
	int64		backfilled;		/* an id */
} ShardState;

/* Reads the state of a shard, which is locked in any mode, as it is now. */
extern ShardState flake_shard_read_state(Oid sequence, int32 shard, Oid function);

/* The same, where the table is open. */
extern ShardState flake_shard_read_row(const OwnTable *table, Oid sequence, int32 shard);

/* Whether a shard, which is locked in any mode, is detached here. */
extern bool flake_shard_is_detached(Oid sequence, int32 shard, Oid function);

/*
 * Writes it: whether it is attached, after and backfilled.  The shard is locked for
 * that.
 */
extern void flake_shard_write_state(Oid sequence, int32 shard, const ShardState *state,
									Oid function);

/*
 * Raises backfilled of a row to an id, if the shard may be backfilled.  It is locked
 * for changes of its lease.  False if there is no such row any more.
 */
extern bool flake_shard_write_backfilled(Oid sequence, int32 shard, int64 id, Oid function);

/* Closes the slots of all shards of generators, which are listed by their keys. */
extern void flake_shard_close_all(const List *generators);

/*
 * Sets up what finds the row of a shard, in this table or in that of leases,
 * which begin with the same columns.
 */
extern void flake_shard_init_keys(ScanKeyData keys[2], Oid sequence, int32 shard);

#pragma GCC visibility pop

#endif							/* FLAKEID_STATE_H */
