/*-------------------------------------------------------------------------
 *
 * own_table_rows.h
 *	  The rows of the extension's own tables.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_OWN_TABLE_ROWS_H
#define FLAKEID_OWN_TABLE_ROWS_H

#include "access/htup.h"
#include "access/skey.h"
#include "access/genam.h"
#include "nodes/lockoptions.h"
#include "trust/own_table.h"
#include "utils/snapshot.h"

#pragma GCC visibility push(hidden)

/* systable_getnext() for a scan of such a table; an ERROR leaves no page locked. */
extern HeapTuple flake_own_table_next(SysScanDesc scan);

/*
 * A row with certain keys of an index, as it is now: what has been committed
 * meanwhile counts, whatever the snapshot of the transaction is.  NULL if there
 * is none.
 */
extern HeapTuple flake_own_table_find(const OwnTable *table, Oid index,
									  int nkeys, ScanKeyData *keys);

/* Whether there is such a row, also one that this command has added. */
extern bool flake_own_table_has(const OwnTable *table, Oid index, int nkeys,
								ScanKeyData *keys);

/* Whether a snapshot shows such a row. */
extern bool flake_own_table_sees(const OwnTable *table, Oid index, Snapshot snapshot,
								 int nkeys, ScanKeyData *keys);

/*
 * A row, locked until the end of the transaction so that nobody else changes
 * it.  NULL also if somebody else has locked it and policy is LockWaitSkip.
 */
extern HeapTuple flake_own_table_lock(const OwnTable *table, Oid index,
									  int nkeys, ScanKeyData *keys,
									  LockWaitPolicy policy);

/*
 * Adds a row, or changes or deletes one that is locked.  What follows in this
 * transaction sees it.
 */
extern void flake_own_table_insert(const OwnTable *table, Datum *values,
								   bool *nulls);
extern void flake_own_table_update(const OwnTable *table, HeapTuple row,
								   Datum *values, bool *nulls);
extern void flake_own_table_delete(const OwnTable *table, HeapTuple row);

/*
 * Whether it has rows of a generator.  The tables have the generator in their first
 * column and first in their index.
 */
extern bool flake_own_table_has_generator(const OwnTable *table, Oid generator);

/*
 * Deletes the rows of a generator in both tables if it was dropped; but not those that
 * another transaction has locked: nobody is to wait for that.
 */
extern void flake_own_table_remove(const OwnTable *leases, const OwnTable *states,
								   Oid generator);

/*
 * The same for some generators, others each time; for all, if there are not many, and
 * they do not have many rows.  Anybody can have as many of both as he likes.
 */
extern void flake_own_table_remove_some(const OwnTable *leases, const OwnTable *states);

#pragma GCC visibility pop

#endif							/* FLAKEID_OWN_TABLE_ROWS_H */
