/*-------------------------------------------------------------------------
 *
 * distributed.c
 *	  Tables whose rows Citus keeps elsewhere.
 *
 * The rows of such a table are in other tables, the shards of Citus, on this node or
 * another.  Who reads the table itself without Citus finds it empty.  So what reads
 * or copies tables has to know which they are.  Citus's list of them is in
 * pg_catalog, where only superusers create something, and is read as a heap, so
 * that nothing in it is executed.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "trust/distributed.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define LIST_OF_TABLES	"pg_dist_partition"

PG_FUNCTION_INFO_V1(flake_is_distributed_table);

bool
flake_is_distributed(Oid relation)
{
	Oid			id;
	AttrNumber	column = InvalidAttrNumber;
	Relation	list;
	ScanKeyData key;
	SysScanDesc scan;
	bool		result;

	if (!OidIsValid(get_extension_oid("citus", true)))
		return false;
	id = get_relname_relid(LIST_OF_TABLES, PG_CATALOG_NAMESPACE);
	if (OidIsValid(id) && get_rel_relkind(id) == RELKIND_RELATION)
		column = get_attnum(id, "logicalrelid");
	if (column == InvalidAttrNumber || get_atttype(id, column) != REGCLASSOID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this version of Citus is not supported"),
				 errdetail("Its table \"%s\" is not as it was.", LIST_OF_TABLES)));

	list = table_open(id, AccessShareLock);
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(list, InvalidOid, false, NULL, 1, &key);
	result = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(list, AccessShareLock);
	return result;
}

/* _flake_is_distributed(relation oid) returns boolean */
Datum
flake_is_distributed_table(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(flake_is_distributed(PG_GETARG_OID(0)));
}
