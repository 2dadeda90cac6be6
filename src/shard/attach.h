/*-------------------------------------------------------------------------
 *
 * attach.h
 *	  Changes of the state of a shard.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_ATTACH_H
#define FLAKEID_ATTACH_H

#include "mint/generator.h"

#pragma GCC visibility push(hidden)

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
 * Detaches a shard that has a row, also if it is leased: then its next ids are
 * after the lease.  The lock of all shards is held, instead of its own, so that
 * nobody opens its slot.
 */
extern void flake_shard_detach_at_once(Oid sequence, int32 shard, Oid function);

/*
 * Forgets the lease of a detached shard, which is over, and heeds what was leased.
 * The shard stays detached.  The lock for changes of its lease is held.
 */
extern void flake_shard_take_back(Oid sequence, int32 shard, Oid function);

#pragma GCC visibility pop

#endif							/* FLAKEID_ATTACH_H */
