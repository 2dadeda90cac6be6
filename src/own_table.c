/*-------------------------------------------------------------------------
 *
 * own_table.c
 *	  The extension's own tables, which only its functions write; and doing
 *	  things as another role.
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

PG_FUNCTION_INFO_V1(flake_execute_as);

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

/*
 * flake_execute_as(role oid, command text) returns void
 *
 * What the command calls can neither become the caller again nor change his
 * settings, as with CREATE INDEX and the like on a table of another role.
 */
Datum
flake_execute_as(PG_FUNCTION_ARGS)
{
	Oid			role = PG_GETARG_OID(0);
	char	   *command = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Oid			user;
	int			security_context;
	int			guc_level;
	int			result;

	/* A superuser passes as a member of a role that does not exist. */
	(void) GetUserNameFromId(role, false);
#if PG_VERSION_NUM >= 160000
	check_can_set_role(GetUserId(), role);
#else
	check_is_member_of_role(GetUserId(), role);
#endif

	/* If this fails, the end of the transaction sets all of it back. */
	GetUserIdAndSecContext(&user, &security_context);
	SetUserIdAndSecContext(role, security_context | SECURITY_RESTRICTED_OPERATION);
	guc_level = NewGUCNestLevel();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	result = SPI_execute(command, false, 0);
	if (result < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot execute \"%s\" as another role", command),
				 errdetail_internal("%s", SPI_result_code_string(result))));
	SPI_finish();
	AtEOXact_GUC(false, guc_level);
	SetUserIdAndSecContext(user, security_context);
	PG_RETURN_VOID();
}
