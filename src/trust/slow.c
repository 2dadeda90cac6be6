/*-------------------------------------------------------------------------
 *
 * slow.c
 *	  Definitions that are short, and take PostgreSQL long to write down or to
 *	  read again.
 *
 * To write one down, PostgreSQL gives equal names of columns numbers, and compares
 * each with all that it has given so far.  To read it again, it looks at all
 * functions or operators of a name for each call, and at the defaults of one.
 * It can be canceled in neither.
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
#define MAX_CANDIDATES		2.0e6
#define MAX_DEFAULT_BYTES	(16.0 * 1024 * 1024)

/* What a tree takes. */
typedef struct Effort
{
	HTAB	   *names;			/* of functions and operators */
	double		comparisons;
	double		candidates;
	double		default_bytes;
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
	int			candidates;
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
	CatCList   *list;

	if (text == NULL)
		return;
	list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(text));
	for (int i = 0; i < list->n_members; i++)
	{
		HeapTuple	row = &list->members[i]->tuple;
		bool		isnull;
		Datum		defaults;

		CHECK_FOR_INTERRUPTS();
		if (((Form_pg_proc) GETSTRUCT(row))->pronamespace != schema)
			continue;
		name->candidates++;
		defaults = SysCacheGetAttr(PROCNAMEARGSNSP, row, Anum_pg_proc_proargdefaults, &isnull);
		if (!isnull)
			name->default_bytes = Max(name->default_bytes, toast_raw_datum_size(defaults));
	}
	ReleaseSysCacheList(list);
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

static bool
add_effort(Node *node, Effort *effort)
{
	if (node == NULL)
		return false;
	CHECK_FOR_INTERRUPTS();
	switch (nodeTag(node))
	{
		case T_Query:
			{
				ListCell   *cell;

				foreach(cell, ((Query *) node)->rtable)
				{
					RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

					if (rte->eref != NULL)
						add_names(effort, rte->eref->colnames);
				}
				return query_tree_walker((Query *) node, add_effort, effort, 0);
			}
		case T_FuncExpr:
			add_call(effort, ProcedureRelationId, ((FuncExpr *) node)->funcid);
			break;
		case T_Aggref:
			add_call(effort, ProcedureRelationId, ((Aggref *) node)->aggfnoid);
			break;
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
	char	   *tree = text_to_cstring(PG_GETARG_TEXT_PP(0));
	HASHCTL		info = {.keysize = sizeof(Callee),.entrysize = sizeof(CalledName),.hcxt = CurrentMemoryContext};
	Effort		effort = {0};

	effort.names = hash_create("names in a definition", 64, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	(void) add_effort(stringToNode(tree), &effort);
	hash_destroy(effort.names);
	PG_RETURN_BOOL(effort.comparisons > MAX_COMPARISONS ||
				   effort.candidates > MAX_CANDIDATES ||
				   effort.default_bytes > MAX_DEFAULT_BYTES);
}
