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
 * Why a shard has to be checked before a session claims from it for the first time,
 * though its slot may be open.
 */
#define FLAKE_CHECK_ATTACHED	0x01	/* flakeid.require_attach */
#define FLAKE_CHECK_NODE		0x02	/* Citus is in this database */
#define FLAKE_CHECK_UNKNOWN		0x04	/* it may be */
extern int	flake_shard_checks;

/* Checks it, if it must be and was not; ERROR as flake_shard_open(). */
extern void flake_shard_check(Generator *generator, const GeneratorSlot *slot,
							  Oid function);

/* The slow path of the next. */
extern int32 flake_shard_of_node(const FlakeLayout *layout);

/*
 * The shard that flake_id() and flake_uuidv7() mint without being told which.  ERROR
 * 55000 if there is none, 22003 if it is this node's group in Citus, and the layout
 * has fewer.
 */
static inline int32
flake_shard_of_server(const FlakeLayout *layout)
{
	return likely(flake_shard >= 0) ? flake_shard : flake_shard_of_node(layout);
}

/*
 * Claims n successive packed values of a shard and returns the first.  ERROR
 * as flake_generator_slot(), flake_claim() and flake_shard_open() have it.
 */
static inline int64
flake_shard_claim(Generator *generator, const GeneratorSlot *slot, int64 n,
				  Oid function)
{
	int64		first;

	if (unlikely(flake_shard_checks != 0))
		flake_shard_check(generator, slot, function);
	while (unlikely(!flake_claim(slot->slot, &generator->layout,
								 &generator->horizon, n, &first)))
		flake_shard_open(generator, slot, function);
	return first;
}

/* The assign hook of flakeid.require_attach. */
extern void flake_fence_assign_require_attach(bool value, void *extra);

/* Sets up what happens at the end of transactions; at library load. */
extern void flake_fence_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_FENCE_H */
