/*-------------------------------------------------------------------------
 *
 * hypertable.c
 *	  Tables that TimescaleDB has made its own.
 *
 * The rows of a hypertable are in chunks, tables that inherit from it, and those
 * of a compressed chunk are in a table that nothing in PostgreSQL's catalogs
 * connects with it.  Who reads a hypertable without TimescaleDB does not see
 * them.  So what reads or copies tables has to know which are hypertables, and
 * only TimescaleDB's own catalog says so.  It is read here as a heap is, so
 * that nothing in it is executed, and only if it belongs to the extension.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "trust/hypertable.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_is_hypertable);

/* Whether a table of TimescaleDB's catalog has a row of this name. */
static bool
is_listed(Relation catalog, Oid relation)
{
	Oid			id = RelationGetRelid(catalog);
	AttrNumber	schema_name = get_attnum(id, "schema_name");
	AttrNumber	table_name = get_attnum(id, "table_name");
	HeapTuple	tuple;
	Form_pg_class form;
	char	   *schema;
	ScanKeyData keys[2];
	SysScanDesc scan;
	bool		result;

	if (catalog->rd_rel->relkind != RELKIND_RELATION ||
		schema_name == InvalidAttrNumber || get_atttype(id, schema_name) != NAMEOID ||
		table_name == InvalidAttrNumber || get_atttype(id, table_name) != NAMEOID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this version of TimescaleDB is not supported"),
				 errdetail("Its table \"%s\" is not as it was.",
						   "_timescaledb_catalog.hypertable")));

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	schema = get_namespace_name(form->relnamespace);
	if (schema == NULL)
	{
		ReleaseSysCache(tuple);
		return false;
	}

	ScanKeyInit(&keys[0], schema_name, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(schema));
	ScanKeyInit(&keys[1], table_name, BTEqualStrategyNumber, F_NAMEEQ,
				NameGetDatum(&form->relname));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, lengthof(keys), keys);
	result = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	ReleaseSysCache(tuple);
	return result;
}

/* Whether a table, or one that it inherits from, is listed there. */
static bool
is_listed_or_inherits(Relation catalog, Oid relation)
{
	bool		result = is_listed(catalog, relation);
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = is_listed(catalog, ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent);
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return result;
}

bool
flake_is_hypertable_or_chunk(Oid relation)
{
	Oid			extension = get_extension_oid("timescaledb", true);
	Oid			schema = get_namespace_oid("_timescaledb_catalog", true);
	Oid			id;
	Relation	catalog;
	bool		result;

	if (!OidIsValid(extension))
		return false;
	id = OidIsValid(schema) ? get_relname_relid("hypertable", schema) : InvalidOid;

	/* Anybody may have made a table of this name. */
	if (!OidIsValid(id) || getExtensionOfObject(RelationRelationId, id) != extension)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this version of TimescaleDB is not supported"),
				 errdetail("It has no table \"%s\".", "_timescaledb_catalog.hypertable")));
	catalog = table_open(id, AccessShareLock);
	result = is_listed_or_inherits(catalog, relation);
	table_close(catalog, AccessShareLock);
	return result;
}

/* _flake_is_hypertable(relation oid) returns boolean */
Datum
flake_is_hypertable(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(flake_is_hypertable_or_chunk(PG_GETARG_OID(0)));
}
