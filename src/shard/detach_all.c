/*-------------------------------------------------------------------------
 *
 * detach_all.c
 *	  A SQL function that detaches all shards: for a server that is a copy.
 *
 * A generator can have 2^31 shards, so there is one row for all that have none
 * of their own, FLAKE_OTHER_SHARDS.  It is written as somebody would write rows by
 * hand: under the lock of all shards, which keeps others from opening a slot by the
 * old states until the end of the transaction (F2), before all slots are closed
 * (F1).  Nothing is given back that says how far a shard has gone.  It is known
 * here, and heeded if the shard is attached again (F3).
 *
 * Leases are ended, because they are the original's.  Their shards stay detached,
 * and the next ids are after the leases (L3), should this be the original.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "fmgr.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "shard/attach.h"
#include "shard/lease_row.h"
#include "shard/state.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(flake_detach_all);

/* The shards of a generator that have a row in a table, as it is now. */
static List *
list_shards(const OwnTable *table, Oid sequence)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	List	   *shards = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, STATE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
	scan = systable_beginscan(table->rel, table->index, true, snapshot, 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		bool		isnull;

		shards = lappend_int(shards,
							 DatumGetInt32(heap_getattr(row, STATE_SHARD,
														RelationGetDescr(table->rel), &isnull)));
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	return shards;
}

static void
close_slot(Slot *slot, void *arg)
{
	if (slot->key.generator == *(const Oid *) arg)
		(void) flake_slot_close(slot);
}

/* Detaches all shards of a generator. */
static void
detach_generator(Oid sequence, Oid function)
{
	Generator  *generator = flake_shard_begin_change(sequence, function, "flake_detach_all()");
	AclResult	result = pg_class_aclcheck(sequence, GetUserId(), ACL_UPDATE);
	OwnTable	states;
	OwnTable	leases;
	ListCell   *lc;
	Oid			key = generator->key;
	int32		max_shard = flake_layout_max_shard(&generator->layout);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SEQUENCE, get_rel_name(sequence));

	/* The tables come before the lock: see flake_shard_open(). */
	states = flake_own_table_open(SHARD_STATE, function, RowExclusiveLock);
	leases = flake_own_table_open(LEASES, function, RowExclusiveLock);
	(void) flake_shard_lock(FLAKE_ALL_SHARDS, 0, FLAKE_CHANGE_STATE, true);

	foreach(lc, list_shards(&states, sequence))
	{
		int32		shard = lfirst_int(lc);

		/* Others have been written by hand, and nobody can mint them. */
		if (shard >= 0 && shard <= max_shard)
			flake_shard_detach_at_once(sequence, shard, function);
	}
	flake_shard_write_state(sequence, FLAKE_OTHER_SHARDS, false, false, 0, function);
	flake_shmem_each_slot(close_slot, &key);
	flake_own_table_close(&leases);
	flake_own_table_close(&states);
}

/*
 * flake_detach_all(generator regclass) returns void
 *
 * Not strict: null means all generators that have shards.
 */
Datum
flake_detach_all(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	ListCell   *lc;

	if (!PG_ARGISNULL(0))
	{
		detach_generator(PG_GETARG_OID(0), function);
		PG_RETURN_VOID();
	}
	foreach(lc, flake_generator_list(function))
	{
		Oid			key = flake_generator_key(lfirst_oid(lc), function);

		if (key != FLAKE_UUID && key != FLAKE_OBJECTID)
			detach_generator(lfirst_oid(lc), function);
	}
	PG_RETURN_VOID();
}
