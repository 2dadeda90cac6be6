/*-------------------------------------------------------------------------
 *
 * migrate_all.c
 *	  A procedure that migrates all columns of schemas, in many transactions.
 *
 * A procedure that commits cannot have a search_path of its own, so in PL/pgSQL
 * its names would be resolved in the caller's; and between its transactions the
 * extension is not locked, so its schema could get another meaning there.  So the
 * procedure is in C, and names nothing.  Each of its transactions is one call of
 * _flake_migrate_group(), which is found anew by the schema's OID, and obeys G1 to
 * G7 of trust/guard.c like every function that executes commands.  That function
 * keeps what it has to know for the next call in a value that it returns.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_migrate_all);

#define ARGUMENTS 5

static const char *const argument_names[ARGUMENTS] =
{"schemas", "shard", "generator", "dry_run", "drop_sequence"};

/* The owner of a function, of which others can make one of the same name. */
static Oid
function_owner(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * _flake_migrate_group(), as it is in this transaction; it stays to the end of it.
 * The extension can have been dropped since the last one.
 */
static Oid
group_function(Oid procedure, Oid extension)
{
	static const Oid types[] = {JSONBOID, NAMEARRAYOID, INT4OID, REGCLASSOID,
	BOOLOID, BOOLOID};
	Oid			found;

	if (OidIsValid(extension))
		LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
	found = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							CStringGetDatum("_flake_migrate_group"),
							PointerGetDatum(buildoidvector(types, lengthof(types))),
							ObjectIdGetDatum(get_func_namespace(procedure)));
	if (!OidIsValid(extension) || !OidIsValid(found) ||
		getExtensionOfObject(ProcedureRelationId, procedure) != extension ||
		getExtensionOfObject(ProcedureRelationId, found) != extension ||
		function_owner(found) != function_owner(procedure))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"flakeid\" does not exist"),
				 errdetail("It was dropped while the procedure was called.")));
	return found;
}

/*
 * flake_migrate_all(schemas name[], shard int, generator regclass,
 *	dry_run boolean, drop_sequence boolean)
 *
 * Calls _flake_migrate_group() until it returns null, with what it returned the
 * last time, and commits after each call.  A dry run in a transaction block, or in a
 * function, cannot do that.
 */
Datum
flake_migrate_all(PG_FUNCTION_ARGS)
{
	Oid			procedure = fcinfo->flinfo->fn_oid;
	Oid			extension = getExtensionOfObject(ProcedureRelationId, procedure);
	CallContext *context = (CallContext *) fcinfo->context;
	bool		is_atomic = context == NULL || !IsA(context, CallContext) || context->atomic;
	NullableDatum arguments[ARGUMENTS];
	Datum		state = (Datum) 0;
	bool		has_state = false;
	bool		dry_run;
	MemoryContext kept;
	MemoryContext call;

	for (int i = 0; i < ARGUMENTS; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument \"%s\" must not be null", argument_names[i])));
	}
	dry_run = PG_GETARG_BOOL(3);
	if (!dry_run)
		PreventCommandIfReadOnly("flake_migrate_all()");
	if (is_atomic && !dry_run)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("flake_migrate_all() cannot run inside a transaction block or function"),
				 errdetail("It commits after each group of tables."),
				 errhint("Call it by itself, or with dry_run, or use flake_migrate().")));

	/*
	 * What is allocated here outlives the transactions.  That an argument was
	 * read from a table keeps nobody from changing that later.
	 */
	if (SPI_connect_ext(is_atomic ? 0 : SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	kept = CurrentMemoryContext;
	memcpy(arguments, fcinfo->args, sizeof(arguments));
	arguments[0].value = PointerGetDatum(PG_DETOAST_DATUM_COPY(arguments[0].value));
	call = AllocSetContextCreate(kept, "flake_migrate_all", ALLOCSET_DEFAULT_SIZES);
	for (;;)
	{
		FunctionCallInfo group;
		FmgrInfo	function;
		Datum		result;

		MemoryContextSwitchTo(call);
		EnsurePortalSnapshotExists();
		group = palloc(SizeForFunctionCallInfo(ARGUMENTS + 1));
		fmgr_info(group_function(procedure, extension), &function);
		InitFunctionCallInfoData(*group, &function, ARGUMENTS + 1, InvalidOid, NULL, NULL);
		group->args[0].value = state;
		group->args[0].isnull = !has_state;
		for (int i = 0; i < ARGUMENTS; i++)
			group->args[i + 1] = arguments[i];
		result = FunctionCallInvoke(group);
		if (group->isnull)
			break;

		MemoryContextSwitchTo(kept);
		if (has_state)
			pfree(DatumGetPointer(state));
		state = PointerGetDatum(PG_DETOAST_DATUM_COPY(result));
		has_state = true;
		MemoryContextReset(call);
		if (is_atomic)
			CommandCounterIncrement();
		else
			SPI_commit();
	}
	SPI_finish();
	PG_RETURN_VOID();
}
