/*-------------------------------------------------------------------------
 *
 * settled_snapshot.h
 *	  Which bound of what is settled is right for a snapshot.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SETTLED_SNAPSHOT_H
#define FLAKEID_SETTLED_SNAPSHOT_H

#include "mint/entry.h"

#pragma GCC visibility push(hidden)

/*
 * Takes note of a bound that was found just now, of a generator or one of its shards
 * in that epoch, or of FLAKE_PACKED_NONE; and sets *bound to one that is right for the
 * active snapshot: that one, or an earlier one that this session has found.  False if
 * there is none.  The same snapshot gets the same answer in a statement, or while a
 * cursor is open.
 */
extern bool flake_settled_for_snapshot(Oid generator, int32 shard, uint64 epoch,
									   int64 latest, int64 *bound);

#pragma GCC visibility pop

#endif							/* FLAKEID_SETTLED_SNAPSHOT_H */
