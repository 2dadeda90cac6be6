/*-------------------------------------------------------------------------
 *
 * fence.h
 *	  Fencing: which shards this server mints.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_FENCE_H
#define FLAKEID_FENCE_H

#include "mint/claim.h"
#include "mint/generator.h"
#include "settings.h"

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

/* Sets up what happens at the end of transactions; at library load. */
extern void flake_fence_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_FENCE_H */
