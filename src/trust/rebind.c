/*-------------------------------------------------------------------------
 *
 * rebind.c
 *	  A SQL function that parses a query as if columns had other types, and
 *	  executes nothing; and what else looks at queries and commands before that.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_coerce.h"
#include "parser/parse_expr.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "parser/parsetree.h"
#include "trust/named.h"
#include "trust/rebind.h"
#include "trust/slow.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_rebind);

/* Columns that are read as if they had another type. */
typedef struct Retyped
{
	HTAB	   *columns;		/* of RetypedColumn */
	HTAB	   *joined;			/* of JoinedColumn: what was looked up */
	PreParseColumnRefHook hook;
} Retyped;

/* A column of a relation, and the type that it is to have. */
typedef struct RetypedColumn
{
	Oid			relation;		/* key, with the next one */
	int32		attribute;
	Oid			type;
} RetypedColumn;

/* The same of a join, or InvalidOid. */
typedef struct JoinedColumn
{
	uint64		join;			/* key, with the next one: where its entry is */
	int64		column;
	Oid			type;
} JoinedColumn;

static HTAB *
make_table(Size keysize, Size entrysize)
{
	HASHCTL		control = {.keysize = keysize,.entrysize = entrysize,.hcxt = CurrentMemoryContext};

	return hash_create("flakeid retyped columns", 64, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The type that a column of a relation is to have; InvalidOid if it keeps its own. */
static Oid
new_type_of(const Retyped *retyped, Oid relation, AttrNumber attribute)
{
	RetypedColumn key = {.relation = relation,.attribute = attribute};
	RetypedColumn *column = hash_search(retyped->columns, &key, HASH_FIND, NULL);

	return column != NULL ? column->type : InvalidOid;
}

static Oid	new_type_in(ParseState *pstate, const Retyped *retyped, int number, int column);

/* The number of what is on one side of a join. */
static int
side(Node *input)
{
	return IsA(input, JoinExpr) ? ((JoinExpr *) input)->rtindex
		: castNode(RangeTblRef, input)->rtindex;
}

/* What the parser compares, for a column of USING. */
static OpExpr *
comparison_of(const JoinExpr * join, int column)
{
	Node	   *comparison = join->quals;

	if (list_length(join->usingClause) > 1)
		comparison = list_nth(castNode(BoolExpr, comparison)->args, column - 1);
	return castNode(OpExpr, strip_implicit_coercions(comparison));
}

/* One of the two columns that are compared, with the type that it is to have. */
static Node *
retyped_side(ParseState *pstate, const Retyped *retyped, Node *compared, Node *input,
			 int column, bool *changed)
{
	Var		   *var = castNode(Var, strip_implicit_coercions(compared));
	Oid			type = new_type_in(pstate, retyped, side(input), column);

	if (OidIsValid(type))
	{
		var = copyObject(var);
		var->vartype = type;
		var->vartypmod = -1;
		var->varcollid = get_typcollation(type);
		*changed = true;
	}
	return (Node *) var;
}

/* Both of them; NIL if they keep their types. */
static List *
retyped_sides(ParseState *pstate, const Retyped *retyped, JoinExpr * join, int column)
{
	RangeTblEntry *rte = rt_fetch(join->rtindex, pstate->p_rtable);
	List	   *compared = comparison_of(join, column)->args;
	bool		changed = false;
	Node	   *left = retyped_side(pstate, retyped, linitial(compared), join->larg,
									list_nth_int(rte->joinleftcols, column - 1), &changed);
	Node	   *right = retyped_side(pstate, retyped, lsecond(compared), join->rarg,
									 list_nth_int(rte->joinrightcols, column - 1), &changed);

	return changed ? lappend(list_make1(left), right) : NIL;
}

static Oid
new_type_in_join(ParseState *pstate, const Retyped *retyped, int number, int column)
{
	RangeTblEntry *rte = rt_fetch(number, pstate->p_rtable);
	JoinExpr   *join = list_nth_node(JoinExpr, pstate->p_joinexprs, number - 1);
	int			of_left = list_length(rte->joinleftcols);

	if (column <= rte->joinmergedcols)
	{
		List	   *sides = retyped_sides(pstate, retyped, join, column);

		return sides == NIL ? InvalidOid
			: select_common_type(pstate, sides, "JOIN/USING", NULL);
	}
	if (column <= of_left)
		return new_type_in(pstate, retyped, side(join->larg),
						   list_nth_int(rte->joinleftcols, column - 1));
	column += rte->joinmergedcols - of_left;
	return new_type_in(pstate, retyped, side(join->rarg),
					   list_nth_int(rte->joinrightcols, column - 1));
}

/*
 * The type that a column is to have of what a query names: a relation, functions
 * that return rows of one, or a join, which can have merged it.
 */
static Oid
new_type_in(ParseState *pstate, const Retyped *retyped, int number, int column)
{
	RangeTblEntry *rte = rt_fetch(number, pstate->p_rtable);

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (rte->rtekind == RTE_RELATION)
		return new_type_of(retyped, rte->relid, column);
	if (rte->rtekind == RTE_FUNCTION)
	{
		ListCell   *lc;

		/* The columns of each function, and then perhaps WITH ORDINALITY */
		foreach(lc, rte->functions)
		{
			RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);

			if (column <= function->funccolcount)
				return new_type_of(retyped,
								   typeOrDomainTypeRelid(exprType(function->funcexpr)),
								   column);
			column -= function->funccolcount;
		}
	}
	if (rte->rtekind == RTE_JOIN)
	{
		JoinedColumn key = {.join = (uintptr_t) rte,.column = column};
		JoinedColumn *joined = hash_search(retyped->joined, &key, HASH_FIND, NULL);

		if (joined == NULL)
		{
			Oid			type = new_type_in_join(pstate, retyped, number, column);

			joined = hash_search(retyped->joined, &key, HASH_ENTER, NULL);
			joined->type = type;
		}
		return joined->type;
	}
	return InvalidOid;
}

/*
 * Compares columns of USING, about which the hook is not asked, as what they are to
 * be.
 */
static void
retype_joins(ParseState *pstate, const Retyped *retyped)
{
	ListCell   *lc;

	foreach(lc, pstate->p_joinexprs)
	{
		JoinExpr   *join = lfirst(lc);
		int			columns = join == NULL ? 0 : list_length(join->usingClause);

		for (int column = 1; column <= columns; column++)
		{
			List	   *sides = retyped_sides(pstate, retyped, join, column);
			Expr	   *comparison;

			if (sides == NIL)
				continue;
			comparison = make_op(pstate, list_make1(makeString("=")), linitial(sides),
								 lsecond(sides), pstate->p_last_srf, -1);
			(void) coerce_to_boolean(pstate, (Node *) comparison, "JOIN/USING");
			*comparison_of(join, column) = *castNode(OpExpr, comparison);
		}
	}
}

/* The type that a column is to have to which a reference leads; as it is written. */
static Oid
new_type(ParseState *pstate, const Retyped *retyped, Node *node)
{
	Var		   *var = (Var *) node;

	if (!IsA(node, Var) || var->varattno <= InvalidAttrNumber)
		return InvalidOid;
	for (Index level = 0; level < var->varlevelsup; level++)
		pstate = pstate->parentParseState;
	return new_type_in(pstate, retyped, var->varnosyn, var->varattnosyn);
}

/*
 * A reference to a column, or to a field, with the type that it is to have; or a mark
 * that follows joins: see mark_fields() and mark_joins().
 */
static Node *
retype_column(ParseState *pstate, ColumnRef * reference)
{
	Retyped    *retyped = pstate->p_ref_hook_state;
	Node	   *node = linitial(reference->fields);
	Oid			type;

	CHECK_FOR_INTERRUPTS();
	if (IsA(node, A_Star))
	{
		retype_joins(pstate, retyped);
		return makeBoolConst(true, false);
	}
	if (IsA(node, A_Indirection))
		node = transformExpr(pstate, node, pstate->p_expr_kind);
	else
	{
		pstate->p_pre_columnref_hook = NULL;
		node = transformExpr(pstate, (Node *) reference, pstate->p_expr_kind);
		pstate->p_pre_columnref_hook = retyped->hook;
	}
	if (IsA(node, FieldSelect))
	{
		FieldSelect *field = (FieldSelect *) node;

		type = new_type_of(retyped,
						   typeOrDomainTypeRelid(exprType((Node *) field->arg)),
						   field->fieldnum);
		if (OidIsValid(type))
		{
			field->resulttype = type;
			field->resulttypmod = -1;
			field->resultcollid = get_typcollation(type);
		}
		return node;
	}
	type = new_type(pstate, retyped, node);
	if (OidIsValid(type))
	{
		Var		   *var = (Var *) node;

		var->vartype = type;
		var->vartypmod = -1;
		var->varcollid = get_typcollation(type);
	}
	return node;
}

/* In the place of a constant: see forget_constants(). */
static Node *
make_parameter(ParseState *pstate, ParamRef * reference)
{
	Param	   *parameter = makeNode(Param);

	parameter->paramkind = PARAM_EXTERN;
	parameter->paramid = reference->number;
	parameter->paramtype = UNKNOWNOID;
	parameter->paramtypmod = -1;
	parameter->location = -1;
	return (Node *) parameter;
}

/* Gives it the type that the constant would have. */
static Node *
type_parameter(ParseState *pstate, Param * parameter, Oid type, int32 typmod, int location)
{
	if (parameter->paramtype != UNKNOWNOID)
		return NULL;
	parameter->paramtype = type;
	parameter->paramcollid = get_typcollation(type);
	return (Node *) parameter;
}

static void
set_up_retyping(ParseState *pstate, void *retyped)
{
	pstate->p_pre_columnref_hook = retype_column;
	pstate->p_paramref_hook = make_parameter;
	pstate->p_coerce_param_hook = type_parameter;
	pstate->p_ref_hook_state = retyped;
}

/*
 * Makes parameters of constants, which nobody reads: to read one of a composite type,
 * an array or a range can be to check domains in it, which is to execute what others
 * wrote. One without a type gets that of what a function takes, and there anybody can
 * make functions. The same constants are the same parameters, and others are not, since
 * the parser merges expressions that are equal.
 */
static void
forget_constant(A_Const * constant, bool may_be_parameter)
{
	ParamRef   *parameter = (ParamRef *) constant;
	const char *string;

	/* A number has a type already, and goes through functions of casts. */
	if (constant->isnull || !IsA(&constant->val, String))
		return;
	if (!may_be_parameter)
	{
		constant->isnull = true;
		return;
	}
	StaticAssertStmt(sizeof(ParamRef) <= sizeof(A_Const),
					 "a ParamRef has to fit into an A_Const");
	string = strVal(&constant->val);
	memset(parameter, 0, sizeof(ParamRef));
	NodeSetTag(parameter, T_ParamRef);
	parameter->number = hash_bytes((const unsigned char *) string, strlen(string)) >> 1;
	parameter->location = -1;
}

static bool
forget_constants(Node *node, void *context)
{
	if (node == NULL)
		return false;

	/*
	 * What modifies a type, and a path for JSON_TABLE(), has to be a
	 * constant.
	 */
	if (IsA(node, TypeName))
		return false;
#if PG_VERSION_NUM >= 170000
	if (IsA(node, JsonTablePathSpec))
		return false;

	/* DEFAULT ... ON EMPTY takes no parameter. */
	if (IsA(node, JsonBehavior))
		context = node;
#endif
	if (IsA(node, A_Const))
	{
		forget_constant((A_Const *) node, context == NULL);
		return false;
	}

	/* The walker leaves this clause out. */
	if (IsA(node, CommonTableExpr) && ((CommonTableExpr *) node)->cycle_clause != NULL)
	{
		CTECycleClause *cycle = ((CommonTableExpr *) node)->cycle_clause;

		(void) forget_constants(cycle->cycle_mark_value, context);
		(void) forget_constants(cycle->cycle_mark_default, context);
	}
	return raw_expression_tree_walker(node, forget_constants, context);
}

/* Has the hook called when the joins of a query are there: a condition that is true. */
static void
mark_joins(SelectStmt * query)
{
	ColumnRef  *mark = makeNode(ColumnRef);

	if (query->fromClause == NIL)
		return;
	mark->fields = lappend(NIL, makeNode(A_Star));
	mark->location = -1;
	if (query->whereClause == NULL)
		query->whereClause = (Node *) mark;
	else
		query->whereClause = (Node *) makeBoolExpr(AND_EXPR,
												   lappend(list_make1(mark), query->whereClause),
												   -1);
}

/*
 * Makes each field of a row, (...).id, a reference to a column in the eyes of the
 * parser, so that the hook is asked about it.
 */
static bool
mark_fields(Node *node, void *context)
{
	A_Indirection *whole = (A_Indirection *) node;
	List	   *steps = NIL;
	ListCell   *lc;

	if (node == NULL)
		return false;
	(void) raw_expression_tree_walker(node, mark_fields, context);
	if (IsA(node, SelectStmt))
		mark_joins((SelectStmt *) node);
	if (!IsA(node, A_Indirection))
		return false;
	foreach(lc, whole->indirection)
	{
		steps = lappend(steps, lfirst(lc));
		if (IsA(lfirst(lc), String))
		{
			A_Indirection *field = makeNode(A_Indirection);
			ColumnRef  *reference = makeNode(ColumnRef);

			field->arg = whole->arg;
			field->indirection = steps;
			reference->fields = list_make1(field);
			reference->location = -1;
			whole->arg = (Node *) reference;
			steps = NIL;
		}
	}
	whole->indirection = steps;

	/*
	 * Nothing follows the last field: the reference takes the place of the
	 * whole.
	 */
	StaticAssertStmt(sizeof(ColumnRef) <= sizeof(A_Indirection),
					 "a ColumnRef has to fit into an A_Indirection");
	if (steps == NIL)
		memcpy(whole, whole->arg, sizeof(ColumnRef));
	return false;
}

/*
 * _flake_rebind(ticket _flake_ticket, query text, relations oid[],
 *	attributes int2[], types oid[]) returns record
 *
 * What a query would mean if columns had other types: the types of its result,
 * and what it would name, as flake_named_in() has it.
 * It is parsed, which here executes nothing of anybody, and nothing more.
 */
Datum
flake_rebind(PG_FUNCTION_ARGS)
{
	char	   *definition = text_to_cstring(PG_GETARG_TEXT_PP(1));
	List	   *statements = raw_parser(definition, RAW_PARSE_DEFAULT);
	RawStmt    *statement;
	Datum	   *relations;
	Datum	   *attributes;
	Datum	   *new_types;
	int			counts[3];
	Retyped		retyped = {.hook = retype_column};
	Query	   *query;
	List	   *types = NIL;
	ListCell   *cell;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), OIDOID, sizeof(Oid), true,
					  TYPALIGN_INT, &relations, NULL, &counts[0]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), INT2OID, sizeof(int16), true,
					  TYPALIGN_SHORT, &attributes, NULL, &counts[1]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(4), OIDOID, sizeof(Oid), true,
					  TYPALIGN_INT, &new_types, NULL, &counts[2]);
	if (list_length(statements) != 1 ||
		!IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt) ||
		counts[0] != counts[2] || counts[1] != counts[2])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("one SELECT and arrays of the same length are needed")));
	retyped.columns = make_table(offsetof(RetypedColumn, type), sizeof(RetypedColumn));
	retyped.joined = make_table(offsetof(JoinedColumn, type), sizeof(JoinedColumn));
	for (int i = 0; i < counts[2]; i++)
	{
		Oid			type = DatumGetObjectId(new_types[i]);
		RetypedColumn key = {
			.relation = DatumGetObjectId(relations[i]),
			.attribute = DatumGetInt16(attributes[i])
		};
		RetypedColumn *column = hash_search(retyped.columns, &key, HASH_ENTER, NULL);

		CHECK_FOR_INTERRUPTS();
		if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(type)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("type with OID %u does not exist", type)));
		column->type = type;
	}
	statement = linitial_node(RawStmt, statements);
	(void) forget_constants(statement->stmt, NULL);
	(void) mark_fields(statement->stmt, NULL);
	query = parse_analyze_withcb(statement, definition, set_up_retyping, &retyped,
								 NULL);

	foreach(cell, query->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (!entry->resjunk)
			types = lappend_oid(types, exprType((Node *) entry->expr));
	}
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = flake_array_of_oids(types);
	values[1] = flake_named_in((Node *) query);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

static int
columns_of_row(Node *node)
{
	return node != NULL && IsA(node, RowExpr) ? list_length(((RowExpr *) node)->args) : 1;
}

/* Which operator is looked up for a node, and how often: NIL stands for "=". */
static int
operators_of(Node *node, List **name)
{
	*name = NIL;
	switch (nodeTag(node))
	{
		case T_A_Expr:
			{
				A_Expr	   *expr = (A_Expr *) node;
				int			columns = Max(columns_of_row(expr->lexpr), columns_of_row(expr->rexpr));

				*name = expr->name;
				if (expr->kind == AEXPR_IN)
					columns *= list_length(castNode(List, expr->rexpr));
				return columns;
			}
		case T_SubLink:
			*name = ((SubLink *) node)->operName;
			return ((SubLink *) node)->testexpr == NULL ? 0 : columns_of_row(((SubLink *) node)->testexpr);
		case T_CaseExpr:
			return ((CaseExpr *) node)->arg == NULL ? 0 : list_length(((CaseExpr *) node)->args);
		case T_JoinExpr:
			return list_length(((JoinExpr *) node)->usingClause);
		case T_SortBy:
			*name = ((SortBy *) node)->useOp;
			return *name == NIL ? 0 : 1;
		default:
			return 0;
	}
}

static void
add_named(Calls *calls, Oid catalog, List *name, int times)
{
	Oid			schema = list_length(name) <= 1 ? PG_CATALOG_NAMESPACE
	: get_namespace_oid(strVal(linitial(name)), true);

	if (OidIsValid(schema))
		flake_add_calls(calls, catalog, schema, name == NIL ? "=" : strVal(llast(name)), times);
}

/*
 * Adds what is called, as a definition is written down: by a name with a schema, or in
 * pg_catalog.
 */
static bool
add_calls(Node *node, void *context)
{
	List	   *operator;
	int			times;

	if (node == NULL)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (IsA(node, FuncCall))
		add_named(context, ProcedureRelationId, ((FuncCall *) node)->funcname, 1);
	times = operators_of(node, &operator);
	if (times > 0)
		add_named(context, OperatorRelationId, operator, times);
	return raw_expression_tree_walker(node, add_calls, context);
}

/* The same in a command: of a view, a trigger's condition, defaults and checks. */
static void
add_calls_of_command(Node *command, Calls *calls)
{
	ListCell   *cell;

	if (IsA(command, ViewStmt))
		(void) add_calls(((ViewStmt *) command)->query, calls);
	else if (IsA(command, CreateTrigStmt))
		(void) add_calls(((CreateTrigStmt *) command)->whenClause, calls);
	else if (IsA(command, AlterTableStmt))
	{
		foreach(cell, ((AlterTableStmt *) command)->cmds)
		{
			AlterTableCmd *change = lfirst_node(AlterTableCmd, cell);

			if (change->subtype == AT_ColumnDefault)
				(void) add_calls(change->def, calls);
			else if (change->subtype == AT_AddConstraint)
				(void) add_calls(castNode(Constraint, change->def)->raw_expr, calls);
		}
	}
}

bool
flake_command_takes_long(const char *command)
{
	List	   *statements = raw_parser(command, RAW_PARSE_DEFAULT);
	Calls		calls = flake_no_calls();
	bool		result;
	ListCell   *cell;

	foreach(cell, statements)
		add_calls_of_command(lfirst_node(RawStmt, cell)->stmt, &calls);
	result = flake_calls_take_long(&calls);
	hash_destroy(calls.names);
	return result;
}
