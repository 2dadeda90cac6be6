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
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "trust/known.h"
#include "trust/relation.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

Known
flake_look_at_schema(Oid oid)
{
	Known		known = {.oid = oid};

	known.name = get_namespace_name(oid);
	return known;
}

Known
flake_look_at_relation(Oid oid)
{
	Known		known = {.oid = oid};

	known.name = get_rel_name(oid);
	if (known.name != NULL)
	{
		known.schema = get_rel_namespace(oid);
		known.owner = flake_relation_owner(oid);
	}
	return known;
}

Known
flake_look_at_type(Oid oid)
{
	Known		known = {.oid = oid};
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(oid));

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_type form = (Form_pg_type) GETSTRUCT(tuple);

		known.name = pstrdup(NameStr(form->typname));
		known.schema = form->typnamespace;
		known.owner = form->typowner;
		ReleaseSysCache(tuple);
	}
	return known;
}

static bool
is_same(const Known *a, const Known *b)
{
	return a->name != NULL && b->name != NULL && strcmp(a->name, b->name) == 0 &&
		a->schema == b->schema && a->owner == b->owner;
}

Known *
flake_look_at_all(ArrayType *array, Known (*look_at) (Oid oid), int *count)
{
	Datum	   *oids;
	Known	   *known;

	deconstruct_array(array, OIDOID, sizeof(Oid), true, TYPALIGN_INT, &oids,
					  NULL, count);
	known = palloc(Max(*count, 1) * sizeof(Known));
	for (int i = 0; i < *count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		known[i] = look_at(DatumGetObjectId(oids[i]));
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
flake_check_known(const Known *known, int count, Known (*look_at) (Oid oid),
				  const char *kind)
{
	for (int i = 0; i < count; i++)
	{
		Known		now;

		CHECK_FOR_INTERRUPTS();
		now = look_at(known[i].oid);
		if (!is_same(&known[i], &now))
			flake_changed_meanwhile(psprintf("%s \"%s\"", kind,
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
	own.schema = flake_look_at_schema(get_func_namespace(function));
	return own;
}

/* E1 */
void
flake_check_extension(const OwnExtension *own)
{
	if (!OidIsValid(own->extension) ||
		getExtensionOfObject(ProcedureRelationId, own->function) != own->extension)
		flake_changed_meanwhile("extension \"flakeid\"");
	flake_check_known(&own->schema, 1, flake_look_at_schema, "schema");
}
