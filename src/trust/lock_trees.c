/*-------------------------------------------------------------------------
 *
 * lock_trees.c
 *	  The SQL function that locks tables and views all at once or not at all, and
 *	  what they name.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "compat.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "trust/guard.h"
#include "trust/lock_all.h"
#include "trust/relation.h"
#include "trust/role.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_lock_trees);

/*
 * The mode in which a relation that is named will be locked: a generator as for
 * minting, and what a view names as for its SELECT, which can be FOR UPDATE.  As
 * PostgreSQL, it asks for privileges on the relation in the first case, and on its
 * schema in the second.
 */
static LOCKMODE
mode_of_named(Oid relation)
{
	if (get_rel_relkind(relation) == RELKIND_SEQUENCE)
		return pg_class_aclcheck(relation, GetUserId(),
								 ACL_SELECT | ACL_USAGE | ACL_UPDATE) == ACLCHECK_OK
			? RowExclusiveLock : AccessShareLock;
	return flake_schema_aclcheck(get_rel_namespace(relation), GetUserId(),
								 ACL_USAGE) == ACLCHECK_OK
		? RowShareLock : AccessShareLock;
}

/* Whether a foreign key can refer to the columns of an index, and the user may do that. */
static bool
may_refer_by(HeapTuple tuple)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

	if (!index->indisunique || !index->indimmediate || !index->indisvalid ||
		!heap_attisnull(tuple, Anum_pg_index_indpred, NULL) ||
		!heap_attisnull(tuple, Anum_pg_index_indexprs, NULL))
		return false;
	if (pg_class_aclcheck(index->indrelid, GetUserId(), ACL_REFERENCES) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < index->indnkeyatts; i++)
	{
		if (pg_attribute_aclcheck(index->indrelid, index->indkey.values[i], GetUserId(),
								  ACL_REFERENCES) != ACLCHECK_OK)
			return false;
	}
	return true;
}

static bool
may_refer_to(Oid table)
{
	Relation	indexes = table_open(IndexRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(table));
	scan = systable_beginscan(indexes, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
		found = may_refer_by(tuple);
	systable_endscan(scan);
	table_close(indexes, AccessShareLock);
	return found;
}

/*
 * Who may refer to a table can have it locked, with its partitions, by dropping the
 * foreign key; and the owner of a sequence, by ALTER SEQUENCE.
 */
static bool
can_have_locked(Oid relation, Reach reach)
{
	char		relkind = get_rel_relkind(relation);

	if (relkind == RELKIND_SEQUENCE)
		return flake_acts_as(GetUserId(), flake_relation_owner(relation));
	return reach == REACH_PARTITIONS &&
		(relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE) &&
		flake_schema_aclcheck(get_rel_namespace(relation), GetUserId(),
							  ACL_USAGE) == ACLCHECK_OK &&
		may_refer_to(relation);
}

/* The list, with those of an array added. */
static List *
add_relations(List *all, ArrayType *array, Reach reach, LOCKMODE mode)
{
	int			count;
	Oid		   *relations = flake_oid_array(array, &count);

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relations[i])))
			continue;
		if (reach != REACH_NONE && !can_have_locked(relations[i], reach))
			flake_check_lockable(relations[i], mode);
		all = flake_add_to_lock(all, relations[i],
								reach != REACH_NONE || mode == AccessShareLock ? mode
								: mode_of_named(relations[i]), reach);
	}
	return all;
}

/*
 * _flake_lock_trees(ticket _flake_ticket, trees oid[], exclusive boolean,
 *	keys oid[], named oid[], began timestamptz) returns void
 *
 * Locks tables and views, with those that inherit from them, and the tables at the
 * other end of foreign keys, with their partitions: unless exclusive, in modes that
 * let others only read, and lock no row of the former; with null, in one that only
 * keeps them from changing its definition.  And other relations, as those who use
 * them do, or with null in that mode.  Waits until lock_timeout is over since an
 * instant; not at all if that is null.
 */
Datum
flake_lock_trees(PG_FUNCTION_ARGS)
{
	LOCKMODE	mode = AccessShareLock;
	LOCKMODE	mode_of_keys = AccessShareLock;
	List	   *all;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3) || PG_ARGISNULL(4))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(2))
	{
		mode = PG_GETARG_BOOL(2) ? AccessExclusiveLock : ExclusiveLock;
		mode_of_keys = PG_GETARG_BOOL(2) ? AccessExclusiveLock : ShareRowExclusiveLock;
	}
	all = add_relations(NIL, PG_GETARG_ARRAYTYPE_P(1), REACH_HEIRS, mode);
	all = add_relations(all, PG_GETARG_ARRAYTYPE_P(3), REACH_PARTITIONS, mode_of_keys);
	all = add_relations(all, PG_GETARG_ARRAYTYPE_P(4), REACH_NONE, mode);
	(void) flake_lock_all(all, !PG_ARGISNULL(5),
						  PG_ARGISNULL(5) ? 0 : PG_GETARG_TIMESTAMPTZ(5), NULL, NULL);
	PG_RETURN_VOID();
}
