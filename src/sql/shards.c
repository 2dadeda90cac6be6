/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  The rows of the view flake_shards.
 *
 * Anybody may look at it, in a serializable transaction, too.  If that cannot be had
 * in any order, the executor would say so with a page of the table locked, which a
 * client that does not read the error keeps, and all who change shards would wait for
 * that.  So the tables are read here: see trust/own_table_rows.c.
 *
 * A view executes functions with the rights of whoever reads it.  So anybody may call
 * this one, and it asks itself who may read the view.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "shard/state.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_shard_rows);

#define SHARDS_COLUMNS	6
#define SHARDS_VIEW		"flake_shards"

/* ERROR 42501 unless the user may read the view. */
static void
check_may_read(Oid function)
{
	Oid			view = get_relname_relid(SHARDS_VIEW, get_func_namespace(function));
	Relation	rel = OidIsValid(view) ? try_relation_open(view, AccessShareLock) : NULL;

	if (rel == NULL || !flake_own_table_is_of(rel, function) ||
		pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_VIEW, SHARDS_VIEW);
	relation_close(rel, AccessShareLock);
}

/* What a shard without a row of leases is, or with one. */
static const char *
state_of(const OwnTable *leases, Oid generator, int32 shard, bool attached)
{
	ScanKeyData keys[2];

	if (attached)
		return "attached";
	flake_shard_init_keys(keys, generator, shard);
	return flake_own_table_sees(leases, leases->index, GetActiveSnapshot(), 2, keys)
		? "leased" : "detached";
}

/* Adds the row of a shard, unless its generator is gone. */
static void
add_row(ReturnSetInfo *result, const OwnTable *leases, Datum *row, bool *row_nulls)
{
	Oid			generator = DatumGetObjectId(row[STATE_GENERATOR - 1]);
	int32		shard = DatumGetInt32(row[STATE_SHARD - 1]);
	bool		is_missing = false;
	bool		may_read;
	Datum		values[SHARDS_COLUMNS];
	bool		nulls[SHARDS_COLUMNS] = {false};

	if (get_rel_relkind(generator) != RELKIND_SEQUENCE)
		return;

	/* One of both will do. */
	may_read = pg_class_aclcheck_ext(generator, GetUserId(), ACL_SELECT | ACL_USAGE,
									 &is_missing) == ACLCHECK_OK;
	if (is_missing)
		return;
	values[0] = ObjectIdGetDatum(generator);
	values[1] = Int32GetDatum(shard);
	values[2] = CStringGetTextDatum(state_of(leases, generator, shard,
											 DatumGetBool(row[STATE_ATTACHED - 1])));
	values[3] = row[STATE_AFTER - 1];
	nulls[3] = row_nulls[STATE_AFTER - 1] || !may_read;
	values[4] = row[STATE_CHANGED_AT - 1];
	values[5] = row[STATE_BACKFILLED - 1];
	nulls[5] = row_nulls[STATE_BACKFILLED - 1] || !may_read;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * _flake_shard_rows(OUT generator regclass, OUT shard int, OUT state text,
 *	OUT after bigint, OUT changed_at timestamptz, OUT backfilled bigint)
 *	returns setof record
 *
 * As the statement's snapshot shows them.
 */
Datum
flake_shard_rows(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	MemoryContext row_context;
	OwnTable	states;
	OwnTable	leases;
	SysScanDesc scan;
	HeapTuple	row;

	check_may_read(function);
	InitMaterializedSRF(fcinfo, 0);
	states = flake_own_table_open(SHARD_STATE, function, AccessShareLock);
	leases = flake_own_table_open(LEASES, function, AccessShareLock);
	row_context = AllocSetContextCreate(CurrentMemoryContext, "flakeid shard",
										ALLOCSET_SMALL_SIZES);
	scan = systable_beginscan(states.rel, InvalidOid, false, GetActiveSnapshot(), 0, NULL);
	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
	{
		MemoryContext old_context = MemoryContextSwitchTo(row_context);
		Datum		values[MAX_OWN_COLUMNS];
		bool		nulls[MAX_OWN_COLUMNS];

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(row, RelationGetDescr(states.rel), values, nulls);
		add_row((ReturnSetInfo *) fcinfo->resultinfo, &leases, values, nulls);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(row_context);
	}
	systable_endscan(scan);
	MemoryContextDelete(row_context);
	flake_own_table_close(&leases);
	flake_own_table_close(&states);
	return (Datum) 0;
}
