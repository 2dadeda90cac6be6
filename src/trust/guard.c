/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  SQL functions that keep names from coming to mean something else while
 *	  functions in PL/pgSQL use them.
 *
 * PL/pgSQL resolves a name each time that it plans an expression, and a command
 * that it executes resolves its names when it is executed.  In between, the name
 * can come to mean another object: the owner of a schema can rename it and make
 * another, an extension's owner can drop it and put something else in its place,
 * and a function that waits for a lock gives them time.  So that no text of the
 * extension means anything but the extension's own objects:
 *
 *	G1	A function in PL/pgSQL is called by one in SQL, whose body was parsed when
 *		the extension was created: it calls by OID.  It first calls flake_guard().
 *	G2	flake_guard() locks the extension, as a command that drops it would, and
 *		the schema and its row in pg_namespace, as a command that renames it would.
 *		They stay locked to the end of the transaction.  Then it compares the
 *		schema's name with the one that was written into the functions.
 *	G3	The functions in PL/pgSQL have a parameter of type flake_ticket, of which
 *		only flake_guard() makes values.  So nobody can call them without it.
 *	G4	They call with arguments of exactly the declared types, so that no other
 *		function in the schema fits better.
 *	G5	Their variables have types of pg_catalog, which are qualified (make lint).  PL/pgSQL
 *		keeps what it has compiled, and anybody can have it compile a function in
 *		any search_path: plpgsql_validator() is there for all.
 *	G6	They look at the catalogs with a new snapshot each time, as PostgreSQL
 *		does when it executes a command, not with that of the transaction.  So
 *		what is looked at after a lock is what is executed.
 *	G7	A schema's owner can have renamed it in a transaction that is open, and go on
 *		to drop it there.  So while a schema is waited for, no lock of another one is
 *		taken, nor of itself: he waits for nobody.  (ALTER SCHEMA locks the row; and
 *		the schema as well only in newer minor versions of PostgreSQL.)
 *
 * Locks keep other transactions away, but not what is executed in this one.  For
 * that see execute_steps.c.
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
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "trust/guard.h"
#include "trust/relation.h"
#include "trust/role.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(flake_ticket_in);
PG_FUNCTION_INFO_V1(flake_ticket_out);
PG_FUNCTION_INFO_V1(flake_guard);
PG_FUNCTION_INFO_V1(flake_guard_schemas);
PG_FUNCTION_INFO_V1(flake_guard_relation);
PG_FUNCTION_INFO_V1(flake_guard_definition);

/* _flake_ticket_in(cstring) returns _flake_ticket */
Datum
flake_ticket_in(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot accept a value of type %s", "_flake_ticket"),
			 errdetail("Functions with such an argument are called by other functions of flakeid.")));
	PG_RETURN_NULL();
}

/* _flake_ticket_out(_flake_ticket) returns cstring */
Datum
flake_ticket_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(pstrdup("ticket"));
}

/* The lock that a command takes which drops a schema; false if that would mean waiting. */
static bool
lock_schema(Oid schema, bool wait)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, NamespaceRelationId, schema, 0);
	if (LockAcquire(&tag, AccessShareLock, false, !wait) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	AcceptInvalidationMessages();
	return true;
}

static void
unlock_schemas(const Oid *schemas, int count)
{
	for (int i = 0; i < count; i++)
		UnlockDatabaseObject(NamespaceRelationId, schemas[i], 0, AccessShareLock);
}

/*
 * A transaction that has renamed or dropped a schema and has not ended, or
 * InvalidTransactionId.
 *
 * The name is a unique key, so a change of it conflicts with lock_row(), and a change of
 * privileges does not.
 */
static TransactionId
find_writer(Relation namespaces, Oid schema)
{
	TransactionId writer = InvalidTransactionId;
	SnapshotData dirty;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	InitDirtySnapshot(dirty);
	ScanKeyInit(&key, Anum_pg_namespace_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(schema));
	scan = systable_beginscan(namespaces, NamespaceOidIndexId, true, &dirty, 1, &key);
	while (!TransactionIdIsValid(writer) && HeapTupleIsValid(row = systable_getnext(scan)))
	{
		if ((row->t_data->t_infomask2 & HEAP_KEYS_UPDATED) != 0)
			writer = TransactionIdIsValid(dirty.xmax) ? dirty.xmax : dirty.xmin;
	}
	systable_endscan(scan);
	return writer;
}

/*
 * Locks the row of a schema, as a reference to its name would.  False if it does not
 * exist.
 */
static bool
lock_row(Relation namespaces, Oid schema)
{
	TupleTableSlot *slot = table_slot_create(namespaces, NULL);
	bool		exists;

	for (;;)
	{
		HeapTuple	tuple = SearchSysCacheCopy1(NAMESPACEOID,
												ObjectIdGetDatum(schema));
		TM_FailureData failure;
		TM_Result	result;

		exists = HeapTupleIsValid(tuple);
		if (!exists)
			break;

		/*
		 * A transaction that has changed only privileges has made another
		 * version of the row, and can go on to change the name there: so that
		 * one is locked, too.
		 */
		result = table_tuple_lock(namespaces, &tuple->t_self,
								  GetActiveSnapshot(), slot,
								  GetCurrentCommandId(false),
								  LockTupleKeyShare, LockWaitBlock,
								  TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS,
								  &failure);
		heap_freetuple(tuple);
		if (result != TM_Updated && result != TM_Deleted)
			break;

		/* Somebody has changed or dropped it meanwhile: look again. */
		CHECK_FOR_INTERRUPTS();
		AcceptInvalidationMessages();
	}
	ExecDropSingleTupleTableSlot(slot);
	return exists;
}

/*
 * Locks schemas against being dropped, if nobody is just dropping or renaming one.  Only
 * the first is waited for, while no other is locked.  Otherwise none is: the result is
 * the number of one that is in use, and *writer is to be waited for, if it is valid.
 */
static int
lock_schemas(Relation namespaces, const Oid *schemas, int count, TransactionId *writer)
{
	*writer = InvalidTransactionId;
	for (int i = 0; i < count; i++)
	{
		bool		is_locked;

		CHECK_FOR_INTERRUPTS();
		is_locked = lock_schema(schemas[i], i == 0);
		if (is_locked)
			*writer = find_writer(namespaces, schemas[i]);
		if (!is_locked || TransactionIdIsValid(*writer))
		{
			unlock_schemas(schemas, is_locked ? i + 1 : i);
			return i;
		}
	}
	return count;
}

/*
 * Guards schemas, all at once or none (G7).  The result is one that does not exist, or
 * InvalidOid.
 */
static Oid
guard_schemas(Oid *schemas, int count)
{
	Relation	namespaces = table_open(NamespaceRelationId, RowShareLock);
	TimestampTz began = GetCurrentTimestamp();
	Oid			missing = InvalidOid;
	TransactionId writer;
	int			busy;

	while ((busy = lock_schemas(namespaces, schemas, count, &writer)) < count)
	{
		Oid			schema = schemas[busy];

		if (LockTimeout > 0 &&
			TimestampDifferenceExceeds(began, GetCurrentTimestamp(), LockTimeout))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("canceling statement due to lock timeout")));
		if (TransactionIdIsValid(writer))
			XactLockTableWait(writer, NULL, NULL, XLTW_None);
		schemas[busy] = schemas[0];
		schemas[0] = schema;
		CHECK_FOR_INTERRUPTS();
	}
	for (int i = 0; i < count && !OidIsValid(missing); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!lock_row(namespaces, schemas[i]))
			missing = schemas[i];
	}
	table_close(namespaces, NoLock);
	return missing;
}

bool
flake_guard_schema(Oid schema)
{
	return !OidIsValid(guard_schemas(&schema, 1));
}

/*
 * _flake_guard(schema text) returns _flake_ticket
 *
 * schema is that of the extension as it was when the extension was created, as
 * SQL has to have it.
 */
Datum
flake_guard(PG_FUNCTION_ARGS)
{
	char	   *schema = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Oid			function = fcinfo->flinfo->fn_oid;
	Oid			extension = getExtensionOfObject(ProcedureRelationId, function);
	Oid			namespace;

	PreventCommandDuringRecovery("a function of flakeid that executes commands");

	/* G6 */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot execute a function of flakeid that executes commands in a transaction that does not see what others have committed meanwhile"),
				 errhint("Use isolation level READ COMMITTED.")));

	/* G2 */
	if (OidIsValid(extension))
		LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
	namespace = get_func_namespace(function);
	if (!OidIsValid(extension) ||
		getExtensionOfObject(ProcedureRelationId, function) != extension ||
		!flake_guard_schema(namespace))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"flakeid\" does not exist"),
				 errdetail("It was dropped while the function was called.")));
	if (strcmp(strVal(linitial(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)))),
			   get_namespace_name(namespace)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the schema of extension \"flakeid\" was renamed"),
				 errdetail("The extension was created in schema %s, which is now called %s.",
						   schema, quote_identifier(get_namespace_name(namespace))),
				 errhint("Give the schema its old name with ALTER SCHEMA ... RENAME TO.")));
	PG_RETURN_OID(extension);
}

Oid *
flake_oid_array(ArrayType *array, int *count)
{
	Datum	   *datums;
	Oid		   *oids;

	deconstruct_array(array, OIDOID, sizeof(Oid), true, TYPALIGN_INT, &datums,
					  NULL, count);
	oids = palloc(*count * sizeof(Oid));
	for (int i = 0; i < *count; i++)
		oids[i] = DatumGetObjectId(datums[i]);
	return oids;
}

/*
 * _flake_guard_schemas(ticket _flake_ticket, schemas oid[]) returns void
 *
 * Keeps schemas from being renamed and dropped by others until the end of the
 * transaction.  That is for a user who may do something there.
 */
Datum
flake_guard_schemas(PG_FUNCTION_ARGS)
{
	int			count;
	Oid		   *schemas = flake_oid_array(PG_GETARG_ARRAYTYPE_P(1), &count);
	Oid			missing;

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (get_namespace_name(schemas[i]) != NULL &&
			flake_schema_aclcheck(schemas[i], GetUserId(), ACL_USAGE) != ACLCHECK_OK &&
			flake_schema_aclcheck(schemas[i], GetUserId(), ACL_CREATE) != ACLCHECK_OK)
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA,
						   get_namespace_name(schemas[i]));
	}
	missing = guard_schemas(schemas, count);
	if (OidIsValid(missing))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema with OID %u does not exist", missing),
				 errdetail("It was dropped meanwhile.")));
	PG_RETURN_VOID();
}

/* What LOCK TABLE takes. */
static bool
is_table_or_view(Oid relation)
{
	char		relkind = get_rel_relkind(relation);

	return relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE ||
		relkind == RELKIND_VIEW;
}

void
flake_check_lockable(Oid relation, LOCKMODE mode)
{
	if (mode != AccessShareLock && !is_table_or_view(relation) &&

	/* Its owner can lock a foreign table by ALTER TABLE. */
		!(get_rel_relkind(relation) == RELKIND_FOREIGN_TABLE &&
		  flake_acts_as(GetUserId(), flake_relation_owner(relation))))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot lock \"%s\"", get_rel_name(relation)),
				 errdetail("It is no table and no view.")));
	if (mode != AccessShareLock &&
		!flake_acts_as(GetUserId(), flake_relation_owner(relation)))
	{
		Oid			schema = get_rel_namespace(relation);
		AclResult	result = flake_schema_aclcheck(schema, GetUserId(), ACL_USAGE);

		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_SCHEMA, get_namespace_name(schema));
		result = pg_class_aclcheck(relation, GetUserId(),
								   ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE);
		if (result != ACLCHECK_OK)
			aclcheck_error(result, get_relkind_objtype(get_rel_relkind(relation)),
						   get_rel_name(relation));
	}
}

/*
 * Locks a relation until the end of the transaction.  False if it does not exist
 * (any more).
 */
static bool
lock_relation(Oid relation, LOCKMODE mode)
{
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
		return false;
	flake_check_lockable(relation, mode);
	LockRelationOid(relation, mode);
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation));
}

/*
 * _flake_guard_relation(ticket _flake_ticket, relation oid, exclusive boolean)
 *	returns boolean
 *
 * Keeps others from renaming, changing and dropping a relation of any kind until
 * the end of the transaction.
 */
Datum
flake_guard_relation(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(lock_relation(PG_GETARG_OID(1),
								 PG_GETARG_BOOL(2) ? AccessExclusiveLock : AccessShareLock));
}

/*
 * _flake_guard_definition(ticket _flake_ticket, relation oid) returns boolean
 *
 * The same for a table whose partitions are to be changed.  Rows are read and
 * written by others meanwhile.  Who comes here first has not locked it yet, so two
 * do not wait for each other when they go on to lock it in a stronger mode.
 */
Datum
flake_guard_definition(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(lock_relation(PG_GETARG_OID(1), ShareUpdateExclusiveLock));
}
