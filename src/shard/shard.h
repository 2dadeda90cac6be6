/*-------------------------------------------------------------------------
 *
 * shard.h
 *	  Which shards this server mints.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SHARD_H
#define FLAKEID_SHARD_H

#include "mint/claim.h"
#include "mint/generator.h"
#include "settings.h"
#include "storage/lock.h"

#pragma GCC visibility push(hidden)

/*
 * Opens a shard's slot if it is closed and the shard may be minted here, and
 * else raises ERROR 55000.  Waits for a transaction that is just detaching or
 * attaching the shard.
 */
extern void flake_shard_open(Generator *generator, const GeneratorSlot *slot,
							 Oid function);

/*
 * Claims n successive packed values of a shard and returns the first.  ERROR
 * as flake_generator_slot(), flake_claim() and flake_shard_open() have it.
 */
static inline int64
flake_shard_claim(Generator *generator, const GeneratorSlot *slot, int64 n,
				  Oid function)
{
	int64		first;

	if (unlikely(flake_require_attach) && !slot->checked)
		flake_shard_open(generator, slot, function);
	while (unlikely(!flake_claim(slot->slot, &generator->layout,
								 &generator->horizon, n, &first)))
		flake_shard_open(generator, slot, function);
	return first;
}

/* The modes of a shard's lock: see shard.c. */
#define FLAKE_READ_STATE	RowShareLock
#define FLAKE_CHANGE_LEASE	ShareRowExclusiveLock
#define FLAKE_CHANGE_STATE	ExclusiveLock

/* Locks a shard.  False if that would mean waiting, and wait is false. */
extern bool flake_shard_lock(Oid sequence, int32 shard, LOCKMODE mode, bool wait);
extern void flake_shard_unlock(Oid sequence, int32 shard, LOCKMODE mode);

/* Whether a shard, which is locked in any mode, is detached here. */
extern bool flake_shard_is_detached(Oid sequence, int32 shard, Oid function);

/*
 * A generator whose shards are to change state, ready for it.  ERROR 25006 if
 * the transaction must not change anything, 42501 without USAGE on the
 * sequence, 42809 for generators of wide ids, which have no shards.
 */
extern Generator *flake_shard_begin_change(Oid sequence, Oid function,
										   const char *function_name);

/*
 * Detaches a shard, without waiting for anybody, if it is not in use: not
 * minted since the server started, neither attached nor detached, and nobody
 * is just changing that.  Otherwise returns false.  Sets *bound to an id at or
 * above all that were minted earlier.
 */
extern bool flake_shard_reserve(Oid sequence, int32 shard, Oid function,
								int64 *bound);

/*
 * Forgets the lease of a detached shard, which is over, and heeds what was leased.
 * The shard stays detached.  The lock for changes of its lease is held.
 */
extern void flake_shard_take_back(Oid sequence, int32 shard, Oid function);

/* Sets up what happens at the end of transactions; at library load. */
extern void flake_shard_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_SHARD_H */
