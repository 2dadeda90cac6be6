/*-------------------------------------------------------------------------
 *
 * partition.c
 *	  What partitions by time need that SQL does not have.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_check_partitioned);

/* Whether a relation is PARTITION BY RANGE of one column of type bigint. */
static bool
is_partitioned_by_id(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(relation));
	Form_pg_partitioned_table form;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_partitioned_table) GETSTRUCT(tuple);
	result = form->partstrat == PARTITION_STRATEGY_RANGE && form->partnatts == 1 &&
		get_atttype(relation, form->partattrs.values[0]) == INT8OID;
	ReleaseSysCache(tuple);
	return result;
}

/* _flake_check_partitioned(parent regclass) returns void */
Datum
flake_check_partitioned(PG_FUNCTION_ARGS)
{
	Oid			parent = PG_GETARG_OID(0);

	if (!is_partitioned_by_id(parent))
	{
		char	   *name = get_rel_name(parent);

		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not partitioned by range of an id",
						name != NULL ? name : psprintf("%u", parent)),
				 errhint("Use CREATE TABLE ... PARTITION BY RANGE (id), with a column of type bigint.")));
	}
	PG_RETURN_VOID();
}
