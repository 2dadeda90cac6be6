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

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "trust/plain_ids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

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

bool
flake_gets_plain_ids(Relation rel, AttrNumber attribute, Oid function, Size longest)
{
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	OwnCalls	calls = {0};
	Node	   *value = NULL;

	calls.extension = getExtensionOfObject(ProcedureRelationId, function);
	for (int i = 0; constr != NULL && i < constr->num_defval; i++)
	{
		if (constr->defval[i].adnum != attribute)
			continue;
		if (strlen(constr->defval[i].adbin) > longest)
			return false;
		value = stringToNode(constr->defval[i].adbin);
	}
	for (calls.topmost = value; calls.topmost != NULL;)
	{
		if (IsA(calls.topmost, RelabelType))
			calls.topmost = (Node *) ((RelabelType *) calls.topmost)->arg;
		else if (IsA(calls.topmost, CoerceViaIO))
			calls.topmost = (Node *) ((CoerceViaIO *) calls.topmost)->arg;
		else if (IsA(calls.topmost, CoerceToDomain))
			calls.topmost = (Node *) ((CoerceToDomain *) calls.topmost)->arg;
		else if (IsA(calls.topmost, FuncExpr) &&
				 (((FuncExpr *) calls.topmost)->funcformat == COERCE_IMPLICIT_CAST ||
				  ((FuncExpr *) calls.topmost)->funcformat == COERCE_EXPLICIT_CAST))
			calls.topmost = linitial(((FuncExpr *) calls.topmost)->args);
		else
			break;
	}
	if (calls.topmost != NULL && IsA(calls.topmost, FuncExpr))
	{
		char	   *name = get_func_name(((FuncExpr *) calls.topmost)->funcid);

		if (name == NULL ||
			(strcmp(name, "flake_id") != 0 && strcmp(name, "flake_sibling") != 0 &&
			 strcmp(name, "flake_uuidv7") != 0))
			calls.topmost = NULL;
	}
	return !calls_own(value, &calls);
}
