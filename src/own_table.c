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

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "own_table.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

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
