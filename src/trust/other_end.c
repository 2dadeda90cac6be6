/*-------------------------------------------------------------------------
 *
 * other_end.c
 *	  The tables at the other end of foreign keys.
 *
 * To check a foreign key, PostgreSQL plans a query of both tables, as the role
 * that makes the key, and evaluates what is constant in their expressions.  So
 * these must not be somebody else's code:
 *
 *	E3	If a command makes a foreign key, the table at the other end has no
 *		expressions that name functions or operators which are not PostgreSQL's,
 *		unless that table's owner is a superuser or may be the role.
 *
 * E1 and E2 are in execute_steps.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "trust/known.h"
#include "trust/other_end.h"
#include "trust/relation.h"
#include "trust/role.h"
#include "trust/step.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Calls a function of the extension that has an OID and one thing more. */
static Datum
call_own(const char *name, Oid type, Oid relation, Datum argument, Oid function,
		 bool *isnull)
{
	FunctionCallInfo call = palloc0(SizeForFunctionCallInfo(2));
	Oid			types[2] = {OIDOID, type};
	char	   *schema = get_namespace_name(get_func_namespace(function));
	List	   *names = lappend(NIL, makeString(schema));
	Oid			callee;
	FmgrInfo	flinfo;
	Datum		result;

	if (schema == NULL)
		flake_changed_meanwhile("extension \"flakeid\"");
	names = lappend(names, makeString(pstrdup(name)));
	callee = LookupFuncName(names, 2, types, false);
	if (getExtensionOfObject(ProcedureRelationId, callee) !=
		getExtensionOfObject(ProcedureRelationId, function))
		flake_changed_meanwhile("extension \"flakeid\"");
	fmgr_info(callee, &flinfo);
	InitFunctionCallInfoData(*call, &flinfo, 2, InvalidOid, NULL, NULL);
	call->args[0].value = ObjectIdGetDatum(relation);
	call->args[0].isnull = false;
	call->args[1].value = argument;
	call->args[1].isnull = false;
	result = FunctionCallInvoke(call);
	*isnull = call->isnull;
	return result;
}

/*
 * A table and its partitions.  They are locked as a command that makes a foreign
 * key to or from the table does: after that, others can make neither an index nor
 * statistics.  The caller of all this has locked them at least so before, all at
 * once (lock_all.c), as far as he could look them up.
 */
static List *
table_and_partitions(Oid relation)
{
	LockRelationOid(relation, ShareRowExclusiveLock);
	if (get_rel_relkind(relation) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(relation);
	return find_all_inheritors(relation, ShareRowExclusiveLock, NULL);
}

/*
 * Whether a role can have a table locked that belongs to another: to make a
 * foreign key that refers to it, or because a foreign key of it refers to a table
 * of the role's, or because it is a partition of one.
 */
static bool
may_lock(Oid role, Oid relation)
{
	Relation	rel;
	ListCell   *cell;
	bool		result = false;

	if (pg_class_aclcheck(relation, role, ACL_REFERENCES) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relation, role, ACL_REFERENCES,
								  ACLMASK_ANY) == ACLCHECK_OK)
		return true;
	rel = try_relation_open(relation, AccessShareLock);
	if (rel == NULL)
		return false;
	foreach(cell, RelationGetFKeyList(rel))
		result |= flake_relation_owner(lfirst_node(ForeignKeyCacheInfo, cell)->confrelid) == role;
	if (rel->rd_rel->relispartition)
		result |= flake_relation_owner(get_partition_parent(relation, true)) == role;
	relation_close(rel, AccessShareLock);
	return result;
}

/*
 * E3: for foreign keys that connect a relation with those of the next command; or
 * for those that connect others with a relation through a column, whose owner
 * could make them anew.
 *
 * The lock keeps the other table's owner from writing anything into it now.  The
 * next command needs a lock of it, too, so a role that cannot have it is told so.
 */
void
flake_check_other_end(const Step *step, Oid function)
{
	Datum	   *others;
	int			count = 1;
	bool		isnull;

	/* What was executed, and what others have committed, counts. */
	CommandCounterIncrement();
	if (step->column != NULL)
	{
		NameData	column;
		Datum		linked;

		namestrcpy(&column, step->column);
		PushActiveSnapshot(GetLatestSnapshot());
		linked = call_own("_flake_linked", NAMEOID, step->relation_oid,
						  NameGetDatum(&column), function, &isnull);
		PopActiveSnapshot();
		deconstruct_array(DatumGetArrayTypeP(linked), OIDOID, sizeof(Oid), true,
						  TYPALIGN_INT, &others, NULL, &count);
	}
	else
	{
		others = palloc(sizeof(Datum));
		others[0] = ObjectIdGetDatum(OidIsValid(step->relation_oid) ? step->relation_oid
									 : RangeVarGetRelid(step->relation, NoLock, true));
	}

	for (int i = 0; i < count; i++)
	{
		Oid			relation = DatumGetObjectId(others[i]);
		char	   *name = get_rel_name(relation);
		bool		all_trusted = true;
		List	   *tables;
		ListCell   *cell;

		if (name == NULL)
			flake_changed_meanwhile("the table of a foreign key");
		if (!flake_acts_as(GetUserId(), step->column != NULL
						   ? flake_relation_owner(step->relation_oid) : step->role) ||
			(step->column == NULL && !may_lock(step->role, relation)))
			aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relation)), name);
		tables = table_and_partitions(relation);

		/* The next command finds it by the name. */
		if (!OidIsValid(step->relation_oid) &&
			RangeVarGetRelid(step->relation, NoLock, true) != relation)
			flake_changed_meanwhile(psprintf("relation \"%s\"", name));
		if (get_rel_relispartition(relation))
			tables = list_concat(tables, get_partition_ancestors(relation));
		foreach(cell, tables)
		{
			Oid			table = lfirst_oid(cell);

			/* Only to be quick: it looks at this again. */
			if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)) &&
				!flake_may_become(flake_relation_owner(table), step->role))
				all_trusted = false;
		}
		if (all_trusted)
			continue;
		PushActiveSnapshot(GetLatestSnapshot());
		(void) call_own("_flake_foreign_code", OIDOID, relation,
						ObjectIdGetDatum(step->role), function, &isnull);
		PopActiveSnapshot();
		if (!isnull)
			flake_changed_meanwhile(psprintf("relation \"%s\"", name));
	}
}
