/*-------------------------------------------------------------------------
 *
 * settled.h
 *	  Up to where ids are settled: no open transaction has one of them, and none
 *	  will be minted any more.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SETTLED_H
#define FLAKEID_SETTLED_H

#include "mint/generator.h"
#include "mint/holders.h"

#pragma GCC visibility push(hidden)

/* What there is to say about a generator, or one of its shards. */
typedef struct SettledBound
{
	bool		is_known;		/* is there a bound for the snapshot? */
	int64		bound;			/* packed: for the snapshot */
	bool		any_is_known;
	int64		latest;			/* packed: the greatest that was given out */
} SettledBound;

/*
 * Finds a new bound, and then one that is right for the active snapshot: every id
 * of this database at or below it that this server has minted or will ever mint is of a
 * transaction that had ended, and what that did is seen with the snapshot.  The
 * same snapshot gets the same bound in a statement, or while a cursor is open.  In a
 * layout with time the bound is a whole tick's end.
 *
 * The generator comes from flake_generator_read().  The shard matters in a layout
 * without time.
 *
 * ERROR 53200 if shared memory is used up.
 */
extern SettledBound flake_settled_find(Generator *generator, int32 shard);

/*
 * Whether somebody has asked for a bound that an open transaction holds back, since
 * the server started.
 */
extern bool flake_settled_is_asked(const HolderInfo *holder);

/*
 * The greatest packed value that may have been given out as a bound, of a
 * generator or any of its shards; false if none was.
 */
extern bool flake_settled_given_out(const Generator *generator, int64 *bound);

#pragma GCC visibility pop

#endif							/* FLAKEID_SETTLED_H */
