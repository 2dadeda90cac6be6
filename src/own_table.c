/*-------------------------------------------------------------------------
 *
 * own_table.c
 *	  The extension's own tables, which only its functions write.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "own_table.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/*
 * For a parallel worker, whose relcache does not know what its leader did:
 * whether a relation is older than this transaction.  If so, there is a version
 * of its pg_class row that is; and if the transaction has given it another file,
 * has replaced one with another file.
 */
static bool
is_older(Relation rel, bool *has_new_file)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		older = false;

	*has_new_file = false;
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationGetRelid(rel)));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, SnapshotAny, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);
		TransactionId xmax = HeapTupleHeaderGetUpdateXid(tuple->t_data);

		if (TransactionIdIsCurrentTransactionId(xmin))
			continue;
		older = true;
		if (TransactionIdIsCurrentTransactionId(xmax) &&
			((Form_pg_class) GETSTRUCT(tuple))->relfilenode != rel->rd_rel->relfilenode)
			*has_new_file = true;
	}
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return older;
}

bool
flake_is_new(Relation rel)
{
	bool		has_new_file;

	if (IsParallelWorker())
		return !is_older(rel, &has_new_file);
	return rel->rd_createSubid != InvalidSubTransactionId;
}

bool
flake_has_new_file(Relation rel)
{
	bool		has_new_file;

	if (IsParallelWorker())
	{
		(void) is_older(rel, &has_new_file);
		return has_new_file;
	}
#if PG_VERSION_NUM >= 160000
	return rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
	return rel->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

Oid
flake_own_relation(const char *name, Oid function)
{
	Oid			relation = get_relname_relid(name, get_func_namespace(function));

	if (!OidIsValid(relation))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" does not exist", name),
				 errdetail("It belongs to extension \"flakeid\"."),
				 errhint("Create the extension again.")));
	return relation;
}

char *
flake_own_relation_name(const char *name, Oid function)
{
	return quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
									  name);
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

uint64
flake_execute_as_owner(Oid table, const char *statement, int nargs, Oid *types,
					   Datum *values, const char *nulls)
{
	Oid			user;
	int			security_context;

	/* If this fails, the end of the transaction sets the user back. */
	GetUserIdAndSecContext(&user, &security_context);
	SetUserIdAndSecContext(flake_relation_owner(table),
						   security_context | SECURITY_LOCAL_USERID_CHANGE);
	if (SPI_execute_with_args(statement, nargs, types, values, nulls, false, 0) < 0)
		elog(ERROR, "could not execute \"%s\"", statement);
	SetUserIdAndSecContext(user, security_context);
	return SPI_processed;
}
