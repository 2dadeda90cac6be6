/*-------------------------------------------------------------------------
 *
 * named.c
 *	  What a query or an expression names: functions, operators, types.
 *
 * A definition that is read again as text must mean what it has meant.  So what
 * it names is listed in the order of the tree, with repetitions, before and
 * afterwards.  pg_depend would not do: of a definition with f(int) and f(bigint)
 * it has both, whichever of them is called with which column.
 *
 * What is PostgreSQL's own is left out, since it comes and goes: a column that is
 * a bigint already is not cast to one.  For the same reason a tree that was parsed
 * and one that was written down and parsed again must give the same list.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "parser/parse_coerce.h"
#include "trust/named.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(flake_named);
PG_FUNCTION_INFO_V1(flake_has_record);

/* What is named so far, and in a query, of each of its windows, which one it is. */
typedef struct Named
{
	List	   *objects;
	List	   *windows;
} Named;

static bool add_named(Node *node, Named *named);

static void
add(Named *named, Oid object)
{
	if (object >= FirstUnpinnedObjectId)
		named->objects = lappend_oid(named->objects, object);
}

static void
add_all(Named *named, List *objects)
{
	ListCell   *cell;

	foreach(cell, objects)
		add(named, lfirst_oid(cell));
}

/*
 * The elements of an array that are cast together.  Written down and parsed again,
 * each of them is cast by itself.
 */
static void
add_elements(ArrayExpr * array, Expr *cast, Named *named)
{
	ListCell   *cell;

	foreach(cell, array->elements)
	{
		Node	   *element = lfirst(cell);

		check_stack_depth();
		if (array->multidims && IsA(element, ArrayExpr))
			add_elements((ArrayExpr *) element, cast, named);
		else
		{
			(void) add_named((Node *) cast, named);
			(void) add_named(element, named);
		}
	}
}

/* The function that casts what UNION and the like put together.  The planner adds it. */
static void
add_cast(Oid from, Oid to, Named *named)
{
	Oid			function = InvalidOid;
	CoercionPathType path;

	if (from == to)
		return;
	path = find_coercion_pathway(to, from, COERCION_IMPLICIT, &function);
	if (path == COERCION_PATH_ARRAYCOERCE)
		add_cast(get_element_type(getBaseType(from)), get_element_type(getBaseType(to)), named);
	else if (path == COERCION_PATH_FUNC)
		add(named, function);
}

static void
add_casts(Query *query, Node *operation, List *types, Named *named)
{
	check_stack_depth();
	if (IsA(operation, SetOperationStmt))
	{
		SetOperationStmt *set = (SetOperationStmt *) operation;

		for (int i = 0; i < list_length(types); i++)
			add_cast(list_nth_oid(set->colTypes, i), list_nth_oid(types, i), named);
		add_casts(query, set->larg, set->colTypes, named);
		add_casts(query, set->rarg, set->colTypes, named);
	}
	else
	{
		Index		number = castNode(RangeTblRef, operation)->rtindex;
		Query	   *part = list_nth_node(RangeTblEntry, query->rtable, number - 1)->subquery;
		ListCell   *from;
		ListCell   *to = list_head(types);

		foreach(from, part->targetList)
		{
			TargetEntry *entry = lfirst_node(TargetEntry, from);

			if (entry->resjunk || to == NULL)
				continue;
			add_cast(exprType((Node *) entry->expr), lfirst_oid(to), named);
			to = lnext(types, to);
		}
	}
}

/*
 * Windows without a name are one if they are the same as text, which they can become
 * when they are written down.  So those that name the same are listed once, and each
 * function has the number of its window among these.
 */
static void
add_windows(List *windows, Named *named)
{
	List	   *different = NIL;
	ListCell   *cell;

	named->windows = NIL;
	foreach(cell, windows)
	{
		WindowClause *window = lfirst_node(WindowClause, cell);
		Named		of_window = {NIL, NIL};
		ListCell   *earlier;
		int			number = 1;

		(void) add_named((Node *) window->partitionClause, &of_window);
		(void) add_named((Node *) window->orderClause, &of_window);
		(void) add_named(window->startOffset, &of_window);
		(void) add_named(window->endOffset, &of_window);
		add(&of_window, window->startInRangeFunc);
		add(&of_window, window->endInRangeFunc);
		foreach(earlier, different)
		{
			if (equal(lfirst(earlier), of_window.objects))
				break;
			number++;
		}
		if (earlier == NULL)
		{
			different = lappend(different, of_window.objects);
			named->objects = list_concat(named->objects, of_window.objects);
		}
		named->windows = lappend_int(named->windows, number);
	}
}

static bool
add_named(Node *node, Named *named)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			add(named, ((FuncExpr *) node)->funcid);
			break;
		case T_Aggref:
			add(named, ((Aggref *) node)->aggfnoid);
			break;
		case T_WindowFunc:
			add(named, ((WindowFunc *) node)->winfnoid);
			if (named->windows != NIL)
				named->objects = lappend_oid(named->objects,
											 list_nth_int(named->windows,
														  ((WindowFunc *) node)->winref - 1));
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			add(named, ((OpExpr *) node)->opno);
			break;
		case T_ScalarArrayOpExpr:
			add(named, ((ScalarArrayOpExpr *) node)->opno);
			break;
		case T_RowCompareExpr:
			add_all(named, ((RowCompareExpr *) node)->opnos);
			break;
		case T_RelabelType:
			add(named, ((RelabelType *) node)->resulttype);
			break;
		case T_CoerceViaIO:
			add(named, ((CoerceViaIO *) node)->resulttype);
			break;
		case T_ArrayCoerceExpr:
			{
				ArrayCoerceExpr *cast = (ArrayCoerceExpr *) node;

				if (!IsA(cast->arg, ArrayExpr))
					break;
				add_elements((ArrayExpr *) cast->arg, cast->elemexpr, named);
				return false;
			}
		case T_SortGroupClause:
			add(named, ((SortGroupClause *) node)->eqop);
			add(named, ((SortGroupClause *) node)->sortop);
			return false;
		case T_WindowClause:
			return false;		/* see add_windows() */
		case T_SetOperationStmt:
			add_all(named, ((SetOperationStmt *) node)->colTypes);
			(void) add_named((Node *) ((SetOperationStmt *) node)->groupClauses,
							 named);
			break;
		case T_CTECycleClause:
			add(named, ((CTECycleClause *) node)->cycle_mark_neop);
			break;
		case T_TableSampleClause:
			add(named, ((TableSampleClause *) node)->tsmhandler);
			break;
		case T_Query:
			{
				Query	   *query = (Query *) node;
				List	   *outer = named->windows;

				if (query->setOperations != NULL)
					add_casts(query, query->setOperations,
							  ((SetOperationStmt *) query->setOperations)->colTypes,
							  named);
				add_windows(query->windowClause, named);
				(void) query_tree_walker(query, add_named, named,
										 QTW_EXAMINE_SORTGROUP);
				named->windows = outer;
				return false;
			}
		default:
			break;
	}
	return expression_tree_walker(node, add_named, named);
}

Datum
flake_array_of_oids(List *oids)
{
	Datum	   *datums = palloc(Max(list_length(oids), 1) * sizeof(Datum));
	int			count = 0;
	ListCell   *cell;

	foreach(cell, oids)
		datums[count++] = ObjectIdGetDatum(lfirst_oid(cell));
	return PointerGetDatum(construct_array(datums, count, OIDOID, sizeof(Oid),
										   true, TYPALIGN_INT));
}

Datum
flake_named_in(Node *tree)
{
	Named		named = {NIL, NIL};

	(void) add_named(tree, &named);
	return flake_array_of_oids(named.objects);
}

/*
 * _flake_named(tree pg_node_tree) returns oid[]
 *
 * Of a definition as PostgreSQL keeps it.  Only PostgreSQL makes such values.
 */
Datum
flake_named(PG_FUNCTION_ARGS)
{
	char	   *tree = text_to_cstring(PG_GETARG_TEXT_PP(0));

	PG_RETURN_DATUM(flake_named_in(stringToNode(tree)));
}

/*
 * Whether a tree has a row of a join or of several functions as a whole; within
 * queries, the innermost first.
 */
static bool
has_record(Node *node, List **queries)
{
	bool		found;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *rte;

		if (var->varattno != InvalidAttrNumber || var->vartype != RECORDOID ||
			(int) var->varlevelsup >= list_length(*queries))
			return false;
		rte = list_nth_node(RangeTblEntry,
							list_nth_node(Query, *queries, var->varlevelsup)->rtable,
							var->varno - 1);
		return rte->rtekind == RTE_JOIN || rte->rtekind == RTE_FUNCTION;
	}
	if (!IsA(node, Query))
		return expression_tree_walker(node, has_record, queries);
	*queries = lcons(node, *queries);
	found = query_tree_walker((Query *) node, has_record, queries, 0);
	*queries = list_delete_first(*queries);
	return found;
}

/*
 * _flake_has_record(tree pg_node_tree) returns boolean
 *
 * Which columns are in such a row is not in pg_depend, and their types are not looked
 * at when the row is made.
 */
Datum
flake_has_record(PG_FUNCTION_ARGS)
{
	char	   *tree = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *queries = NIL;

	PG_RETURN_BOOL(has_record(stringToNode(tree), &queries));
}
