/*-------------------------------------------------------------------------
 *
 * slow.c
 *	  Definitions that are short, and take PostgreSQL long to write down or to
 *	  read again.
 *
 * To write one down, PostgreSQL gives equal names of columns numbers, and compares
 * each with all that it has given so far.  What is grouped or sorted by it writes
 * again for each time that it is referred to.  To read it again, it looks at all
 * columns for each reference to one, and for each call at all functions or operators
 * of the name.  It compares these with each other if one has defaults, and reads the
 * defaults of one.  It can be canceled in none of this.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_takes_long);

/* Each of these takes about a second on a machine of 2026. */
#define MAX_COMPARISONS		1.0e9
#define MAX_LOOKUPS			2.0e8
#define MAX_CANDIDATES		2.0e6
#define MAX_DEFAULT_BYTES	(16.0 * 1024 * 1024)
#define MAX_WRITTEN_BYTES	(4.0 * 1024 * 1024)

/* What a tree takes longer to read is not read at all: too_long.sql finds it. */
#define MAX_TREE_BYTES		4194304

/* What a name or a short part of an expression takes as text, at most or nearly so. */
#define BYTES_OF_NODE		64

/* If one of a name has defaults, or VARIADIC, each is compared with those before it. */
#define COMPARED_IN_TIME_OF_ONE 100

/* To find the name of a field, all columns are named again. */
#define REFERENCES_OF_FIELD	20

/* How often what is selected is written again, by the number by which it is referred to. */
typedef struct Again
{
	double	   *times;
	Index		max;
} Again;

/* What a tree takes. */
typedef struct Effort
{
	HTAB	   *names;			/* of functions and operators */
	Again		again;			/* in the query, or aggregate, that is looked
								 * at */
	double		references;		/* to columns */
	double		columns;
	double		comparisons;
	double		candidates;
	double		default_bytes;
	double		written_bytes;
} Effort;

/* What is called: a function, or an operator. */
typedef struct Callee
{
	Oid			catalog;
	Oid			oid;
} Callee;

/* What one call of it takes. */
typedef struct CalledName
{
	Callee		callee;			/* key */
	double		candidates;
	Size		default_bytes;
} CalledName;

/*
 * Others of the name count only in the same schema, which is written before the name:
 * anybody can have them elsewhere.
 */
static void
measure_function(CalledName *name)
{
	char	   *text = get_func_name(name->callee.oid);
	Oid			schema = get_func_namespace(name->callee.oid);
	bool		are_compared = false;
	CatCList   *list;

	if (text == NULL)
		return;
	list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(text));
	for (int i = 0; i < list->n_members; i++)
	{
		HeapTuple	row = &list->members[i]->tuple;
		Form_pg_proc form = (Form_pg_proc) GETSTRUCT(row);
		bool		isnull;
		Datum		defaults;

		CHECK_FOR_INTERRUPTS();
		if (form->pronamespace != schema)
			continue;
		name->candidates++;
		are_compared |= form->pronargdefaults > 0 || OidIsValid(form->provariadic);
		defaults = SysCacheGetAttr(PROCNAMEARGSNSP, row, Anum_pg_proc_proargdefaults, &isnull);
		if (!isnull)
			name->default_bytes = Max(name->default_bytes, toast_raw_datum_size(defaults));
	}
	ReleaseSysCacheList(list);
	if (are_compared)
		name->candidates += name->candidates * name->candidates / COMPARED_IN_TIME_OF_ONE;
}

static void
measure_operator(CalledName *name)
{
	HeapTuple	row = SearchSysCache1(OPEROID, ObjectIdGetDatum(name->callee.oid));
	Form_pg_operator form;
	CatCList   *list;

	if (!HeapTupleIsValid(row))
		return;
	form = (Form_pg_operator) GETSTRUCT(row);
	list = SearchSysCacheList1(OPERNAMENSP, NameGetDatum(&form->oprname));
	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_operator other = (Form_pg_operator) GETSTRUCT(&list->members[i]->tuple);

		if (other->oprnamespace == form->oprnamespace)
			name->candidates++;
	}
	ReleaseSysCacheList(list);
	ReleaseSysCache(row);
}

static void
add_call(Effort *effort, Oid catalog, Oid oid)
{
	Callee		callee = {.catalog = catalog,.oid = oid};
	bool		found;
	CalledName *name = hash_search(effort->names, &callee, HASH_ENTER, &found);

	if (!found)
	{
		name->candidates = 0;
		name->default_bytes = 0;
		if (catalog == ProcedureRelationId)
			measure_function(name);
		else
			measure_operator(name);
	}
	effort->candidates += name->candidates;
	effort->default_bytes += name->default_bytes;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The names of the columns of what a query reads. */
static void
add_names(Effort *effort, List *columns)
{
	int			count = 0;
	char	  **names = palloc(Max(list_length(columns), 1) * sizeof(char *));
	ListCell   *cell;
	size_t		distinct;

	foreach(cell, columns)
		names[count++] = strVal(lfirst(cell));
	qsort(names, count, sizeof(char *), compare_names);
	distinct = qunique(names, count, sizeof(char *), compare_names);
	effort->comparisons += (double) count * count * (1 + count - distinct);
	pfree(names);
}

/* Counts by number of reference, for the targets of a query or an aggregate. */
static Again
nothing_again(const List *targets)
{
	Again		again = {0};
	const ListCell *cell;

	foreach(cell, targets)
		again.max = Max(again.max, lfirst_node(TargetEntry, cell)->ressortgroupref);
	again.times = palloc0((again.max + 1) * sizeof(double));
	return again;
}

static void
write_again(Again *again, Index reference, double times)
{
	if (reference <= again->max)
		again->times[reference] += times;
}

static void
write_clauses(Again *again, const List *clauses, double times)
{
	const ListCell *cell;

	foreach(cell, clauses)
		write_again(again, lfirst_node(SortGroupClause, cell)->tleSortGroupRef, times);
}

static void
write_sets(Again *again, const List *sets)
{
	const ListCell *cell;

	check_stack_depth();
	foreach(cell, sets)
	{
		GroupingSet *set = lfirst_node(GroupingSet, cell);

		CHECK_FOR_INTERRUPTS();
		if (set->kind == GROUPING_SET_SIMPLE)
		{
			const ListCell *reference;

			foreach(reference, set->content)
				write_again(again, lfirst_int(reference), 1);
		}
		else
			write_sets(again, set->content);
	}
}

/* Counts the functions over each window, outside of other queries. */
static bool
count_over_windows(Node *node, Again *windows)
{
	if (node == NULL || IsA(node, Query))
		return false;
	CHECK_FOR_INTERRUPTS();
	if (IsA(node, WindowFunc))
		write_again(windows, ((WindowFunc *) node)->winref, 1);
	return expression_tree_walker(node, count_over_windows, windows);
}

/* What is written again of the targets of a query. */
static Again
again_of_query(Query *query)
{
	Again		again = nothing_again(query->targetList);
	Again		windows = {0};
	ListCell   *cell;

	write_clauses(&again, query->groupClause, 1);
	write_sets(&again, query->groupingSets);
	write_clauses(&again, query->sortClause, 1);
	write_clauses(&again, query->distinctClause, 1);
	if (query->windowClause == NIL)
		return again;

	/* A window that has no name is written for each function. */
	windows.max = list_length(query->windowClause);
	windows.times = palloc0((windows.max + 1) * sizeof(double));
	(void) count_over_windows((Node *) query->targetList, &windows);
	foreach(cell, query->windowClause)
	{
		WindowClause *window = lfirst_node(WindowClause, cell);
		double		times = window->winref <= windows.max ? 1 + windows.times[window->winref] : 1;

		write_clauses(&again, window->partitionClause, times);
		write_clauses(&again, window->orderClause, times);
	}
	pfree(windows.times);
	return again;
}

static bool add_effort(Node *node, Effort *effort);

static bool
add_query(Query *query, Effort *effort)
{
	Again		outer = effort->again;
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->eref != NULL)
		{
			add_names(effort, rte->eref->colnames);
			effort->columns += list_length(rte->eref->colnames);
		}
	}
	effort->again = again_of_query(query);
	(void) query_tree_walker(query, add_effort, effort, 0);
	pfree(effort->again.times);
	effort->again = outer;
	return false;
}

static bool
add_aggregate(Aggref * aggregate, Effort *effort)
{
	Again		outer = effort->again;

	add_call(effort, ProcedureRelationId, aggregate->aggfnoid);
	effort->again = nothing_again(aggregate->args);
	write_clauses(&effort->again, aggregate->aggorder, 1);
	(void) expression_tree_walker((Node *) aggregate, add_effort, effort);
	pfree(effort->again.times);
	effort->again = outer;
	return false;
}

static bool
add_target(TargetEntry * target, Effort *effort)
{
	double		before = effort->written_bytes;

	(void) expression_tree_walker((Node *) target, add_effort, effort);
	if (target->ressortgroupref > 0 && target->ressortgroupref <= effort->again.max)
		effort->written_bytes += (effort->written_bytes - before) *
			effort->again.times[target->ressortgroupref];
	return false;
}

static bool
add_effort(Node *node, Effort *effort)
{
	if (node == NULL)
		return false;
	CHECK_FOR_INTERRUPTS();
	effort->written_bytes += BYTES_OF_NODE;
	switch (nodeTag(node))
	{
		case T_Query:
			return add_query((Query *) node, effort);
		case T_TargetEntry:
			return add_target((TargetEntry *) node, effort);
		case T_Var:
			effort->references++;
			break;
		case T_FieldSelect:
			effort->references += REFERENCES_OF_FIELD;
			break;
		case T_Const:
			if (!((Const *) node)->constisnull && ((Const *) node)->constlen == -1)
				effort->written_bytes += VARSIZE_ANY(DatumGetPointer(((Const *) node)->constvalue));
			break;
		case T_FuncExpr:
			add_call(effort, ProcedureRelationId, ((FuncExpr *) node)->funcid);
			break;
		case T_Aggref:
			return add_aggregate((Aggref *) node, effort);
		case T_WindowFunc:
			add_call(effort, ProcedureRelationId, ((WindowFunc *) node)->winfnoid);
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			add_call(effort, OperatorRelationId, ((OpExpr *) node)->opno);
			break;
		case T_ScalarArrayOpExpr:
			add_call(effort, OperatorRelationId, ((ScalarArrayOpExpr *) node)->opno);
			break;
		case T_RowCompareExpr:
			{
				ListCell   *cell;

				foreach(cell, ((RowCompareExpr *) node)->opnos)
					add_call(effort, OperatorRelationId, lfirst_oid(cell));
			}
			break;
		default:
			break;
	}
	return expression_tree_walker(node, add_effort, effort);
}

/*
 * _flake_takes_long(tree pg_node_tree) returns boolean
 *
 * Of a definition as PostgreSQL keeps it.  Only PostgreSQL makes such values.
 */
Datum
flake_takes_long(PG_FUNCTION_ARGS)
{
	char	   *tree;
	HASHCTL		info = {.keysize = sizeof(Callee),.entrysize = sizeof(CalledName),.hcxt = CurrentMemoryContext};
	Effort		effort = {0};

	if (toast_raw_datum_size(PG_GETARG_DATUM(0)) > MAX_TREE_BYTES)
		PG_RETURN_BOOL(true);
	tree = text_to_cstring(PG_GETARG_TEXT_PP(0));
	effort.names = hash_create("names in a definition", 64, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	(void) add_effort(stringToNode(tree), &effort);
	hash_destroy(effort.names);
	PG_RETURN_BOOL(effort.comparisons > MAX_COMPARISONS ||
				   effort.references * effort.columns > MAX_LOOKUPS ||
				   effort.candidates > MAX_CANDIDATES ||
				   effort.default_bytes > MAX_DEFAULT_BYTES ||
				   effort.written_bytes > MAX_WRITTEN_BYTES);
}
