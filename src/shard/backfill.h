/*-------------------------------------------------------------------------
 *
 * backfill.h
 *	  Shards whose ids are of past times.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_BACKFILL_H
#define FLAKEID_BACKFILL_H

#include "layout/layout.h"
#include "mint/generator.h"

#pragma GCC visibility push(hidden)

/* A shard that this transaction backfills, or a procedure in one before. */
typedef struct Backfill
{
	Oid			sequence;
	int32		shard;
	Oid			function;		/* one of the extension whose table has the
								 * row */
	SubTransactionId subid;		/* the one that was the first to backfill it */
	bool		is_undone;		/* with its row, perhaps, and not begun again */
	bool		is_kept;		/* of a transaction before, and not begun
								 * again: neither is it locked */
	Oid			user;			/* found to have the rights, and the shard to
								 * be detached; or InvalidOid */
	FlakeLayout layout;
	int64		image;
	Slot	   *slot;			/* closed; NULL once the sequence is dropped,
								 * or it is kept */
	int64		last;			/* packed: the last value that was handed out */
	int64		written;		/* packed: the one that the row has, or less */
	int64		limit;			/* packed: none is above */
} Backfill;

/* The one that flake_backfill_find() returned last, or NULL. */
extern Backfill *flake_recent_backfill;

/* The slow path of the next. */
extern Backfill *flake_backfill_search(Oid sequence, int32 shard);

/* What this transaction has of a shard; NULL if it has not backfilled it. */
static inline Backfill *
flake_backfill_find(Oid sequence, int32 shard)
{
	if (likely(flake_recent_backfill != NULL &&
			   flake_recent_backfill->sequence == sequence &&
			   flake_recent_backfill->shard == shard))
		return flake_recent_backfill;
	return flake_backfill_search(sequence, shard);
}

/*
 * Locks a shard, of a generator that flake_shard_begin_change() has returned, until the
 * end of the transaction, and reads from where to where it is backfilled.  ERROR 55000
 * if it is not detached, or may have minted ids.
 */
extern Backfill *flake_backfill_begin(Generator *generator, int32 shard, Oid function);

/*
 * Writes how far this transaction has backfilled shards of a generator.  When it goes
 * on with one, the state is read again.
 */
extern void flake_backfill_write(Oid sequence);

/* Sets up what happens at the end of transactions; at library load. */
extern void flake_backfill_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_BACKFILL_H */
