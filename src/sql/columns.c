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
 * Others may move rows between these tables meanwhile, into new ones, too.  So one
 * snapshot is searched, taken when all tables are locked, and it is this snapshot that
 * says which tables are all.  What is moved earlier is found where it has gone to, and
 * what is moved later where it was.
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
#include "catalog/pg_inherits.h"
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
#include "utils/resowner.h"
#include "utils/snapmgr.h"
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

/* The list, with the column added of which this is the default. */
static List *
add_column_of_default(List *columns, Oid attrdef, Snapshot snapshot)
{
	Relation	pg_attrdef = table_open(AttrDefaultRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_attrdef_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(attrdef));
	scan = systable_beginscan(pg_attrdef, AttrDefaultOidIndexId, true, snapshot,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attrdef form = (Form_pg_attrdef) GETSTRUCT(tuple);

		columns = add_column(columns, form->adrelid, form->adnum);
	}
	systable_endscan(scan);
	table_close(pg_attrdef, AccessShareLock);
	return columns;
}

/*
 * The list, with the columns added whose defaults depend on an object, in a snapshot,
 * or now if that is NULL.
 */
static List *
add_defaults(List *columns, Oid class, Oid object, Snapshot snapshot)
{
	Relation	pg_depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(class));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(pg_depend, DependReferenceIndexId, true, snapshot,
							  2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->classid == AttrDefaultRelationId)
			columns = add_column_of_default(columns, depend->objid, snapshot);
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

/* The same as flake_find_columns(), in a snapshot, or now if that is NULL. */
static List *
find_columns(Oid sequence, Oid function, Snapshot snapshot)
{
	Oid			key = flake_generator_key(sequence, function);
	List	   *columns = add_defaults(NIL, RelationRelationId, sequence, snapshot);
	Oid			owner;
	int32		attribute;

	for (size_t i = 0; i < lengthof(minting_functions); i++)
	{
		if (minting_functions[i].generator == key)
			columns = add_defaults(columns, ProcedureRelationId,
								   own_function(minting_functions[i].name,
												minting_functions[i].nargs,
												function),
								   snapshot);
	}

	/* An owner changes only while the sequence is locked. */
	if (sequenceIsOwned(sequence, DEPENDENCY_AUTO, &owner, &attribute))
		columns = add_column(columns, owner, attribute);
	return sort_columns(columns);
}

List *
flake_find_columns(Oid sequence, Oid function)
{
	return find_columns(sequence, function, NULL);
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
search_column(Relation rel, List *tables, Snapshot snapshot, AttrNumber attribute,
			  int64 below, Oid function, FlakeUuidReader read_uuid, Patience *patience,
			  LiveIds *live)
{
	char	   *hint = psprintf("If no id above %lld is in use, pass force => true.",
								(long long) below);
	Search		search = flake_search_tree(rel, tables, snapshot, attribute, below, hint,
										   function, read_uuid, patience);

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

/*
 * The list, with the tables added that are to be searched and are not in it: in a
 * snapshot, or now if that is NULL.
 */
static List *
add_tables(List *tables, Oid sequence, Oid function, Snapshot snapshot)
{
	ListCell   *lc;

	foreach(lc, find_columns(sequence, function, snapshot))
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
	ResourceOwner owner;		/* of the snapshot */
	Snapshot	snapshot;
} ToSearch;

/* Whether those that a snapshot shows to inherit from a table are locked with it. */
static bool
are_all_heirs(const ToLock *table, Snapshot snapshot)
{
	Relation	pg_inherits = table_open(InheritsRelationId, AccessShareLock);
	bool		are_all = true;
	ListCell   *lc;

	foreach(lc, table->members)
	{
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple	tuple;

		ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(lfirst_oid(lc)));
		scan = systable_beginscan(pg_inherits, InheritsParentIndexId, true, snapshot,
								  1, &key);
		while (are_all && HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

			/* DETACH CONCURRENTLY: find_inheritance_children() leaves it out. */
			are_all = form->inhdetachpending ||
				list_member_oid(table->members, form->inhrelid);
		}
		systable_endscan(scan);
	}
	table_close(pg_inherits, AccessShareLock);
	return are_all;
}

/*
 * With all tables locked, takes the snapshot.  False, without one, if it shows a table
 * that was made meanwhile and takes its defaults from the generator, or inherits from
 * one that does.  What the catalogs say now would not do: rows may have gone into a
 * table and out again.
 */
static bool
take_snapshot(void *arg)
{
	ToSearch   *search = arg;
	int			count = list_length(search->tables);
	bool		are_all;
	ListCell   *lc;

	search->snapshot = RegisterSnapshotOnOwner(GetLatestSnapshot(), search->owner);
	search->tables = add_tables(search->tables, search->sequence, search->function,
								search->snapshot);
	are_all = list_length(search->tables) == count;
	foreach(lc, search->tables)
		are_all = are_all && are_all_heirs(lfirst(lc), search->snapshot);
	if (!are_all)
		UnregisterSnapshotFromOwner(search->snapshot, search->owner);
	return are_all;
}

LiveTables
flake_lock_live_ids(Oid sequence, Oid function)
{
	TimestampTz began = GetCurrentTimestamp();
	ToSearch	search = {.sequence = sequence,.function = function,.owner = CurrentResourceOwner};
	List	   *all;
	int			tries = 0;

	search.tables = add_tables(NIL, sequence, function, NULL);
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
	} while (!flake_lock_all(all, true, began, take_snapshot, &search));
	return (LiveTables)
	{
		.tables = search.tables,.snapshot = search.snapshot
	};
}

LiveIds
flake_find_live_ids(Oid sequence, const LiveTables *live_tables, int64 below, Oid function)
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
		ToLock	   *table = find_table(live_tables->tables, column->objectId);
		Relation	rel;

		/*
		 * What is dropped meanwhile takes its ids along.  What is made, and
		 * gets rows of the others, is not what the snapshot shows.
		 */
		if (table == NULL || table->members == NIL)
			continue;
		rel = relation_open(column->objectId, NoLock);
		if (!TupleDescAttr(RelationGetDescr(rel),
						   column->objectSubId - 1)->attisdropped)
			search_column(rel, table->members, live_tables->snapshot,
						  column->objectSubId, below, function, read_uuid, &patience,
						  &live);
		relation_close(rel, NoLock);
	}
	UnregisterSnapshot(live_tables->snapshot);
	return live;
}
