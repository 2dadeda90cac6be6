/*-------------------------------------------------------------------------
 *
 * horizon_database.c
 *	  Another database that has the OID of one that was dropped.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/horizon_database.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "utils/syscache.h"

/*
 * The databases that had an OID, one after the other, are told apart by the
 * transaction that wrote the row in pg_database: no two were created by the same
 * one, and freezing leaves it in the row.  ALTER DATABASE writes another row, so
 * this may change for one and the same database.
 */
TransactionId
flake_database_incarnation(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	TransactionId xmin;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
	ReleaseSysCache(tuple);
	return xmin;
}

static void
close_slot(Slot *slot, void *arg)
{
	const Horizon *shared = arg;

	if (slot->key.database == shared->key.database &&
		slot->key.generator == shared->key.generator)
		(void) flake_slot_close(slot);
}

/*
 * CREATE DATABASE ... OID makes a database with the OID of one that was dropped.
 * What is known here of that one's generators is then found for the new one's.
 * Its horizon only makes ids greater, and the floor is raised to the greater one of
 * that and of the new database's own (H3).  But its slots may be
 * open for shards that the new database has detached (F2), so they are closed:
 * whoever finds a slot closed looks into the table of states.
 *
 * Who calls holds the horizon's LWLock.  Every session of the new database comes
 * here before it uses a slot, and no session of the old one is left.  So nobody
 * mints from an open slot of the old database before the first session has
 * closed them all, and later ones find that this is done.  If it is the same
 * database after all (ALTER DATABASE), its sessions lose nothing but a look into
 * the table.
 *
 * An entry that is still empty has no slots: whoever makes those has been here,
 * and what frees both frees the slots first.  The slots that databases share,
 * for UUIDs and ObjectIDs, have no states and stay open.
 */
bool
flake_horizon_close_other(Horizon *shared, TransactionId incarnation)
{
	if (shared->incarnation == InvalidTransactionId || shared->incarnation == incarnation)
		return false;
	flake_shmem_each_slot(close_slot, shared);
	flake_shmem_forget_settled(shared->key.generator);
	return true;
}
