/*-------------------------------------------------------------------------
 *
 * stored_call.c
 *	  Calls of flakeid's functions in expressions that catalogs have: defaults
 *	  that mint, and checks of the shard.
 *
 * The expressions are anybody's.  PostgreSQL locks a table to show one as text, for
 * which its owner can make others wait, and looks at all columns of the table each
 * time.  So they are read as the trees that they are, and nothing is locked,
 * evaluated or printed.  One that is long is not read: its nodes could take more
 * stack than this session has.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_language.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "sql/stored_call.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_minted_shard);
PG_FUNCTION_INFO_V1(flake_checked_shards);

/* In catalogs a call of flake_id() takes less than 2,000 bytes, */
#define LONGEST_DEFAULT		8192

/* and a check of one of 100 shards less than 30,000. */
#define LONGEST_CHECK		32768

/* The tree, or NULL if it is too long. */
static Node *
read_tree(Datum nodes, Size longest)
{
	if (toast_raw_datum_size(nodes) >= longest)
		return NULL;
	return stringToNode(TextDatumGetCString(nodes));
}

bool
flake_is_own_function(Oid other, Oid function)
{
	Oid			oids[] = {other, function};
	Oid			owners[2];
	Oid			schemas[2];

	for (int i = 0; i < 2; i++)
	{
		HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(oids[i]));
		Form_pg_proc form;

		if (!HeapTupleIsValid(tuple))
			return false;
		form = (Form_pg_proc) GETSTRUCT(tuple);
		owners[i] = form->prolang == ClanguageId ? form->proowner : InvalidOid;
		schemas[i] = form->pronamespace;
		ReleaseSysCache(tuple);
	}
	return OidIsValid(owners[0]) && owners[0] == owners[1] && schemas[0] == schemas[1] &&
		getExtensionOfObject(ProcedureRelationId, other) ==
		getExtensionOfObject(ProcedureRelationId, function);
}

/*
 * Puts the arguments of a call in the order of the function's, without their names;
 * false if one is left out before another.
 */
static bool
put_in_order(FuncExpr *call)
{
	int			count = list_length(call->args);
	Node	  **args = palloc0(Max(count, 1) * sizeof(Node *));
	List	   *ordered = NIL;

	for (int i = 0; i < count; i++)
	{
		Node	   *arg = list_nth(call->args, i);
		int			number = i;

		if (IsA(arg, NamedArgExpr))
		{
			number = ((NamedArgExpr *) arg)->argnumber;
			arg = (Node *) ((NamedArgExpr *) arg)->arg;
		}
		if (number >= count)
			return false;
		args[number] = arg;
	}
	for (int i = 0; i < count; i++)
		ordered = lappend(ordered, args[i]);
	call->args = ordered;
	return true;
}

/*
 * A node that is a call of the extension's function of that name, with its arguments in
 * order, or NULL.
 */
static FuncExpr *
own_call(Node *node, const char *name, Oid function)
{
	FuncExpr   *call = (FuncExpr *) node;
	char	   *called;

	if (node == NULL || !IsA(node, FuncExpr))
		return NULL;
	called = get_func_name(call->funcid);
	if (called == NULL || strcmp(called, name) != 0 ||
		!flake_is_own_function(call->funcid, function) || !put_in_order(call))
		return NULL;
	return call;
}

FuncExpr *
flake_stored_minting(Datum nodes, Oid function, bool *is_uuid)
{
	Node	   *node = strip_implicit_coercions(read_tree(nodes, LONGEST_DEFAULT));
	FuncExpr   *call = own_call(node, "flake_id", function);

	*is_uuid = call == NULL;
	return *is_uuid ? own_call(node, "flake_uuidv7", function) : call;
}

/* A constant of a type, which is not null, or NULL. */
static Const *
constant(Node *node, Oid type)
{
	Const	   *value = (Const *) node;

	if (!IsA(node, Const) || value->constisnull || value->consttype != type)
		return NULL;
	return value;
}

/*
 * _flake_minted_shard(expression pg_node_tree) returns int
 *
 * The shard of a default flake_id(shard) or flake_id(shard, generator), or of
 * flake_uuidv7() in their place, with constants; null for anything else.
 */
Datum
flake_minted_shard(PG_FUNCTION_ARGS)
{
	bool		is_uuid;
	FuncExpr   *call = flake_stored_minting(PG_GETARG_DATUM(0), fcinfo->flinfo->fn_oid,
											&is_uuid);
	Const	   *shard;

	if (call == NULL || call->args == NIL ||
		(list_length(call->args) > 1 && constant(lsecond(call->args), REGCLASSOID) == NULL))
		PG_RETURN_NULL();
	shard = constant(linitial(call->args), INT4OID);
	if (shard == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(shard->constvalue);
}

/* The column that an expression is, perhaps cast to another type; or 0. */
static AttrNumber
column_of(Node *node)
{
	for (;;)
	{
		FuncExpr   *call = (FuncExpr *) node;

		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, CoerceViaIO))
			node = (Node *) ((CoerceViaIO *) node)->arg;
		else if (IsA(node, FuncExpr) && list_length(call->args) == 1 &&
				 (call->funcformat == COERCE_EXPLICIT_CAST ||
				  call->funcformat == COERCE_IMPLICIT_CAST))
			node = linitial(call->args);
		else
			break;
	}
	return IsA(node, Var) ? ((Var *) node)->varattno : InvalidAttrNumber;
}

/* An int[] that has the constants of a list; NULL if there is anything else. */
static ArrayType *
array_of_constants(List *list)
{
	Datum	   *values = palloc(Max(list_length(list), 1) * sizeof(Datum));
	int			count = 0;
	ListCell   *lc;

	foreach(lc, list)
	{
		Const	   *value = constant(lfirst(lc), INT4OID);

		if (value == NULL)
			return NULL;
		values[count++] = value->constvalue;
	}
	return construct_array(values, count, INT4OID, sizeof(int32), true, TYPALIGN_INT);
}

/* The constants that IN or ANY compares with, or NULL. */
static ArrayType *
compared_with(Node *node)
{
	Const	   *constants;
	ArrayType  *array;

	if (IsA(node, ArrayExpr) && !((ArrayExpr *) node)->multidims)
		return array_of_constants(((ArrayExpr *) node)->elements);
	constants = constant(node, INT4ARRAYOID);
	if (constants == NULL)
		return NULL;
	array = DatumGetArrayTypeP(constants->constvalue);
	return ARR_NDIM(array) == 1 && !array_contains_nulls(array) ? array : NULL;
}

/*
 * _flake_checked_shards(expression pg_node_tree, OUT attribute int2,
 *	OUT shards int[], OUT layout flake_layout) returns record
 *
 * What a check flake_shard(attribute, layout) = ANY (shards) says, of the forms that
 * it can have: a null layout was left out, and all is null for another expression.
 */
Datum
flake_checked_shards(PG_FUNCTION_ARGS)
{
	Node	   *tree = read_tree(PG_GETARG_DATUM(0), LONGEST_CHECK);
	Node	   *compared = NULL;
	ArrayType  *shards = NULL;
	FuncExpr   *call = NULL;
	Const	   *layout = NULL;
	AttrNumber	attribute = InvalidAttrNumber;
	Datum		values[3] = {0};
	bool		nulls[3] = {true, true, true};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (tree != NULL && IsA(tree, OpExpr) && ((OpExpr *) tree)->opno == Int4EqualOperator)
	{
		List	   *args = ((OpExpr *) tree)->args;
		bool		is_turned = IsA(linitial(args), Const); /* 5 = flake_shard(id) */

		compared = is_turned ? lsecond(args) : linitial(args);
		shards = array_of_constants(list_make1(is_turned ? linitial(args) : lsecond(args)));
	}
	else if (tree != NULL && IsA(tree, ScalarArrayOpExpr) &&
			 ((ScalarArrayOpExpr *) tree)->opno == Int4EqualOperator &&
			 ((ScalarArrayOpExpr *) tree)->useOr)
	{
		List	   *args = ((ScalarArrayOpExpr *) tree)->args;

		compared = linitial(args);
		shards = compared_with(lsecond(args));
	}
	if (shards != NULL)
		call = own_call(compared, "flake_shard", fcinfo->flinfo->fn_oid);
	if (call != NULL && call->args != NIL)
	{
		attribute = column_of(linitial(call->args));
		if (list_length(call->args) > 1)
		{
			layout = constant(lsecond(call->args), TupleDescAttr(desc, 2)->atttypid);
			if (layout == NULL)
				attribute = InvalidAttrNumber;
		}
	}
	if (attribute != InvalidAttrNumber)
	{
		values[0] = Int16GetDatum(attribute);
		values[1] = PointerGetDatum(shards);
		nulls[0] = nulls[1] = false;
		nulls[2] = layout == NULL;
		if (layout != NULL)
			values[2] = layout->constvalue;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
