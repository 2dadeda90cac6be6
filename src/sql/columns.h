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
#include "utils/snapshot.h"

#pragma GCC visibility push(hidden)

/*
 * The columns that a generator's ids go into, as a list of ObjectAddress: each once,
 * those of the oldest tables (by OID) first.  As the catalogs are in a snapshot, or now
 * if that is NULL.
 */
extern List *flake_find_columns(Oid sequence, Oid function, Snapshot snapshot);

#pragma GCC visibility pop

#endif							/* FLAKEID_COLUMNS_H */
