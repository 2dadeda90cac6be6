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
	STATE_BACKFILLED,
	STATE_COLUMNS = STATE_BACKFILLED
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

/* An index of theirs has up to so many columns. */
#define MAX_OWN_KEYS	2

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

/*
 * The same, but false where that raises ERROR; and if it would mean waiting, and wait
 * is false.
 */
extern bool flake_own_table_try_open(OwnTableId id, Oid function, LOCKMODE lock, bool wait,
									 OwnTable *table);

/*
 * Keeps the table locked until the end of the transaction, so that to open it in this
 * mode waits for nobody.  False if that would mean waiting, and wait is false.
 */
extern bool flake_own_table_keep(OwnTableId id, Oid function, LOCKMODE lock, bool wait);

/* T1: whether a relation is of the extension that a function belongs to. */
extern bool flake_own_table_is_of(Relation rel, Oid function);

/* Closes it, and keeps the lock if it is one for changes. */
extern void flake_own_table_close(OwnTable *table);

#pragma GCC visibility pop

#endif							/* FLAKEID_OWN_TABLE_H */
