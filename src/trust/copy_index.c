/*-------------------------------------------------------------------------
 *
 * copy.c
 *	  A SQL function that copies an index: for flake_create_shard().
 *
 * The expressions and the predicate of an index are copied as trees, as CREATE
 * TABLE ... LIKE copies checks.  So they go on to mean the functions, operators
 * and types that they mean in the original, whatever is called like these now.
 * As text they would be bound anew.  LIKE itself would give the index another
 * name.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_utilcmd.h"
#include "tcop/utility.h"
#include "trust/relation.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_copy_index);

/*
 * What CREATE INDEX, or ALTER TABLE with a key, would do if it could be given
 * trees.  Its name is the original's.
 */
static IndexStmt *
copy_of_index(Relation index, Relation original, Relation table)
{
	RangeVar   *name;
	AttrMap    *columns;
	IndexStmt  *statement;

	name = makeRangeVar(get_namespace_name(RelationGetNamespace(table)),
						pstrdup(RelationGetRelationName(table)), -1);
	name->inh = false;
	columns = build_attrmap_by_name(RelationGetDescr(table),
									RelationGetDescr(original)
#if PG_VERSION_NUM >= 160000
									,false
#endif
		);
	statement = generateClonedIndexStmt(name, index, columns, NULL);
	statement->idxname = pstrdup(RelationGetRelationName(index));
	return statement;
}

static void
execute(IndexStmt * statement)
{
	PlannedStmt *plan = makeNode(PlannedStmt);

	plan->commandType = CMD_UTILITY;
	plan->utilityStmt = (Node *) statement;
	plan->stmt_location = -1;
	ProcessUtility(plan, "SELECT _flake_copy_index(...)", false,
				   PROCESS_UTILITY_QUERY, NULL, NULL, None_Receiver, NULL);
}

/* Opens a table that the user owns. */
static Relation
open_own_table(Oid table, LOCKMODE mode)
{
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", table)));
	if (!has_privs_of_role(GetUserId(), flake_relation_owner(table)))
		aclcheck_error(ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(get_rel_relkind(table)),
					   get_rel_name(table));
	return relation_open(table, mode);
}

/*
 * _flake_copy_index(index oid, target regclass) returns void
 *
 * Makes an index of a table, with the constraint that it is for, for another
 * table with such columns, too, in that one's schema.  The user must own both
 * tables.
 */
Datum
flake_copy_index(PG_FUNCTION_ARGS)
{
	Oid			index_oid = PG_GETARG_OID(0);
	Oid			original_oid = IndexGetRelation(index_oid, true);
	Relation	original;
	Relation	index;
	Relation	table;
	IndexStmt  *statement;

	if (!OidIsValid(original_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u does not exist", index_oid)));
	original = open_own_table(original_oid, AccessShareLock);
	index = index_open(index_oid, AccessShareLock);
	table = open_own_table(PG_GETARG_OID(1), ShareLock);
	statement = copy_of_index(index, original, table);
	relation_close(table, NoLock);
	index_close(index, NoLock);
	relation_close(original, NoLock);
	execute(statement);
	PG_RETURN_VOID();
}
