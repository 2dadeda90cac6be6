/*-------------------------------------------------------------------------
 *
 * execute.c
 *	  SQL functions that execute commands as another role: downwards only, as a
 *	  role that the current user may be.
 *
 * What such a command executes of the other role's (a check, the expression of an
 * index, an event) runs in this transaction, whose locks do not keep it from
 * anything.  It can rename what the next commands name, or put something else in
 * its place.  So several commands are executed by one call, which resolves
 * nothing by name in between, and before each of them
 *
 *	E1	the extension, the schemas, the relations and the types that the commands
 *		name are still the same, with the same names and owners; so are the
 *		relations that earlier commands have made; and
 *	E2	the relation that the command is about belongs to the role that it is
 *		executed as; and
 *	E3	if it makes a foreign key, the table at the other end has no expressions
 *		that name functions or operators which are not PostgreSQL's, unless that
 *		table's owner is a superuser or may be the role: to check the key,
 *		PostgreSQL plans a query of both tables as the role, and evaluates what
 *		is constant in them.
 *
 * The caller of all this checks E3 once more beforehand, to say what is wrong.
 *
 * Commands that execute nothing of anybody, and may need more rights than an
 * owner has, can be the current user's own; then E2 is about the OID alone, which
 * must be given.  Nor is the role changed if the current user may not be the
 * owner: then PostgreSQL says what he may not do.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_expr.h"
#include "parser/parse_func.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "trust/guard.h"
#include "trust/own_table.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(flake_execute_as);
PG_FUNCTION_INFO_V1(flake_execute_steps);
PG_FUNCTION_INFO_V1(flake_rebind);
PG_FUNCTION_INFO_V1(flake_trusts);

/* Executes a command; SPI is connected. */
static void
execute(const char *command)
{
	int			result = SPI_execute(command, false, 0);

	if (result < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a function cannot execute \"%s\"", command),
				 errdetail_internal("%s", SPI_result_code_string(result))));
}

/*
 * Executes a command as a role that the current user may be; SPI is connected.
 *
 * What the command calls can neither become the caller again nor change his
 * settings, as with CREATE INDEX and the like on a table of another role.
 */
static void
execute_as(Oid role, const char *command)
{
	Oid			user;
	int			security_context;
	int			guc_level;

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
	execute(command);
	AtEOXact_GUC(false, guc_level);
	SetUserIdAndSecContext(user, security_context);
}

/* _flake_execute_as(role oid, command text) returns void */
Datum
flake_execute_as(PG_FUNCTION_ARGS)
{
	char	   *command = text_to_cstring(PG_GETARG_TEXT_PP(1));

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	execute_as(PG_GETARG_OID(0), command);
	SPI_finish();
	PG_RETURN_VOID();
}


/*
 * Executes a command as a role if the current user can become that.  Else he can
 * execute it himself only if he has not got the role's rights either: then
 * PostgreSQL says what he may not do, before anything of the role's is executed.
 */
static void
execute_as_if_possible(Oid role, const char *command)
{
	if (role != GetUserId() && flake_may_become(GetUserId(), role))
		execute_as(role, command);
	else if (role == GetUserId() || !has_privs_of_role(GetUserId(), role))
		execute(command);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be able to SET ROLE \"%s\"",
						GetUserNameFromId(role, false))));
}

/* What an object was called, where it was, and whose it was, at first. */
typedef struct Known
{
	Oid			oid;
	char	   *name;
	Oid			schema;			/* of a relation or a type */
	Oid			owner;			/* likewise */
} Known;

/* A command, and the relation that it is about. */
typedef struct Step
{
	Oid			role;			/* as which it is executed */
	RangeVar   *relation;		/* or NULL */
	Oid			relation_oid;	/* or InvalidOid for a new one */
	bool		creates;		/* it makes the relation */
	char	   *command;		/* or NULL */
	char	   *column;			/* without a command but with relation_oid */
} Step;

static Known
look_at_schema(Oid oid)
{
	Known		known = {.oid = oid};

	known.name = get_namespace_name(oid);
	return known;
}

static Known
look_at_relation(Oid oid)
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

static Known
look_at_type(Oid oid)
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

static Known *
look_at_all(ArrayType *array, Known (*look_at) (Oid oid), int *count)
{
	Datum	   *oids;
	Known	   *known;

	deconstruct_array(array, OIDOID, sizeof(Oid), true, TYPALIGN_INT, &oids,
					  NULL, count);
	known = palloc(Max(*count, 1) * sizeof(Known));
	for (int i = 0; i < *count; i++)
		known[i] = look_at(DatumGetObjectId(oids[i]));
	return known;
}

/* ERROR: what is executed has led to a change of what is to be executed next. */
static void
changed_meanwhile(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s was changed meanwhile", what),
			 errdetail("Something that was executed, such as a function in a check or an index, has renamed, dropped or replaced it.")));
}

/* E1 */
static void
check_all(const Known *known, int count, Known (*look_at) (Oid oid),
		  const char *kind)
{
	for (int i = 0; i < count; i++)
	{
		Known		now = look_at(known[i].oid);

		if (!is_same(&known[i], &now))
			changed_meanwhile(psprintf("%s \"%s\"", kind,
									   known[i].name != NULL ? known[i].name : "?"));
	}
}

/* Whether a relation was made by this transaction, and belongs to a role. */
static bool
is_new_of(Oid relation, Oid role)
{
	Relation	rel;
	bool		result;

	if (!OidIsValid(relation))
		return false;
	rel = relation_open(relation, AccessShareLock);
	result = flake_is_new(rel) && rel->rd_rel->relowner == role;
	relation_close(rel, NoLock);
	return result;
}

/* The extension that a function belongs to, and its schema. */
typedef struct OwnExtension
{
	Oid			function;
	Oid			extension;
	Known		schema;
} OwnExtension;

static OwnExtension
look_at_extension(Oid function)
{
	OwnExtension own;

	own.function = function;
	own.extension = getExtensionOfObject(ProcedureRelationId, function);
	own.schema = look_at_schema(get_func_namespace(function));
	return own;
}

/* E1 */
static void
check_extension(const OwnExtension *own)
{
	if (!OidIsValid(own->extension) ||
		getExtensionOfObject(ProcedureRelationId, own->function) != own->extension)
		changed_meanwhile("extension \"flakeid\"");
	check_all(&own->schema, 1, look_at_schema, "schema");
}

/* E2 */
static void
check_relation(const Step *step)
{
	Oid			relation;
	bool		is_as_expected;

	if (step->relation == NULL || step->creates)
		return;
	relation = RangeVarGetRelid(step->relation, NoLock, true);
	if (step->relation_oid == InvalidOid)
		is_as_expected = is_new_of(relation, step->role);
	else
		is_as_expected = relation == step->relation_oid &&

		/*
		 * The current user's own command can be about another role's
		 * relation.
		 */
			(step->role == GetUserId() || flake_relation_owner(relation) == step->role);
	if (!is_as_expected)
		changed_meanwhile(psprintf("relation \"%s\"", step->relation->relname));
}

/* E1, E2: a relation that a step has made is to stay the same from now on. */
static void
remember(const Step *step, Known **relations, int *count)
{
	Oid			relation = RangeVarGetRelid(step->relation, NoLock, true);

	if (!is_new_of(relation, step->role))
		changed_meanwhile(psprintf("relation \"%s\"", step->relation->relname));
	*relations = repalloc(*relations, (*count + 1) * sizeof(Known));
	(*relations)[(*count)++] = look_at_relation(relation);
}

/* A relation that a step has dropped is not to stay the same. */
static void
forget_dropped(Oid relation, Known *relations, int *count)
{
	int			kept = 0;

	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
		return;
	for (int i = 0; i < *count; i++)
	{
		if (relations[i].oid != relation)
			relations[kept++] = relations[i];
	}
	*count = kept;
}

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

	names = lappend(names, makeString(pstrdup(name)));
	callee = LookupFuncName(names, 2, types, false);
	if (getExtensionOfObject(ProcedureRelationId, callee) !=
		getExtensionOfObject(ProcedureRelationId, function))
		changed_meanwhile("extension \"flakeid\"");
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
 * statistics.
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
static void
check_other_end(const Step *step, Oid function)
{
	Datum	   *others;
	int			count = 1;
	bool		isnull;

	/* What was executed, and what others have committed, counts. */
	CommandCounterIncrement();
	if (OidIsValid(step->relation_oid))
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
		others[0] = ObjectIdGetDatum(RangeVarGetRelid(step->relation, NoLock, true));
	}

	for (int i = 0; i < count; i++)
	{
		Oid			relation = DatumGetObjectId(others[i]);
		char	   *name = get_rel_name(relation);
		bool		all_trusted = true;
		List	   *tables;
		ListCell   *cell;

		if (name == NULL)
			changed_meanwhile("the table of a foreign key");
		if (!flake_acts_as(GetUserId(), OidIsValid(step->relation_oid)
						   ? flake_relation_owner(step->relation_oid) : step->role) ||
			(!OidIsValid(step->relation_oid) && !may_lock(step->role, relation)))
			aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relation)), name);
		tables = table_and_partitions(relation);
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
			changed_meanwhile(psprintf("relation \"%s\"", name));
	}
}

/* Reads a row of the array of steps: role, relation, its OID, command. */
#define STEP_COLUMNS	4

static Step
read_step(const Datum *values, const bool *nulls)
{
	Step		step = {0};

	if (nulls[0] || (nulls[1] && nulls[3]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a step must have a role, and a relation or a command")));
	step.role = DatumGetObjectId(DirectFunctionCall1(oidin,
													 CStringGetDatum(TextDatumGetCString(values[0]))));
	step.creates = !nulls[2] && strcmp(TextDatumGetCString(values[2]), "new") == 0;
	if (!nulls[2] && !step.creates)
		step.relation_oid = DatumGetObjectId(DirectFunctionCall1(oidin,
																 CStringGetDatum(TextDatumGetCString(values[2]))));
	if (!nulls[2] && !OidIsValid(step.relation_oid) && (nulls[3] || !step.creates))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a step must have the OID of a relation, \"new\" with a command, or null")));
	if (!nulls[3])
		step.command = TextDatumGetCString(values[3]);
	if (nulls[3] && !nulls[2])
		step.column = TextDatumGetCString(values[1]);
	else if (!nulls[1])
		step.relation = makeRangeVarFromNameList(textToQualifiedNameList(DatumGetTextPP(values[1])));
	return step;
}

/*
 * _flake_execute_steps(ticket _flake_ticket, schemas oid[], relations oid[],
 *	types oid[], steps text[], announce boolean) returns void
 *
 * steps is an array of rows (role, relation, its OID, command).  A role is an
 * OID.  A relation is the qualified name, as SQL has to have it, of the one that
 * the command is about, or null.  In place of its OID stands "new" if the command
 * makes it, and null if an earlier one has made it.  The commands name these
 * relations, those of the argument with that name, these types, and what is in
 * these schemas.  With announce there is a NOTICE before each.
 *
 * Without a command, a row is for E3, which the command of the next one needs.
 * Then the relation is the one at the other end of a foreign key that is made or
 * looked at next.  Or if there is an OID, it is that of the table with a column, whose name
 * comes instead, of which foreign keys are made anew.
 */
Datum
flake_execute_steps(PG_FUNCTION_ARGS)
{
	OwnExtension own = look_at_extension(fcinfo->flinfo->fn_oid);
	ArrayType  *steps = PG_GETARG_ARRAYTYPE_P(4);
	bool		announce = PG_GETARG_BOOL(5);
	int			schema_count;
	Known	   *schemas = look_at_all(PG_GETARG_ARRAYTYPE_P(1), look_at_schema,
									  &schema_count);
	int			relation_count;
	Known	   *relations = look_at_all(PG_GETARG_ARRAYTYPE_P(2), look_at_relation,
										&relation_count);
	int			type_count;
	Known	   *types = look_at_all(PG_GETARG_ARRAYTYPE_P(3), look_at_type,
									&type_count);
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int			command_count = 0;
	int			command_number = 0;

	deconstruct_array(steps, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls,
					  &count);
	if (count > 0 && (ARR_NDIM(steps) != 2 || ARR_DIMS(steps)[1] != STEP_COLUMNS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("steps must have %d columns", STEP_COLUMNS)));
	for (int i = 0; i < count; i += STEP_COLUMNS)
		command_count += !nulls[i + STEP_COLUMNS - 1];
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0;; i += STEP_COLUMNS)
	{
		Step		step;

		CHECK_FOR_INTERRUPTS();
		check_extension(&own);
		check_all(schemas, schema_count, look_at_schema, "schema");
		check_all(relations, relation_count, look_at_relation, "relation");
		check_all(types, type_count, look_at_type, "type");
		if (i >= count)
			break;
		step = read_step(&values[i], &nulls[i]);
		if (step.command == NULL)
		{
			check_other_end(&step, own.function);
			continue;
		}
		check_relation(&step);
		if (announce)
			ereport(NOTICE,
					(errmsg("%d/%d: %s", ++command_number, command_count,
							step.command)));
		execute_as_if_possible(step.role, step.command);
		if (step.relation != NULL && step.creates)
			remember(&step, &relations, &relation_count);
		else
			forget_dropped(step.relation_oid, relations, &relation_count);
	}
	SPI_finish();
	PG_RETURN_VOID();
}

/* Columns that are read as if they had another type. */
typedef struct Retyped
{
	Datum	   *relations;
	Datum	   *attributes;
	Datum	   *types;
	int			count;
	PreParseColumnRefHook hook;
} Retyped;

/* A reference to a column, with the type that the column is to have. */
static Node *
retype_column(ParseState *pstate, ColumnRef * reference)
{
	Retyped    *retyped = pstate->p_ref_hook_state;
	Node	   *node;
	Var		   *var;
	RangeTblEntry *rte;

	pstate->p_pre_columnref_hook = NULL;
	node = transformExpr(pstate, (Node *) reference, pstate->p_expr_kind);
	pstate->p_pre_columnref_hook = retyped->hook;
	if (!IsA(node, Var))
		return node;
	var = (Var *) node;
	rte = GetRTEByRangeTablePosn(pstate, var->varno, var->varlevelsup);
	for (int i = 0; rte->rtekind == RTE_RELATION && i < retyped->count; i++)
	{
		if (rte->relid != DatumGetObjectId(retyped->relations[i]) ||
			var->varattno != DatumGetInt16(retyped->attributes[i]))
			continue;
		var->vartype = DatumGetObjectId(retyped->types[i]);
		var->vartypmod = -1;
		var->varcollid = get_typcollation(var->vartype);
	}
	return node;
}

static void
set_up_retyping(ParseState *pstate, void *retyped)
{
	pstate->p_pre_columnref_hook = retype_column;
	pstate->p_ref_hook_state = retyped;
}

/* Adds to a list which functions and operators a tree names. */
static bool
add_named(Node *node, List **named)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			*named = lappend_oid(*named, ((FuncExpr *) node)->funcid);
			break;
		case T_Aggref:
			*named = lappend_oid(*named, ((Aggref *) node)->aggfnoid);
			break;
		case T_WindowFunc:
			*named = lappend_oid(*named, ((WindowFunc *) node)->winfnoid);
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			*named = lappend_oid(*named, ((OpExpr *) node)->opno);
			break;
		case T_ScalarArrayOpExpr:
			*named = lappend_oid(*named, ((ScalarArrayOpExpr *) node)->opno);
			break;
		case T_RowCompareExpr:
			*named = list_concat(*named, ((RowCompareExpr *) node)->opnos);
			break;
		case T_SortGroupClause:
			*named = lappend_oid(*named, ((SortGroupClause *) node)->eqop);
			*named = lappend_oid(*named, ((SortGroupClause *) node)->sortop);
			return false;
		case T_Query:
			return query_tree_walker((Query *) node, add_named, named,
									 QTW_EXAMINE_SORTGROUP);
		default:
			break;
	}
	return expression_tree_walker(node, add_named, named);
}

static Datum
array_of_oids(List *oids)
{
	Datum	   *datums = palloc(Max(list_length(oids), 1) * sizeof(Datum));
	int			count = 0;
	ListCell   *cell;

	foreach(cell, oids)
		datums[count++] = ObjectIdGetDatum(lfirst_oid(cell));
	return PointerGetDatum(construct_array(datums, count, OIDOID, sizeof(Oid),
										   true, TYPALIGN_INT));
}

/*
 * Makes constants with a type null: to read one of a composite type, an array or
 * a range can be to check domains in it, which is to execute what others wrote.
 */
static bool
forget_constants(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, TypeCast) && IsA(((TypeCast *) node)->arg, A_Const))
		((A_Const *) ((TypeCast *) node)->arg)->isnull = true;
	return raw_expression_tree_walker(node, forget_constants, context);
}

/*
 * _flake_rebind(ticket _flake_ticket, query text, relations oid[],
 *	attributes int2[], types oid[]) returns record
 *
 * What a query would mean if columns had other types: the types of its result,
 * and the functions and operators of others than PostgreSQL that it would name.
 * It is parsed, which here executes nothing of anybody, and nothing more.
 */
Datum
flake_rebind(PG_FUNCTION_ARGS)
{
	char	   *definition = text_to_cstring(PG_GETARG_TEXT_PP(1));
	List	   *statements = raw_parser(definition, RAW_PARSE_DEFAULT);
	RawStmt    *statement;
	int			counts[2];
	Retyped		retyped = {.hook = retype_column};
	Query	   *query;
	List	   *types = NIL;
	List	   *all_named = NIL;
	List	   *named = NIL;
	ListCell   *cell;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), OIDOID, sizeof(Oid), true,
					  TYPALIGN_INT, &retyped.relations, NULL, &counts[0]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), INT2OID, sizeof(int16), true,
					  TYPALIGN_SHORT, &retyped.attributes, NULL, &counts[1]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(4), OIDOID, sizeof(Oid), true,
					  TYPALIGN_INT, &retyped.types, NULL, &retyped.count);
	if (list_length(statements) != 1 ||
		!IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt) ||
		counts[0] != retyped.count || counts[1] != retyped.count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("one SELECT and arrays of the same length are needed")));
	statement = linitial_node(RawStmt, statements);
	(void) forget_constants(statement->stmt, NULL);
	query = parse_analyze_withcb(statement, definition, set_up_retyping, &retyped,
								 NULL);

	foreach(cell, query->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (!entry->resjunk)
			types = lappend_oid(types, exprType((Node *) entry->expr));
	}
	(void) add_named((Node *) query, &all_named);
	foreach(cell, all_named)
	{
		if (lfirst_oid(cell) >= FirstUnpinnedObjectId)
			named = list_append_unique_oid(named, lfirst_oid(cell));
	}
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = array_of_oids(types);
	values[1] = array_of_oids(named);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

/* _flake_trusts(role oid, other oid) returns boolean */
Datum
flake_trusts(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(flake_may_become(PG_GETARG_OID(1), PG_GETARG_OID(0)));
}
