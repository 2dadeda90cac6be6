/*-------------------------------------------------------------------------
 *
 * known.c
 *	  What several commands name, and that it stays the same.
 *
 * This is rule E1 of execute_steps.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "trust/known.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The name points into the tuple. */
static Known
read_known(SysCacheIdentifier kind, HeapTuple tuple)
{
	void	   *form = GETSTRUCT(tuple);

	switch (kind)
	{
		case NAMESPACEOID:
			return (Known)
			{
				.name = NameStr(((Form_pg_namespace) form)->nspname)
			};
		case RELOID:
			return (Known)
			{
				.name = NameStr(((Form_pg_class) form)->relname),.schema = ((Form_pg_class) form)->relnamespace,.owner = ((Form_pg_class) form)->relowner
			};
		default:
			Assert(kind == TYPEOID);
			return (Known)
			{
				.name = NameStr(((Form_pg_type) form)->typname),.schema = ((Form_pg_type) form)->typnamespace,.owner = ((Form_pg_type) form)->typowner
			};
	}
}

Known
flake_look_at(SysCacheIdentifier kind, Oid oid)
{
	Known		known = {0};
	HeapTuple	tuple = SearchSysCache1(kind, ObjectIdGetDatum(oid));

	if (HeapTupleIsValid(tuple))
	{
		known = read_known(kind, tuple);
		known.name = pstrdup(known.name);
		ReleaseSysCache(tuple);
	}
	known.oid = oid;
	return known;
}

/* There may be thousands, each looked at again thousands of times: nothing is allocated. */
static bool
is_same(SysCacheIdentifier kind, const Known *known)
{
	HeapTuple	tuple = SearchSysCache1(kind, ObjectIdGetDatum(known->oid));
	Known		now;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	now = read_known(kind, tuple);
	result = known->name != NULL && strcmp(known->name, now.name) == 0 &&
		known->schema == now.schema && known->owner == now.owner;
	ReleaseSysCache(tuple);
	return result;
}

Known *
flake_look_at_all(SysCacheIdentifier kind, ArrayType *array, int *count)
{
	Datum	   *oids;
	Known	   *known;

	deconstruct_array(array, OIDOID, sizeof(Oid), true, TYPALIGN_INT, &oids,
					  NULL, count);
	known = palloc(Max(*count, 1) * sizeof(Known));
	for (int i = 0; i < *count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		known[i] = flake_look_at(kind, DatumGetObjectId(oids[i]));
	}
	return known;
}

void
flake_changed_meanwhile(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s was changed meanwhile", what),
			 errdetail("Something that was executed, such as a function in a check or an index, has renamed, dropped or replaced it.")));
}

/* E1 */
void
flake_check_known(SysCacheIdentifier kind, const Known *known, int count, const char *what)
{
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_same(kind, &known[i]))
			flake_changed_meanwhile(psprintf("%s \"%s\"", what,
											 known[i].name != NULL ? known[i].name : "?"));
	}
}

OwnExtension
flake_look_at_extension(Oid function)
{
	OwnExtension own;

	own.function = function;
	own.extension = getExtensionOfObject(ProcedureRelationId, function);

	/*
	 * G2 once more: a ticket can outlive the lock that it stands for, if a
	 * subtransaction is undone.
	 */
	if (OidIsValid(own.extension))
		LockDatabaseObject(ExtensionRelationId, own.extension, 0, AccessShareLock);
	if (getExtensionOfObject(ProcedureRelationId, function) != own.extension)
		own.extension = InvalidOid;
	own.schema = flake_look_at(NAMESPACEOID, get_func_namespace(function));
	return own;
}

/* E1 */
void
flake_check_extension(const OwnExtension *own)
{
	if (!OidIsValid(own->extension) ||
		getExtensionOfObject(ProcedureRelationId, own->function) != own->extension)
		flake_changed_meanwhile("extension \"flakeid\"");
	flake_check_known(NAMESPACEOID, &own->schema, 1, "schema");
}
