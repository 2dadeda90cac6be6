/*-------------------------------------------------------------------------
 *
 * search.h
 *	  The largest id in a column of anybody's table.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SEARCH_H
#define FLAKEID_SEARCH_H

#include "access/attnum.h"
#include "trust/pages.h"
#include "utils/snapshot.h"
#include "utils/uuid.h"

#pragma GCC visibility push(hidden)

/* Reads the head of a UUID, by which it is searched for; false if it has none. */
typedef bool (*FlakeUuidReader) (const pg_uuid_t *uuid, int64 *head, int32 *shard);

/* A search for the largest id in a column that is above a bound. */
typedef struct Search
{
	char	   *column;			/* its name, for messages */
	const char *hint;
	Oid			type;			/* uuid, or one of those that id_of() knows */
	FlakeUuidReader read_uuid;	/* NULL if ids are no UUIDs */
	int64		below;
	bool		found;
	int64		max;
	struct ArrayBuildState *ids;	/* all of them, if that is wanted */
	List	   *tables;			/* the table and those that inherit, if locked */
	Snapshot	snapshot;		/* for all of them; that of now if NULL */
	Patience   *patience;		/* for their pages */
} Search;

/*
 * Searches a column, with all of its partitions and children, for the largest id
 * above a bound.  With a function of the extension, ids are meant that the default
 * has minted.  With a reader, they are UUIDs, and their heads are searched for, in
 * every row.  The tables, which are the relation and those that inherit from it,
 * are locked, and were before the snapshot was taken.  Nothing is waited for but
 * pages, with patience.  ERROR 55000, with the hint, if the column cannot be searched.
 */
extern Search flake_search_tree(Oid relation, List *tables, Snapshot snapshot,
								AttrNumber attribute, int64 below, const char *hint,
								Oid function, FlakeUuidReader read_uuid,
								Patience *patience);

#pragma GCC visibility pop

#endif							/* FLAKEID_SEARCH_H */
