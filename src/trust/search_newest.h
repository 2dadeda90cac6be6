/*-------------------------------------------------------------------------
 *
 * search_newest.h
 *	  The largest ids in a table of anybody's, for what watches.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SEARCH_NEWEST_H
#define FLAKEID_SEARCH_NEWEST_H

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "trust/pages.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

typedef void (*FlakeIdVisitor) (int64 id, void *arg);

/*
 * Calls visit for the largest ids in a bigint column that are above a bound, from
 * the largest on, a hundred at most.  For none if the table has no index for it, or is
 * no heap, or others have locked that; and for no more when patience with pages that
 * others have locked is over.  The relation is locked.
 */
extern void flake_search_newest(Relation rel, AttrNumber attribute, int64 below,
								Patience *patience, FlakeIdVisitor visit, void *arg);

/*
 * The partitions or children of a table, but not theirs, as a list of OIDs, sorted.
 * They are not locked, and may have been dropped.
 */
extern List *flake_children(Oid relation);

#pragma GCC visibility pop

#endif							/* FLAKEID_SEARCH_NEWEST_H */
