/*-------------------------------------------------------------------------
 *
 * columns.c
 *	  The columns that a generator's ids go into.
 *
 * The catalogs know which columns have a default that mints from a generator,
 * and which own it.  flake_rewind() searches these for ids that could come again.
 * Columns are found by their numbers, and no name is resolved on the way: see
 * trust/search.c for why.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "parser/parse_func.h"
#include "sql/columns.h"
#include "sql/stored_call.h"
#include "sql/uuidv7.h"
#include "trust/lock_all.h"
#include "trust/search.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_columns);

/* Functions that mint from a generator of the extension's own. */
static const struct
{
	const char *name;
	Oid			generator;		/* the key of the one that it mints from */
	int			nargs;			/* at most one, an int */
}			minting_functions[] =

{
	{"flake_id", FLAKE_DEFAULT, 0},
	{"flake_id", FLAKE_DEFAULT, 1},
	{"flake_uuid", FLAKE_UUID, 0},
	{"flake_objectid", FLAKE_OBJECTID, 0},
	{"flake_uuidv7", FLAKE_UUIDV7, 0},
	{"flake_uuidv7", FLAKE_UUIDV7, 1},
};

/* The list, with a column added, which may be in it. */
static List *
add_column(List *columns, Oid relation, int32 attribute)
{
	ObjectAddress *column = palloc(sizeof(ObjectAddress));

	ObjectAddressSubSet(*column, RelationRelationId, relation, attribute);
	return lappend(columns, column);
}

/* For list_sort(): by table, the oldest first, then by number. */
static int
compare_columns(const ListCell *a, const ListCell *b)
{
	const ObjectAddress *column_a = lfirst(a);
	const ObjectAddress *column_b = lfirst(b);

	if (column_a->objectId != column_b->objectId)
		return column_a->objectId < column_b->objectId ? -1 : 1;
	return (column_a->objectSubId > column_b->objectSubId) -
		(column_a->objectSubId < column_b->objectSubId);
}

/* The list, sorted, with each column once. */
static List *
sort_columns(List *columns)
{
	List	   *result = NIL;
	ListCell   *lc;

	list_sort(columns, compare_columns);
	foreach(lc, columns)
	{
		const ObjectAddress *last = result == NIL ? NULL : llast(result);
		ObjectAddress *column = lfirst(lc);

		if (last == NULL || last->objectId != column->objectId ||
			last->objectSubId != column->objectSubId)
			result = lappend(result, column);
	}
	list_free(columns);
	return result;
}

/* The list, with the columns added whose defaults depend on an object. */
static List *
add_defaults(List *columns, Oid class, Oid object)
{
	Relation	pg_depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(class));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(pg_depend, DependReferenceIndexId, true, NULL,
							  2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress column;

		if (depend->classid != AttrDefaultRelationId)
			continue;
		column = GetAttrDefaultColumnAddress(depend->objid);
		if (OidIsValid(column.objectId))
			columns = add_column(columns, column.objectId,
								 column.objectSubId);
	}
	systable_endscan(scan);
	table_close(pg_depend, AccessShareLock);
	return columns;
}

/*
 * A function of the extension that function belongs to: of that name in the
 * same schema, and not somebody else's, whose schema it may be.
 */
static Oid
own_function(const char *name, int nargs, Oid function)
{
	Oid			argument = INT4OID;
	oidvector  *arguments = buildoidvector(&argument, nargs);
	Oid			found = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
										CStringGetDatum(name),
										PointerGetDatum(arguments),
										ObjectIdGetDatum(get_func_namespace(function)));

	if (!OidIsValid(found) || !flake_is_own_function(found, function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function %s does not exist",
						funcname_signature_string(name, nargs, NIL, &argument)),
				 errdetail("It belongs to extension \"flakeid\"."),
				 errhint("Create the extension again.")));
	return found;
}

List *
flake_find_columns(Oid sequence, Oid function)
{
	Oid			key = flake_generator_key(sequence, function);
	List	   *columns = add_defaults(NIL, RelationRelationId, sequence);
	Oid			owner;
	int32		attribute;

	for (size_t i = 0; i < lengthof(minting_functions); i++)
	{
		if (minting_functions[i].generator == key)
			columns = add_defaults(columns, ProcedureRelationId,
								   own_function(minting_functions[i].name,
												minting_functions[i].nargs,
												function));
	}
	if (sequenceIsOwned(sequence, DEPENDENCY_AUTO, &owner, &attribute))
		columns = add_column(columns, owner, attribute);
	return sort_columns(columns);
}

/* flake_columns(generator regclass) returns setof record */
Datum
flake_columns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, flake_find_columns(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid))
	{
		ObjectAddress *column = lfirst(lc);
		char	   *attribute = get_attname(column->objectId,
											column->objectSubId, true);
		NameData	name;
		Datum		values[2];
		bool		nulls[2] = {false, false};

		if (attribute == NULL)
			continue;			/* it has been dropped meanwhile */
		namestrcpy(&name, attribute);
		values[0] = ObjectIdGetDatum(column->objectId);
		values[1] = NameGetDatum(&name);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* Searches a column that takes its values from a generator. */
static void
search_column(Relation rel, List *tables, AttrNumber attribute, int64 below, Oid function,
			  FlakeUuidReader read_uuid, Patience *patience, LiveIds *live)
{
	char	   *hint = psprintf("If no id above %lld is in use, pass force => true.",
								(long long) below);
	Search		search = flake_search_tree(rel, tables, attribute, below, hint, function,
										   read_uuid, patience);

	live->columns++;
	if (search.found && (live->column == NULL || search.max > live->id))
	{
		live->column = search.column;
		live->id = search.max;
	}
}

/* The one of a list of ToLock that a table is; or NULL. */
static ToLock *
find_table(List *tables, Oid relation)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		ToLock	   *table = lfirst(lc);

		if (table->relation == relation)
			return table;
	}
	return NULL;
}

/* The list, with the tables added that are to be searched and are not in it. */
static List *
add_tables(List *tables, Oid sequence, Oid function)
{
	ListCell   *lc;

	foreach(lc, flake_find_columns(sequence, function))
	{
		Oid			relation = ((ObjectAddress *) lfirst(lc))->objectId;

		if (!isOtherTempNamespace(get_rel_namespace(relation)) &&
			find_table(tables, relation) == NULL)
			tables = flake_add_to_lock(tables, relation, AccessShareLock, REACH_HEIRS);
	}
	return tables;
}

/* How often all are locked anew, with the tables that others have made meanwhile. */
#define MAX_TRIES	20

/* What is to be locked: the tables, as a list of ToLock, and the generator. */
typedef struct ToSearch
{
	Oid			sequence;
	Oid			function;
	List	   *tables;
} ToSearch;

/* Whether nobody has made a table meanwhile that takes its defaults from it. */
static bool
are_all_tables(void *arg)
{
	ToSearch   *search = arg;
	int			count = list_length(search->tables);

	search->tables = add_tables(search->tables, search->sequence, search->function);
	return list_length(search->tables) == count;
}

List *
flake_lock_live_ids(Oid sequence, Oid function)
{
	TimestampTz began = GetCurrentTimestamp();
	ToSearch	search = {.sequence = sequence,.function = function};
	List	   *all;
	int			tries = 0;

	(void) are_all_tables(&search);
	do
	{
		if (tries++ == MAX_TRIES)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not obtain lock on relation \"%s\"",
							get_rel_name(((ToLock *) llast(search.tables))->relation)),
					 errdetail("Tables with defaults from generator \"%s\" were made again and again.",
							   get_rel_name(sequence))));
		all = flake_add_to_lock(list_copy(search.tables), sequence, AccessExclusiveLock,
								REACH_NONE);
	} while (!flake_lock_all(all, true, began, are_all_tables, &search));
	return search.tables;
}

LiveIds
flake_find_live_ids(Oid sequence, List *tables, int64 below, Oid function)
{
	LiveIds		live = {0};
	Patience	patience = PATIENCE_OR_ERROR;
	FlakeLayout layout;
	FlakeUuidReader read_uuid;
	ListCell   *lc;

	(void) flake_generator_layout(sequence, function, false, &layout);
	read_uuid = flake_layout_is_uuid(&layout) ? flake_uuidv7_read : NULL;

	foreach(lc, flake_find_columns(sequence, function))
	{
		ObjectAddress *column = lfirst(lc);
		ToLock	   *table = find_table(tables, column->objectId);
		Relation	rel;

		/* What is dropped meanwhile takes its ids along. */
		if (table == NULL || table->members == NIL)
			continue;
		rel = relation_open(column->objectId, NoLock);
		if (!TupleDescAttr(RelationGetDescr(rel),
						   column->objectSubId - 1)->attisdropped)
			search_column(rel, table->members, column->objectSubId, below, function,
						  read_uuid, &patience, &live);
		relation_close(rel, NoLock);
	}
	return live;
}
