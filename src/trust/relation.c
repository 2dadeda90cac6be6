/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  What transactions have done to a relation, and whose it is.
 *
 * A transaction that has changed a relation has not always a lock on it.  If FETCH
 * fails in a savepoint, PostgreSQL releases all that the cursor has locked, also by
 * FETCHes before the savepoint, and what these have changed stays.  So what must not
 * go wrong if others make a relation, drop it or give it a new file goes by the rows
 * of pg_class.
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
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "compat.h"
#include "storage/procarray.h"
#include "trust/relation.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

bool
flake_is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId;
}

bool
flake_has_new_file(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
	return rel->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

/* The transaction that has replaced or deleted a version of a row, if any. */
static TransactionId
replaced_by(HeapTupleHeader version)
{
	if ((version->t_infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(version->t_infomask))
		return InvalidTransactionId;
	return HeapTupleHeaderGetUpdateXid(version);
}

Uncommitted
flake_uncommitted(Oid relation, Oid file)
{
	Uncommitted result = {0};
	Relation	classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	version;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	scan = systable_beginscan(classes, ClassOidIndexId, true, SnapshotAny, 1, &key);
	while (HeapTupleIsValid(version = systable_getnext(scan)))
	{
		TransactionId maker = HeapTupleHeaderGetXmin(version->t_data);
		bool		is_uncommitted = TransactionIdIsInProgress(maker);

		result.changed |= is_uncommitted || TransactionIdIsInProgress(replaced_by(version->t_data));
		result.other_file |= is_uncommitted && !TransactionIdIsCurrentTransactionId(maker) &&
			((Form_pg_class) GETSTRUCT(version))->relfilenode != file;
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return result;
}

Oid
flake_relation_owner(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}
