/*-------------------------------------------------------------------------
 *
 * plain_ids.c
 *	  Whether the ids in a column are as they were minted.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "trust/plain_ids.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* For looking for calls of the extension's functions, but for one. */
typedef struct OwnCalls
{
	Oid			extension;
	Node	   *topmost;
} OwnCalls;

static bool
calls_own(Node *node, OwnCalls *calls)
{
	if (node == NULL || node == calls->topmost)
		return false;
	if (IsA(node, FuncExpr) &&
		getExtensionOfObject(ProcedureRelationId,
							 ((FuncExpr *) node)->funcid) == calls->extension)
		return true;
	return expression_tree_walker(node, calls_own, calls);
}

/*
 * The default of a domain, a pg_node_tree; NULL if it has none, or the type is no
 * domain.  One that takes more than longest bytes is not read, but "".
 */
static const char *
default_of_domain(Oid type, Size longest)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	const char *nodes = NULL;
	bool		is_null;
	Datum		value;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	value = SysCacheGetAttr(TYPEOID, tuple, Anum_pg_type_typdefaultbin, &is_null);
	if (!is_null && ((Form_pg_type) GETSTRUCT(tuple))->typtype == TYPTYPE_DOMAIN)
		nodes = toast_raw_datum_size(value) - VARHDRSZ > longest ? ""
			: TextDatumGetCString(value);
	ReleaseSysCache(tuple);
	return nodes;
}

/*
 * The default of a column, also that of its domain, or NULL; "" if it takes more than
 * longest bytes.
 */
static const char *
default_of_column(Relation rel, AttrNumber attribute, Size longest)
{
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(rel), attribute - 1);

	for (int i = 0; constr != NULL && i < constr->num_defval; i++)
	{
		if (constr->defval[i].adnum == attribute)
			return strlen(constr->defval[i].adbin) > longest ? "" : constr->defval[i].adbin;
	}
	return form->attidentity == '\0' ? default_of_domain(form->atttypid, longest) : NULL;
}

bool
flake_has_default(Relation rel, AttrNumber attribute)
{
	return default_of_column(rel, attribute, 0) != NULL;
}

bool
flake_gets_plain_ids(Relation rel, AttrNumber attribute, Oid function, Size longest)
{
	const char *nodes = default_of_column(rel, attribute, longest);
	OwnCalls	calls = {0};
	Node	   *value = NULL;

	calls.extension = getExtensionOfObject(ProcedureRelationId, function);
	if (nodes != NULL && nodes[0] == '\0')
		return false;
	if (nodes != NULL)
		value = stringToNode(nodes);
	for (calls.topmost = value; calls.topmost != NULL;)
	{
		if (IsA(calls.topmost, RelabelType))
			calls.topmost = (Node *) ((RelabelType *) calls.topmost)->arg;
		else if (IsA(calls.topmost, CoerceViaIO))
			calls.topmost = (Node *) ((CoerceViaIO *) calls.topmost)->arg;
		else if (IsA(calls.topmost, CoerceToDomain))
			calls.topmost = (Node *) ((CoerceToDomain *) calls.topmost)->arg;
		else if (IsA(calls.topmost, FuncExpr) &&
				 ((FuncExpr *) calls.topmost)->funcid < FirstNormalObjectId &&
				 (((FuncExpr *) calls.topmost)->funcformat == COERCE_IMPLICIT_CAST ||
				  ((FuncExpr *) calls.topmost)->funcformat == COERCE_EXPLICIT_CAST))
			calls.topmost = linitial(((FuncExpr *) calls.topmost)->args);
		else
			break;
	}
	if (calls.topmost != NULL && IsA(calls.topmost, FuncExpr))
	{
		Oid			called = ((FuncExpr *) calls.topmost)->funcid;
		char	   *name = get_func_name(called);

		if (name == NULL ||
			getExtensionOfObject(ProcedureRelationId, called) != calls.extension ||
			(strcmp(name, "flake_id") != 0 && strcmp(name, "flake_sibling") != 0 &&
			 strcmp(name, "flake_uuidv7") != 0))
			calls.topmost = NULL;
	}
	return !calls_own(value, &calls);
}
