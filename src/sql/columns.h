/*-------------------------------------------------------------------------
 *
 * columns.h
 *	  The columns that a generator's ids go into.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_COLUMNS_H
#define FLAKEID_COLUMNS_H

#include "nodes/pg_list.h"

#pragma GCC visibility push(hidden)

/*
 * The columns that a generator's ids go into, as a list of ObjectAddress: each once,
 * those of the oldest tables (by OID) first.
 */
extern List *flake_find_columns(Oid sequence, Oid function);

/* What was found in the columns that a generator's ids go into. */
typedef struct LiveIds
{
	int			columns;		/* how many were searched */
	char	   *column;			/* one with an id above, or NULL */
	int64		id;				/* the largest one in it */
} LiveIds;

/*
 * Searches the columns that flake_columns() lists for ids above a bound; not
 * those of other sessions' temporary tables, which nobody else can read.
 * Nobody mints from the generator meanwhile.  ERROR 55000 if one of them cannot
 * be searched.
 */
extern LiveIds flake_find_live_ids(Oid sequence, int64 below, Oid function);

#pragma GCC visibility pop

#endif							/* FLAKEID_COLUMNS_H */
