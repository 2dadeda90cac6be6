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

#include "compat.h"
#include "datatype/timestamp.h"
#include "mint/generator.h"
#include "nodes/parsenodes.h"
#include "shard/state.h"

#pragma GCC visibility push(hidden)

/* Raises ERROR 42809: a generator of wide ids has no shards. */
pg_noreturn extern void flake_shard_none(Oid sequence);

/*
 * A generator of which a shard is to change state, ready for it.  Until the end of
 * the transaction nobody changes all of its shards at once.  ERROR 25006 if the
 * transaction must not change anything, 42501 without these privileges on the
 * sequence, or if the user may not mint from it, 42809 for generators of wide ids, which have no shards.
 */
extern Generator *flake_shard_begin_change(Oid sequence, Oid function,
										   const char *function_name,
										   AclMode privileges);

/*
 * Detaches a shard, without waiting for anybody, if it is not in use: not
 * minted since the server started, neither attached nor detached, and nobody
 * is just changing that.  Otherwise returns false.  Sets *bound to an id at or
 * above all that were minted earlier.
 */
extern bool flake_shard_reserve(Oid sequence, int32 shard, Oid function,
								int64 *bound);

/*
 * An id that is at or above all of a shard so far, whose slot was closed with a
 * last value (F1, F3), with the generator's floor or FLAKE_PACKED_NONE.
 */
extern int64 flake_shard_bound(const FlakeLayout *layout, int64 floor, int64 last,
							   int64 image);

/*
 * Lets a shard's next ids be after a lease, whose ids are of times before upto.
 */
extern void flake_shard_heed_lease(const FlakeLayout *layout, int64 image,
								   TimestampTz upto, ShardState *state);

/* Lets a shard be backfilled no more, and its next ids be above what was. */
extern void flake_shard_end_backfill(ShardState *state);

/*
 * Forgets the lease of a detached shard, which is over, and heeds what was leased.
 * The shard stays detached.  The lock for changes of its lease is held.
 */
extern void flake_shard_take_back(Oid sequence, int32 shard, Oid function);

#pragma GCC visibility pop

#endif							/* FLAKEID_ATTACH_H */
