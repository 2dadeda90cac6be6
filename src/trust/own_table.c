/*-------------------------------------------------------------------------
 *
 * own_table.c
 *	  The extension's own tables, as relations.
 *
 * They are read and written by way of the access methods, not by SQL: nothing of
 * anybody (trigger, rule, policy, default, cast, operator) is executed on the way,
 * no name is resolved but here, and nobody's rights are needed but the caller's to
 * call the function.  So a table must be exactly the one that the install script
 * has made:
 *
 *	T1	It is in the schema of the function that was called, and has its owner and
 *		its extension.  (The creator of the extension may add tables to it, but
 *		does not own it: a superuser does.)
 *	T2	It is a plain permanent table in heap, with these columns.  Where one is of
 *		a type that the extension has made, that type is in the table's schema,
 *		and has its owner and its extension.
 *	T3	It has these indexes.  Others, such as REINDEX CONCURRENTLY makes, are of
 *		columns alone, with PostgreSQL's own operators.
 *
 * Those who write must do what SQL did unseen.  For each table, locks that are named
 * where it is written (shard/state.c, shard/lease.c) keep two from changing a row at
 * once, and keep true what one row says of another.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "trust/own_table.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(flake_regclass_in);

/* In place of a type's OID: the type flake_regclass. */
#define FLAKE_REGCLASS	InvalidOid

typedef struct Column
{
	const char *name;
	Oid			type;
	Oid			collation;
} Column;

static const struct
{
	const char *name;
	int			column_count;
	Column		columns[MAX_OWN_COLUMNS];
	Oid			access_method;	/* of the index */
	AttrNumber	keys[MAX_OWN_KEYS]; /* 0 where there is none */
	AttrNumber	second_keys[MAX_OWN_KEYS];
}			definitions[] =

{
	[SHARD_STATE] = {
		"flake_shard_state",
		STATE_COLUMNS,
		{
			{"generator", FLAKE_REGCLASS, InvalidOid},
			{"shard", INT4OID, InvalidOid},
			{"attached", BOOLOID, InvalidOid},
			{"after", INT8OID, InvalidOid},
			{"changed_at", TIMESTAMPTZOID, InvalidOid},
			{"backfilled", INT8OID, InvalidOid},
		},
		BTREE_AM_OID,
		{STATE_GENERATOR, STATE_SHARD},
		{0}
	},
	[LEASES] = {
		"flake_leases",
		LEASE_COLUMNS,
		{
			{"generator", FLAKE_REGCLASS, InvalidOid},
			{"shard", INT4OID, InvalidOid},
			{"owner", TEXTOID, C_COLLATION_OID},
			{"role", NAMEOID, C_COLLATION_OID},
			{"not_before", TIMESTAMPTZOID, InvalidOid},
			{"expires_at", TIMESTAMPTZOID, InvalidOid},
			{"renewed_at", TIMESTAMPTZOID, InvalidOid},
		},
		BTREE_AM_OID,
		{LEASE_GENERATOR, LEASE_SHARD},
		{LEASE_GENERATOR, LEASE_OWNER}
	},
	[SHARD_MAP] = {
		"flake_shard_map",
		MAP_COLUMNS,
		{
			{"shards", INT4RANGEOID, InvalidOid},
			{"server", NAMEOID, C_COLLATION_OID},
		},
		GIST_AM_OID,
		{MAP_SHARDS, 0},
		{0}
	},
};

/* T1: whether it belongs to the function. */
bool
flake_own_table_is_of(Relation rel, Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Oid			extension;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	result = form->pronamespace == RelationGetNamespace(rel) &&
		form->proowner == rel->rd_rel->relowner;
	ReleaseSysCache(tuple);
	extension = getExtensionOfObject(ProcedureRelationId, function);
	return result && OidIsValid(extension) &&
		getExtensionOfObject(RelationRelationId, RelationGetRelid(rel)) == extension;
}

/* T2: whether a type is flake_regclass, of the extension that a table is of. */
static bool
is_regclass_of(Relation rel, Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_type) GETSTRUCT(tuple);
	result = strcmp(NameStr(form->typname), "_flake_regclass") == 0 &&
		form->typnamespace == RelationGetNamespace(rel) &&
		form->typowner == rel->rd_rel->relowner;
	ReleaseSysCache(tuple);
	return result &&
		getExtensionOfObject(TypeRelationId, type) ==
		getExtensionOfObject(RelationRelationId, RelationGetRelid(rel));
}

/* T2: whether a column, by its number from 1 on, is NOT NULL. */
static bool
is_not_null(OwnTableId id, int column)
{
	return id != SHARD_STATE || (column != STATE_AFTER && column != STATE_BACKFILLED);
}

/* T2: whether it is a table with these columns. */
static bool
has_columns(Relation rel, OwnTableId id)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT ||
		rel->rd_rel->relam != HEAP_TABLE_AM_OID ||
		rel->rd_rel->relispartition ||
		desc->natts != definitions[id].column_count)
		return false;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		const Column *column = &definitions[id].columns[i];

		if (attribute->attisdropped ||
			strcmp(NameStr(attribute->attname), column->name) != 0 ||
			(column->type == FLAKE_REGCLASS
			 ? !is_regclass_of(rel, attribute->atttypid)
			 : attribute->atttypid != column->type) ||
			attribute->attcollation != column->collation ||
			attribute->attnotnull != is_not_null(id, i + 1))
			return false;
	}
	return true;
}

/* T3: whether all that an index calls is PostgreSQL's own. */
static bool
is_plain_index(Relation index)
{
	if (RelationGetIndexExpressions(index) != NIL ||
		RelationGetIndexPredicate(index) != NIL ||
		index->rd_rel->relam >= FirstNormalObjectId)
		return false;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		if (index->rd_opfamily[i] >= FirstNormalObjectId)
			return false;
	}
	return true;
}

/* Whether an index has exactly these keys, and finds every row. */
static bool
is_index_of(Relation index, Oid access_method, const AttrNumber keys[MAX_OWN_KEYS])
{
	Form_pg_index form = index->rd_index;
	int			nkeys = keys[1] != 0 ? 2 : 1;

	if (index->rd_rel->relam != access_method ||
		!form->indisvalid || !form->indisready || !form->indimmediate ||
		form->indisunique != (access_method == BTREE_AM_OID) ||
		form->indnatts != nkeys)
		return false;
	for (int i = 0; i < nkeys; i++)
	{
		if (form->indkey.values[i] != keys[i])
			return false;
	}
	return true;
}

/* Whether this transaction has a relation locked, in whatever mode. */
static bool
is_locked_by_us(Oid oid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, oid);
	for (LOCKMODE mode = AccessShareLock; mode <= AccessExclusiveLock; mode++)
	{
		if (flake_lock_is_held(&tag, mode))
			return true;
	}
	return false;
}

/*
 * Opens a relation; NULL if it is gone, or if that would mean waiting and wait is
 * false.  To try a lock fails where others wait for one that conflicts.  But what this
 * transaction has locked it can read: PostgreSQL lets it go before those.
 */
static Relation
open_relation(Oid oid, LOCKMODE lock, bool wait)
{
	Relation	rel;

	if (wait || (lock == AccessShareLock && is_locked_by_us(oid)))
		return try_relation_open(oid, lock);
	if (!ConditionalLockRelationOid(oid, lock))
		return NULL;
	rel = try_relation_open(oid, NoLock);
	if (rel == NULL)
		UnlockRelationOid(oid, lock);
	return rel;
}

/*
 * T3: finds the indexes; whether all are as they must be.  Those that the table is
 * going to be read by stay locked until it is closed, as it is.
 */
static bool
find_indexes(OwnTable *table, OwnTableId id, bool wait)
{
	List	   *indexes = RelationGetIndexList(table->rel);
	bool		all_are_plain = true;
	ListCell   *lc;

	table->index = InvalidOid;
	table->second_index = InvalidOid;
	foreach(lc, indexes)
	{
		Relation	index = open_relation(lfirst_oid(lc), AccessShareLock, wait);
		Oid		   *place = NULL;

		if (index == NULL)
		{
			all_are_plain = false;
			continue;
		}
		all_are_plain &= is_plain_index(index);
		if (is_index_of(index, definitions[id].access_method, definitions[id].keys))
			place = &table->index;
		else if (definitions[id].second_keys[0] != 0 &&
				 is_index_of(index, BTREE_AM_OID, definitions[id].second_keys))
			place = &table->second_index;
		if (place == NULL || OidIsValid(*place))
			relation_close(index, AccessShareLock);
		else
		{
			*place = RelationGetRelid(index);
			relation_close(index, NoLock);
		}
	}
	list_free(indexes);
	return all_are_plain && OidIsValid(table->index) &&
		(definitions[id].second_keys[0] == 0 || OidIsValid(table->second_index));
}

/*
 * Opens the relation that the name means.  If it was dropped while its lock was
 * waited for, the name is looked up again.
 */
static Relation
open_by_name(const char *name, Oid function, LOCKMODE lock)
{
	for (;;)
	{
		Oid			oid = get_relname_relid(name, get_func_namespace(function));
		Relation	rel;

		if (!OidIsValid(oid))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation \"%s\" does not exist", name),
					 errdetail("It belongs to extension \"flakeid\"."),
					 errhint("Create the extension again.")));
		rel = try_relation_open(oid, lock);
		if (rel != NULL)
			return rel;
		CHECK_FOR_INTERRUPTS();
		AcceptInvalidationMessages();
	}
}

/* Whether a table that is open is as expected; finds its indexes. */
static bool
is_as_expected(OwnTable *table, OwnTableId id, Oid function, bool wait)
{
	return flake_own_table_is_of(table->rel, function) &&
		has_columns(table->rel, id) &&
		find_indexes(table, id, wait);
}

OwnTable
flake_own_table_open(OwnTableId id, Oid function, LOCKMODE lock)
{
	const char *name = definitions[id].name;
	OwnTable	table;

	table.lock = lock;
	table.rel = open_by_name(name, function, lock);
	if (!is_as_expected(&table, id, function, true))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" is not the table that extension \"flakeid\" has made",
						name),
				 errdetail("It has another owner, kind, column or index, or does not belong to the extension."),
				 errhint("Undo what was changed, or create the extension again.")));
	return table;
}

static void
unlock_indexes(const OwnTable *table)
{
	if (OidIsValid(table->index))
		UnlockRelationOid(table->index, AccessShareLock);
	if (OidIsValid(table->second_index))
		UnlockRelationOid(table->second_index, AccessShareLock);
}

bool
flake_own_table_try_open(OwnTableId id, Oid function, LOCKMODE lock, bool wait,
						 OwnTable *table)
{
	Oid			oid = get_relname_relid(definitions[id].name,
										get_func_namespace(function));

	table->lock = lock;
	table->rel = OidIsValid(oid) ? open_relation(oid, lock, wait) : NULL;
	if (table->rel == NULL)
		return false;
	table->index = InvalidOid;
	table->second_index = InvalidOid;
	if (is_as_expected(table, id, function, wait))
		return true;
	unlock_indexes(table);
	relation_close(table->rel, lock);
	return false;
}

void
flake_own_table_close(OwnTable *table)
{
	unlock_indexes(table);
	relation_close(table->rel,
				   table->lock == AccessShareLock ? AccessShareLock : NoLock);
}

/* Locks a table and its indexes; false if that would mean waiting. */
static bool
lock_now(Oid oid, LOCKMODE lock)
{
	bool		is_locked = true;
	Relation	rel;
	ListCell   *lc;

	if (!ConditionalLockRelationOid(oid, lock))
		return false;
	rel = try_relation_open(oid, NoLock);
	if (rel == NULL)
		return true;
	foreach(lc, RelationGetIndexList(rel))
		is_locked = is_locked && ConditionalLockRelationOid(lfirst_oid(lc), AccessShareLock);
	relation_close(rel, NoLock);
	return is_locked;
}

bool
flake_own_table_keep(OwnTableId id, Oid function, LOCKMODE lock, bool wait)
{
	Oid			oid = get_relname_relid(definitions[id].name,
										get_func_namespace(function));
	OwnTable	table;

	if (!wait && OidIsValid(oid) && !lock_now(oid, lock))
		return false;
	table = flake_own_table_open(id, function, lock);
	relation_close(table.rel, NoLock);
	return true;
}

/*
 * _flake_regclass_in(cstring) returns _flake_regclass
 *
 * Needs no USAGE on the schema: the same rows are restored whoever does it, and
 * which names there are can be seen in the catalogs anyway.
 */
Datum
flake_regclass_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	char	   *schema;
	char	   *name;

	/* As regclass has them: an OID, or 0 */
	if (strspn(text, "0123456789") == strlen(text) || strcmp(text, "-") == 0)
		return DirectFunctionCall1(regclassin, CStringGetDatum(text));

	DeconstructQualifiedName(textToQualifiedNameList(cstring_to_text(text)),
							 &schema, &name);
	if (schema == NULL)
		PG_RETURN_OID(RelnameGetRelid(name));
	PG_RETURN_OID(get_relname_relid(name, get_namespace_oid(schema, true)));
}
