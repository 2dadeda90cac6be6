/*-------------------------------------------------------------------------
 *
 * generator.h
 *	  Generators as a session sees them.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_GENERATOR_H
#define FLAKEID_GENERATOR_H

#include "fmgr.h"
#include "horizon.h"
#include "layout.h"
#include "miscadmin.h"

#pragma GCC visibility push(hidden)

/* Where a shard's slot is, and its number's bits at their places in an id. */
typedef struct GeneratorSlot
{
	int32		shard;			/* hash key */
	char		status;			/* used by simplehash */
	Slot	   *slot;
	int64		image;
} GeneratorSlot;

typedef struct Generator
{
	Oid			sequence;
	const FlakeLayout *layout;
	HorizonRef	horizon;
	Oid			user;			/* found to have USAGE, or InvalidOid */
	struct slot_cache_hash *slots;	/* those this session has used */
	GeneratorSlot recent;		/* the last one used; slot NULL if none */
} Generator;

/* The extension's own generator; what these say is for generator.c to keep. */
extern Generator flake_default_generator;
extern bool flake_default_generator_valid;

/* The slow paths of the two functions below. */
extern void flake_generator_prepare_default(Oid function);
extern void flake_generator_find_slot(Generator *generator, int32 shard);

/*
 * The extension's own generator, ready for the current user to mint from.
 * function is a function of the extension: the generator is in its schema.
 *
 * ERROR 42501 without USAGE on the sequence, 42P01 if there is none, and what
 * flake_horizon_open() raises.
 */
static inline Generator *
flake_generator_default(Oid function)
{
	if (unlikely(!flake_default_generator_valid ||
				 flake_default_generator.user != GetUserId()))
		flake_generator_prepare_default(function);
	return &flake_default_generator;
}

/*
 * The slot of a shard, valid until the next call.  ERROR 22003 if the layout
 * has no such shard, 53200 if shared memory for it is used up.
 */
static inline const GeneratorSlot *
flake_generator_slot(Generator *generator, int32 shard)
{
	if (unlikely(generator->recent.slot == NULL ||
				 generator->recent.shard != shard))
		flake_generator_find_slot(generator, shard);
	return &generator->recent;
}

/* Sets up the invalidation of what this file keeps; at library load. */
extern void flake_generator_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_GENERATOR_H */
