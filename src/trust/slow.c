/*-------------------------------------------------------------------------
 *
 * slow.c
 *	  Definitions that are short, and take PostgreSQL long to write down or to
 *	  read again.
 *
 * To write one down, PostgreSQL writes constants, of which numbers and arrays can be far
 * longer than they are kept.  It gives equal names of columns numbers, and compares
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
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "fmgr.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "parser/parsetree.h"
#include "trust/slow.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/hsearch.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_takes_long);

/* Each of these takes about a second on a machine of 2026. */
#define MAX_COMPARISONS		1.0e9
#define MAX_LOOKUPS			2.0e8
#define MAX_JOINED_COLUMNS	2.0e6
#define MAX_CANDIDATES		2.0e6
#define MAX_DEFAULT_BYTES	(16.0 * 1024 * 1024)
#define MAX_WRITTEN_BYTES	(4.0 * 1024 * 1024)

/* What a tree takes longer to read is not read at all: too_long.sql finds it. */
#define MAX_TREE_BYTES		4194304

/* What a name or a short part of an expression takes as text, at most or nearly so. */
#define BYTES_OF_NODE		64

/* If one of a name has defaults, or VARIADIC, each is compared with those before it. */
#define COMPARED_IN_TIME_OF_ONE 100

/* Functions and operators of the name in other schemas are passed over. */
#define SKIPPED_IN_TIME_OF_ONE 10

/* A candidate takes longer if it has more arguments. */
#define ARGUMENTS_IN_TIME_OF_ONE 4

/* An alias has the names of all columns, if one is to be told from others. */
#define BYTES_OF_COLUMN		16

/* How long a number can be, for each byte that it is kept in. */
#define DIGITS_OF_BYTE		16384

/* More sets than these are an error of PostgreSQL's. */
#define MAX_SETS			4096.0

/* To find the name of a field, all columns are named again. */
#define REFERENCES_OF_FIELD	20

/* How often what is selected is written again, by the number by which it is referred to. */
typedef struct Again
{
	double	   *times;
	Index		max;
} Again;

/*
 * Since PostgreSQL 18, what is grouped by is kept once, and columns of an entry of the
 * query's refer to it: it is written in the place of each.
 */
typedef struct Grouped
{
	const struct Grouped *outer;	/* in the query around it */
	int			entry;			/* its number, or 0 */
	double	   *bytes;			/* of each */
	int			count;
} Grouped;

/* What a tree takes. */
typedef struct Effort
{
	const Grouped *grouped;
	Calls		calls;
	Again		again;			/* in the query, or aggregate, that is looked
								 * at */
	double		references;		/* to columns */
	double		columns;
	double		joined_columns;
	double		comparisons;
	double		written_bytes;
} Effort;

/* What is called: functions, or operators, of a name in a schema. */
typedef struct Callee
{
	NameData	name;
	Oid			schema;
	Oid			catalog;
} Callee;

/* What one call of it takes. */
typedef struct CalledName
{
	Callee		callee;			/* key */
	double		candidates;
	Size		default_bytes;
} CalledName;

/*
 * Others of the name count for little but in the same schema, which is written before the
 * name, or is the first in the search path: anybody can have them elsewhere.
 */
static void
measure_functions(CalledName *name)
{
	bool		are_compared = false;
	CatCList   *list = SearchSysCacheList1(PROCNAMEARGSNSP, NameGetDatum(&name->callee.name));

	for (int i = 0; i < list->n_members; i++)
	{
		HeapTuple	row = &list->members[i]->tuple;
		Form_pg_proc form = (Form_pg_proc) GETSTRUCT(row);
		bool		isnull;
		Datum		defaults;

		CHECK_FOR_INTERRUPTS();
		if (form->pronamespace != name->callee.schema)
			continue;
		name->candidates += Max(1, form->pronargs / ARGUMENTS_IN_TIME_OF_ONE);
		are_compared |= form->pronargdefaults > 0 || OidIsValid(form->provariadic);
		defaults = SysCacheGetAttr(PROCNAMEARGSNSP, row, Anum_pg_proc_proargdefaults, &isnull);
		if (!isnull)
			name->default_bytes = Max(name->default_bytes, toast_raw_datum_size(defaults));
	}
	if (are_compared)
		name->candidates += name->candidates * name->candidates / COMPARED_IN_TIME_OF_ONE;
	name->candidates += (double) list->n_members / SKIPPED_IN_TIME_OF_ONE;
	ReleaseSysCacheList(list);
}

static void
measure_operators(CalledName *name)
{
	CatCList   *list = SearchSysCacheList1(OPERNAMENSP, NameGetDatum(&name->callee.name));

	for (int i = 0; i < list->n_members; i++)
	{
		if (((Form_pg_operator) GETSTRUCT(&list->members[i]->tuple))->oprnamespace == name->callee.schema)
			name->candidates++;
	}
	name->candidates += (double) list->n_members / SKIPPED_IN_TIME_OF_ONE;
	ReleaseSysCacheList(list);
}

Calls
flake_no_calls(void)
{
	HASHCTL		info = {.keysize = sizeof(Callee),.entrysize = sizeof(CalledName),.hcxt = CurrentMemoryContext};
	Calls		calls = {0};

	calls.names = hash_create("names in a definition", 64, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return calls;
}

void
flake_add_calls(Calls *calls, Oid catalog, Oid schema, const char *name, int times)
{
	Callee		callee = {.schema = schema,.catalog = catalog};
	bool		found;
	CalledName *called;

	namestrcpy(&callee.name, name);
	called = hash_search(calls->names, &callee, HASH_ENTER, &found);
	if (!found)
	{
		called->candidates = 0;
		called->default_bytes = 0;
		if (catalog == ProcedureRelationId)
			measure_functions(called);
		else
			measure_operators(called);
	}
	calls->candidates += times * called->candidates;
	calls->default_bytes += (Size) times * called->default_bytes;
}

bool
flake_calls_take_long(const Calls *calls)
{
	return calls->candidates > MAX_CANDIDATES || calls->default_bytes > MAX_DEFAULT_BYTES;
}

static void
add_function(Effort *effort, Oid function)
{
	HeapTuple	row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));

	if (!HeapTupleIsValid(row))
		return;
	flake_add_calls(&effort->calls, ProcedureRelationId,
					((Form_pg_proc) GETSTRUCT(row))->pronamespace,
					NameStr(((Form_pg_proc) GETSTRUCT(row))->proname), 1);
	ReleaseSysCache(row);
}

static void
add_operator(Effort *effort, Oid operator)
{
	HeapTuple	row = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));

	if (!HeapTupleIsValid(row))
		return;
	flake_add_calls(&effort->calls, OperatorRelationId,
					((Form_pg_operator) GETSTRUCT(row))->oprnamespace,
					NameStr(((Form_pg_operator) GETSTRUCT(row))->oprname), 1);
	ReleaseSysCache(row);
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

/* The columns that a relation has now, dropped ones, too. */
static int
count_attributes(Oid relation)
{
	HeapTuple	row = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	int			count;

	if (!HeapTupleIsValid(row))
		return 0;
	count = ((Form_pg_class) GETSTRUCT(row))->relnatts;
	ReleaseSysCache(row);
	return count;
}

/* The columns that what a query reads has now: it can have got some since. */
static int
count_columns(RangeTblEntry * rte)
{
	int			count = rte->eref != NULL ? list_length(rte->eref->colnames) : 0;
	ListCell   *cell;

	if (rte->rtekind == RTE_RELATION)
		count = Max(count, count_attributes(rte->relid));
	foreach(cell, rte->functions)
	{
		Oid			relation = typeOrDomainTypeRelid(exprType(lfirst_node(RangeTblFunction, cell)->funcexpr));

		if (OidIsValid(relation))
			count += count_attributes(relation);
	}
	return count;
}

/* The columns of what is joined; adds those of all joins in it. */
static double
add_joins(Effort *effort, const Query *query, Node *joined)
{
	double		count = 0;
	ListCell   *cell;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (joined == NULL)
		return 0;
	if (IsA(joined, RangeTblRef))
		return count_columns(rt_fetch(((RangeTblRef *) joined)->rtindex, query->rtable));
	if (IsA(joined, JoinExpr))
	{
		count = add_joins(effort, query, ((JoinExpr *) joined)->larg) +
			add_joins(effort, query, ((JoinExpr *) joined)->rarg);
		effort->joined_columns += count;
		return count;
	}
	foreach(cell, castNode(FromExpr, joined)->fromlist)
		count += add_joins(effort, query, lfirst(cell));
	return count;
}

/* Into how many sets grouping sets are expanded, and how many columns they name. */
static double
count_sets(const List *sets, bool is_sum, double *content)
{
	double		count = is_sum ? 0 : 1;
	const ListCell *cell;

	check_stack_depth();
	foreach(cell, sets)
	{
		GroupingSet *set = lfirst_node(GroupingSet, cell);
		double		of_set = 1;

		CHECK_FOR_INTERRUPTS();
		if (set->kind == GROUPING_SET_SIMPLE)
			*content += list_length(set->content);
		else if (set->kind != GROUPING_SET_EMPTY)
			of_set = count_sets(set->content, true, content);
		if (set->kind == GROUPING_SET_ROLLUP)
			of_set = list_length(set->content) + 1;
		else if (set->kind == GROUPING_SET_CUBE)
			of_set = list_length(set->content) < 12 ? 1 << list_length(set->content) : MAX_SETS;
		count = Min(is_sum ? count + of_set : count * of_set, MAX_SETS);
	}
	return count;
}

/* What FOR UPDATE locks is compared with each other, again for each query around it. */
static void
add_locks(Effort *effort, const Query *query)
{
	double		locks = list_length(query->rowMarks);
	double		queries = 1;

	for (const Grouped *around = effort->grouped; around != NULL; around = around->outer)
		queries++;
	effort->comparisons += locks * locks * queries;
}

static bool add_effort(Node *node, Effort *effort);

/* What is grouped by, with what it takes; bytes are palloc'd. */
static void
add_grouped(Effort *effort, Query *query, Grouped *grouped)
{
#if PG_VERSION_NUM >= 180000
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		ListCell   *expression;

		if (rte->rtekind != RTE_GROUP)
			continue;
		grouped->bytes = palloc0(list_length(rte->groupexprs) * sizeof(double));
		foreach(expression, rte->groupexprs)
		{
			double		before = effort->written_bytes;

			(void) add_effort(lfirst(expression), effort);
			grouped->bytes[grouped->count++] = effort->written_bytes - before;
		}
		grouped->entry = foreach_current_index(cell) + 1;
	}
#endif
}

static void
add_reference(Effort *effort, const Var *var)
{
	const Grouped *grouped = effort->grouped;

	effort->references++;
	for (Index level = 0; grouped != NULL && level < var->varlevelsup; level++)
		grouped = grouped->outer;
	if (grouped != NULL && grouped->entry > 0 && var->varno == grouped->entry &&
		var->varattno > 0 && var->varattno <= grouped->count)
		effort->written_bytes += grouped->bytes[var->varattno - 1];
}

static bool
add_query(Query *query, Effort *effort)
{
	Again		outer = effort->again;
	Grouped		grouped = {.outer = effort->grouped};
	double		content = 0;
	double		sets = count_sets(query->groupingSets, false, &content);
	int			flags = 0;
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		double		columns = count_columns(rte);

		if (rte->eref != NULL)
			add_names(effort, rte->eref->colnames);
		effort->columns += columns;
		effort->comparisons += columns * columns;
		effort->written_bytes += columns * BYTES_OF_COLUMN;
	}
	(void) add_joins(effort, query, (Node *) query->jointree);
	effort->comparisons += sets * content * content;
	add_locks(effort, query);
	effort->again = again_of_query(query);
	effort->grouped = &grouped;
	add_grouped(effort, query, &grouped);
#if PG_VERSION_NUM >= 180000
	flags = QTW_IGNORE_GROUPEXPRS;
#endif
	(void) query_tree_walker(query, add_effort, effort, flags);
	effort->grouped = grouped.outer;
	pfree(effort->again.times);
	effort->again = outer;
	return false;
}

static void
add_number(Effort *effort, Datum number)
{
	char	   *text;

	/* Enough is known. */
	if (effort->written_bytes > MAX_WRITTEN_BYTES)
		return;
	text = DatumGetCString(DirectFunctionCall1(numeric_out, number));
	effort->written_bytes += strlen(text);
	pfree(text);
}

static void
add_jsonb(Effort *effort, Jsonb *jsonb)
{
	JsonbIterator *iterator = JsonbIteratorInit(&jsonb->root);
	JsonbValue	value;
	JsonbIteratorToken token;

	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		effort->written_bytes += BYTES_OF_COLUMN;
		if ((token == WJB_ELEM || token == WJB_VALUE) && value.type == jbvNumeric)
			add_number(effort, NumericGetDatum(value.val.numeric));
	}
	effort->written_bytes += VARSIZE(jsonb);
}

static void
add_array(Effort *effort, ArrayType *array)
{
	Oid			type = getBaseType(ARR_ELEMTYPE(array));
	ArrayIterator iterator;
	Datum		element;
	bool		isnull;

	effort->written_bytes += VARSIZE(array) +
		(double) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) * BYTES_OF_COLUMN;
	if (type != NUMERICOID || effort->written_bytes > MAX_WRITTEN_BYTES)
		return;
	iterator = array_create_iterator(array, 0, NULL);
	while (array_iterate(iterator, &element, &isnull))
	{
		CHECK_FOR_INTERRUPTS();
		if (!isnull)
			add_number(effort, element);
	}
	array_free_iterator(iterator);
}

/* Whether numbers can be in a value of a type, which take far more as text. */
static bool
may_have_numbers(Oid type)
{
	type = getBaseType(type);
	if (OidIsValid(get_element_type(type)))
		type = getBaseType(get_element_type(type));
	if (get_typtype(type) == TYPTYPE_MULTIRANGE)
		type = get_multirange_range(type);
	if (get_typtype(type) == TYPTYPE_RANGE)
		return getBaseType(get_range_subtype(type)) == NUMERICOID;
	return get_typtype(type) == TYPTYPE_COMPOSITE || type == JSONPATHOID || type == JSONBOID;
}

/* What a constant takes as text. */
static void
add_constant(Effort *effort, const Const *constant)
{
	Oid			type = getBaseType(constant->consttype);

	if (constant->constisnull || constant->constlen != -1)
		return;
	if (type == NUMERICOID)
		add_number(effort, constant->constvalue);
	else if (type == JSONBOID)
		add_jsonb(effort, DatumGetJsonbP(constant->constvalue));
	else if (may_have_numbers(type))
		effort->written_bytes += (double) VARSIZE_ANY(DatumGetPointer(constant->constvalue)) * DIGITS_OF_BYTE;
	else if (OidIsValid(get_element_type(type)))
		add_array(effort, DatumGetArrayTypeP(constant->constvalue));
	else
		effort->written_bytes += VARSIZE_ANY(DatumGetPointer(constant->constvalue));
}

static bool
add_aggregate(Aggref * aggregate, Effort *effort)
{
	Again		outer = effort->again;

	add_function(effort, aggregate->aggfnoid);
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
			add_reference(effort, (Var *) node);
			break;
		case T_FieldSelect:
			effort->references += REFERENCES_OF_FIELD;
			break;
		case T_Const:
			add_constant(effort, (Const *) node);
			break;
		case T_FuncExpr:
			add_function(effort, ((FuncExpr *) node)->funcid);
			break;
		case T_Aggref:
			return add_aggregate((Aggref *) node, effort);
		case T_WindowFunc:
			add_function(effort, ((WindowFunc *) node)->winfnoid);
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			add_operator(effort, ((OpExpr *) node)->opno);
			break;
		case T_ScalarArrayOpExpr:
			add_operator(effort, ((ScalarArrayOpExpr *) node)->opno);
			break;
		case T_RowCompareExpr:
			{
				ListCell   *cell;

				foreach(cell, ((RowCompareExpr *) node)->opnos)
					add_operator(effort, lfirst_oid(cell));
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
	Effort		effort = {0};

	if (toast_raw_datum_size(PG_GETARG_DATUM(0)) > MAX_TREE_BYTES)
		PG_RETURN_BOOL(true);
	tree = text_to_cstring(PG_GETARG_TEXT_PP(0));
	effort.calls = flake_no_calls();
	(void) add_effort(stringToNode(tree), &effort);
	hash_destroy(effort.calls.names);
	PG_RETURN_BOOL(effort.comparisons > MAX_COMPARISONS ||
				   effort.references * effort.columns > MAX_LOOKUPS ||
				   effort.joined_columns > MAX_JOINED_COLUMNS ||
				   flake_calls_take_long(&effort.calls) ||
				   effort.written_bytes > MAX_WRITTEN_BYTES);
}
