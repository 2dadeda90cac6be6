/*-------------------------------------------------------------------------
 *
 * own_table.h
 *	  The extension's own tables, as relations.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_OWN_TABLE_H
#define FLAKEID_OWN_TABLE_H

#include "access/htup.h"
#include "access/skey.h"
#include "nodes/lockoptions.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/* The tables, and their columns as the install script has them. */
typedef enum OwnTableId
{
	SHARD_STATE,
	LEASES,
	SHARD_MAP
} OwnTableId;

enum
{
	STATE_GENERATOR = 1,
	STATE_SHARD,
	STATE_ATTACHED,
	STATE_AFTER,
	STATE_CHANGED_AT,
	STATE_COLUMNS = STATE_CHANGED_AT
};

enum
{
	LEASE_GENERATOR = 1,
	LEASE_SHARD,
	LEASE_OWNER,
	LEASE_ROLE,
	LEASE_NOT_BEFORE,
	LEASE_EXPIRES_AT,
	LEASE_RENEWED_AT,
	LEASE_COLUMNS = LEASE_RENEWED_AT
};

enum
{
	MAP_SHARDS = 1,
	MAP_SERVER,
	MAP_COLUMNS = MAP_SERVER
};

#define MAX_OWN_COLUMNS	LEASE_COLUMNS

/* An own table that is open, and that has been found to be as expected. */
typedef struct OwnTable
{
	Relation	rel;
	LOCKMODE	lock;
	Oid			index;			/* its key, see own_table.c */
	Oid			second_index;	/* of LEASES: by generator and owner */
} OwnTable;

/*
 * Opens the table that belongs to a function of the extension.  ERROR 42P01 if it
 * is missing, 55000 if it is not what the install script has made.
 */
extern OwnTable flake_own_table_open(OwnTableId id, Oid function, LOCKMODE lock);

/* The same, but false where that raises ERROR. */
extern bool flake_own_table_try_open(OwnTableId id, Oid function, LOCKMODE lock,
									 OwnTable *table);

/* Closes it, and keeps the lock if it is one for changes. */
extern void flake_own_table_close(OwnTable *table);

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

/* Whether it has rows of generators that were dropped. */
extern bool flake_own_table_has_dropped(const OwnTable *table);

/*
 * Deletes the rows of generators that were dropped, but for those that another
 * transaction has locked: nobody is to wait for that.  Both tables have the
 * generator in their first column and first in their index.
 */
extern void flake_own_table_remove_dropped(const OwnTable *table,
										   const OwnTable *unless_in);

/* Whether this transaction has created a relation. */
extern bool flake_is_new(Relation rel);

/* Whether it has given it a new file after that. */
extern bool flake_has_new_file(Relation rel);

/* The owner of a relation. */
extern Oid	flake_relation_owner(Oid relation);

#pragma GCC visibility pop

#endif							/* FLAKEID_OWN_TABLE_H */
