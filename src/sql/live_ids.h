/*-------------------------------------------------------------------------
 *
 * live_ids.h
 *	  The ids of a generator that are in columns.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LIVE_IDS_H
#define FLAKEID_LIVE_IDS_H

#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#pragma GCC visibility push(hidden)

/* Tables that are locked to be searched. */
typedef struct LiveTables
{
	List	   *tables;			/* of ToLock */
	Snapshot	snapshot;		/* registered */
} LiveTables;

/* What was found in the columns that a generator's ids go into. */
typedef struct LiveIds
{
	int			columns;		/* how many were searched */
	char	   *column;			/* one with an id above, or NULL */
	int64		id;				/* the largest one in it */
	List	   *unread;			/* OIDs of other sessions' temporary tables */
} LiveIds;

/*
 * Locks the generator so that nobody mints from it, and before that the tables of
 * the columns that flake_columns() lists, so that they can be searched: all at once,
 * as flake_lock_all().  Not other sessions' temporary tables, which nobody else can
 * read, unless they inherit from one.  A row that was in such a table when the snapshot
 * was taken is in one of those that are locked, and the snapshot shows it there.  ERROR
 * 55P03 as flake_lock_all(), and if others make such tables all the time.
 */
extern LiveTables flake_lock_live_ids(Oid sequence, Oid function);

/*
 * Searches the columns in tables that flake_lock_live_ids() has locked for ids above
 * a bound, and unregisters the snapshot.  Other sessions' temporary tables are listed
 * instead.  Nothing is waited for but pages.  ERROR 55000 if another one cannot be
 * searched.
 */
extern LiveIds flake_find_live_ids(Oid sequence, const LiveTables *live_tables,
								   int64 below, Oid function);

#pragma GCC visibility pop

#endif							/* FLAKEID_LIVE_IDS_H */
