/*-------------------------------------------------------------------------
 *
 * index_end.h
 *	  The rows with the largest integers, by a btree of anybody's table.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_INDEX_END_H
#define FLAKEID_INDEX_END_H

#include "trust/pages.h"

#pragma GCC visibility push(hidden)

/*
 * Whether an index, which is open, sorts its table, a heap, by an integer column, and
 * no row is missing in it.
 */
extern bool flake_index_sorts(Relation rel, Relation index, AttrNumber attribute, Oid type);

/*
 * Calls visit for the rows with the largest values in the first column of such an
 * index, from the largest on, as far as they are above a bound; for rows that the
 * snapshot, which is in use, shows.  Looks at so many entries of the index at most.
 */
extern void flake_index_each_largest(Relation rel, Relation index, int64 below,
									 Snapshot snapshot, int64 max_entries,
									 Patience *patience, FlakeRowVisitor visit, void *arg);

#pragma GCC visibility pop

#endif							/* FLAKEID_INDEX_END_H */
