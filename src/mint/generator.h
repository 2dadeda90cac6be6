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
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/horizon.h"
#include "miscadmin.h"
#include "storage/proc.h"

#pragma GCC visibility push(hidden)

/* Where a shard's slot is, and its number's bits at their places in an id. */
typedef struct GeneratorSlot
{
	int32		shard;			/* hash key */
	char		status;			/* used by simplehash */
	bool		checked;		/* found to be attached, if it must be */
	Slot	   *slot;
	int64		image;
} GeneratorSlot;

typedef struct Generator
{
	Oid			sequence;		/* must be first: hash key */
	Oid			key;			/* in shared memory: sequence or FLAKE_... */
	bool		valid;			/* is the rest as the catalogs have it? */
	Oid			user;			/* found to be one who may mint, or InvalidOid */
	LocalTransactionId lxid;	/* transaction that has registered to mint */
	LocalTransactionId locked_lxid; /* the one that holds a lock on sequence */
	FlakeLayout layout;
	HorizonRef	horizon;
	GeneratorSlot recent;		/* the last one used; slot NULL if none */
	struct slot_cache_hash *slots;	/* those this session has used */
} Generator;

/* The extension's own generators; what they say is for generator.c to keep. */
extern Generator flake_builtin_generators[FLAKE_BUILTINS];

/*
 * The generators that flake_generator_get() and flake_generator_get_uuid() returned
 * last, or NULL.  Each is of the kind that its function returns, so that only its
 * slow path looks.
 */
extern Generator *flake_recent_generator;
extern Generator *flake_recent_uuid_generator;

/* The slow paths of the functions below. */
extern void flake_generator_find_ready(Oid sequence, Oid function, bool is_uuid);
extern void flake_generator_prepare(Generator *generator, Oid function);
extern void flake_generator_find_slot(Generator *generator, int32 shard);

/* What identifies this session's transaction. */
static inline LocalTransactionId
flake_current_lxid(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProc->vxid.lxid;
#else
	return MyProc->lxid;
#endif
}

static inline bool
flake_generator_is_ready(const Generator *generator)
{
	return generator->valid &&
		generator->lxid == flake_current_lxid() &&
		generator->user == GetUserId();
}

/*
 * A generator of the extension's own, ready for the current user to mint from, and
 * the transaction registered as one that does (S1): key is FLAKE_DEFAULT or another
 * of these.  function is a function of the extension: the generator is in its
 * schema.
 *
 * As with nextval(), the sequence stays locked until the end of the
 * transaction.
 *
 * ERROR 42501 if the user may not mint from it, 42P01 if there is none, 55000 if
 * this transaction has given it a new file or, if it is older than that, its
 * layout; 25000 in a parallel worker.
 */
static inline Generator *
flake_generator_builtin(Oid key, Oid function)
{
	Generator  *generator = &flake_builtin_generators[key];

	if (unlikely(!flake_generator_is_ready(generator)))
		flake_generator_prepare(generator, function);
	return generator;
}

/*
 * The generator that a sequence is, in the same way.  ERROR 42809 if it is
 * none, 22023 if its ids are UUIDs.
 */
static inline Generator *
flake_generator_get(Oid sequence, Oid function)
{
	if (unlikely(flake_recent_generator == NULL ||
				 flake_recent_generator->sequence != sequence ||
				 !flake_generator_is_ready(flake_recent_generator)))
		flake_generator_find_ready(sequence, function, false);
	return flake_recent_generator;
}

/* The same for one whose ids are UUIDs; ERROR 22023 if they are bigints. */
static inline Generator *
flake_generator_get_uuid(Oid sequence, Oid function)
{
	if (unlikely(flake_recent_uuid_generator == NULL ||
				 flake_recent_uuid_generator->sequence != sequence ||
				 !flake_generator_is_ready(flake_recent_uuid_generator)))
		flake_generator_find_ready(sequence, function, true);
	return flake_recent_uuid_generator;
}

/*
 * The same for who does not mint: nobody waits for the transaction to see what
 * is settled.
 */
extern Generator *flake_generator_look(Oid sequence, Oid function);

/*
 * The same for who may have SELECT on the sequence instead of USAGE.
 */
extern Generator *flake_generator_read(Oid sequence, Oid function);

/* ERROR 22003 if a layout has no such shard. */
extern void flake_generator_check_shard(const FlakeLayout *layout, int32 shard);

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

/*
 * Notes that the slot found last is that of a shard that is attached, as a table
 * says that was read; it is looked up again when that changes or is dropped.
 */
extern void flake_generator_mark_checked(Generator *generator, Oid table);

/* The generator that a sequence is, as far as this session knows; or NULL. */
extern Generator *flake_generator_known(Oid sequence);

/* Lets every generator be looked up again, and every shard be checked again. */
extern void flake_generators_forget(void);

/* Sets up the invalidation of what this file keeps; at library load. */
extern void flake_generator_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_GENERATOR_H */
