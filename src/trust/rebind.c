/*-------------------------------------------------------------------------
 *
 * rebind.c
 *	  A SQL function that parses a query as if columns had other types, and
 *	  executes nothing.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_rebind);

/* Columns that are read as if they had another type. */
typedef struct Retyped
{
	Datum	   *relations;
	Datum	   *attributes;
	Datum	   *types;
	int			count;
	PreParseColumnRefHook hook;
} Retyped;

/*
 * The type that a column of a relation is to have, or one that a join has merged;
 * InvalidOid if it keeps its own.  What is referred to is so many levels further up.
 */
static Oid
new_type(ParseState *pstate, const Retyped *retyped, Node *node, int levels)
{
	RangeTblEntry *rte;
	Var		   *var = (Var *) node;
	Node	   *merged;
	Oid			type = InvalidOid;
	ListCell   *lc;

	check_stack_depth();
	if (!IsA(node, Var) || var->varattno <= InvalidAttrNumber)
		return InvalidOid;
	levels += var->varlevelsup;
	rte = GetRTEByRangeTablePosn(pstate, var->varno, levels);
	if (rte->rtekind == RTE_RELATION)
	{
		for (int i = 0; i < retyped->count; i++)
		{
			if (rte->relid == DatumGetObjectId(retyped->relations[i]) &&
				var->varattno == DatumGetInt16(retyped->attributes[i]))
				type = DatumGetObjectId(retyped->types[i]);
		}
		return type;
	}
	if (rte->rtekind != RTE_JOIN)
		return InvalidOid;

	/* What is not smaller than an integer is so by another column, and stays. */
	merged = list_nth(rte->joinaliasvars, var->varattno - 1);
	if (exprType(merged) != INT2OID && exprType(merged) != INT4OID)
		return InvalidOid;
	merged = strip_implicit_coercions(merged);
	if (!IsA(merged, CoalesceExpr))
		return new_type(pstate, retyped, merged, levels);
	foreach(lc, ((CoalesceExpr *) merged)->args)
	{
		type = new_type(pstate, retyped, strip_implicit_coercions(lfirst(lc)), levels);
		if (OidIsValid(type))
			break;
	}
	return type;
}

/* A reference to a column, with the type that the column is to have. */
static Node *
retype_column(ParseState *pstate, ColumnRef * reference)
{
	Retyped    *retyped = pstate->p_ref_hook_state;
	Node	   *node;
	Oid			type;

	pstate->p_pre_columnref_hook = NULL;
	node = transformExpr(pstate, (Node *) reference, pstate->p_expr_kind);
	pstate->p_pre_columnref_hook = retyped->hook;
	type = new_type(pstate, retyped, node, 0);
	if (OidIsValid(type))
	{
		Var		   *var = (Var *) node;

		var->vartype = type;
		var->vartypmod = -1;
		var->varcollid = get_typcollation(type);
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

	/* The walker leaves this clause out. */
	if (IsA(node, CommonTableExpr) && ((CommonTableExpr *) node)->cycle_clause != NULL)
	{
		CTECycleClause *cycle = ((CommonTableExpr *) node)->cycle_clause;

		(void) forget_constants(cycle->cycle_mark_value, context);
		(void) forget_constants(cycle->cycle_mark_default, context);
	}
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
	for (int i = 0; i < retyped.count; i++)
	{
		Oid			type = DatumGetObjectId(retyped.types[i]);

		if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(type)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("type with OID %u does not exist", type)));
	}
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
