/*-------------------------------------------------------------------------
 *
 * live_ids.c
 *	  The ids of a generator that are in columns.
 *
 * flake_rewind() searches the columns that a generator's ids go into for ids that
 * could come again.
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
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_inherits.h"
#include "layout/layout.h"
#include "miscadmin.h"
#include "mint/definition.h"
#include "sql/columns.h"
#include "sql/live_ids.h"
#include "sql/uuidv7.h"
#include "trust/lock_all.h"
#include "trust/oid_set.h"
#include "trust/search.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* Searches a column that takes its values from a generator. */
static void
search_column(Oid relation, List *tables, Snapshot snapshot, AttrNumber attribute,
			  int64 below, Oid function, FlakeUuidReader read_uuid, Patience *patience,
			  LiveIds *live)
{
	char	   *hint = psprintf("If no id above %lld is in use, pass force => true.",
								(long long) below);
	Search		search = flake_search_tree(relation, tables, snapshot, attribute, below, hint,
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

/* Whether it is another session's temporary table, which only that one can read. */
static bool
is_unread(Oid relation)
{
	return isOtherTempNamespace(get_rel_namespace(relation));
}

/*
 * The list, with the tables added that are to be searched and are not in it: in a
 * snapshot, or now if that is NULL.
 */
static List *
add_tables(List *tables, Oid sequence, Oid function, Snapshot snapshot)
{
	ListCell   *lc;

	foreach(lc, flake_find_columns(sequence, function, snapshot))
	{
		Oid			relation = ((ObjectAddress *) lfirst(lc))->objectId;

		CHECK_FOR_INTERRUPTS();
		if (!is_unread(relation) && find_table(tables, relation) == NULL)
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
	HTAB	   *members = flake_oid_set(table->members);
	bool		are_all = true;
	ListCell   *lc;

	foreach(lc, table->members)
	{
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple	tuple;

		CHECK_FOR_INTERRUPTS();

		ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(lfirst_oid(lc)));
		scan = systable_beginscan(pg_inherits, InheritsParentIndexId, true, snapshot,
								  1, &key);
		while (are_all && HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

			/* DETACH CONCURRENTLY: find_inheritance_children() leaves it out. */
			are_all = form->inhdetachpending ||
				flake_oid_set_has(members, form->inhrelid);
		}
		systable_endscan(scan);
	}
	hash_destroy(members);
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

/* The list, with those of the tables added that are unread, which may be in it. */
static List *
add_unread(List *unread, const List *relations)
{
	ListCell   *lc;

	foreach(lc, relations)
	{
		if (is_unread(lfirst_oid(lc)))
			unread = lappend_oid(unread, lfirst_oid(lc));
	}
	return unread;
}

/* Whether a column has not been dropped. */
static bool
is_there(const ObjectAddress *column)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(column->objectId),
										Int16GetDatum((int16) column->objectSubId));
	bool		result = HeapTupleIsValid(tuple) &&
	!((Form_pg_attribute) GETSTRUCT(tuple))->attisdropped;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
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

	/* ALTER DOMAIN could have changed defaults since. */
	foreach(lc, flake_find_columns(sequence, function, live_tables->snapshot))
	{
		ObjectAddress *column = lfirst(lc);
		ToLock	   *table = find_table(live_tables->tables, column->objectId);

		CHECK_FOR_INTERRUPTS();
		live.unread = add_unread(live.unread, table == NULL
								 ? list_make1_oid(column->objectId) : table->members);

		/*
		 * What is dropped meanwhile takes its ids along.  What is made, and
		 * gets rows of the others, is not what the snapshot shows.
		 */
		if (table == NULL || table->members == NIL)
			continue;
		if (is_there(column))
			search_column(column->objectId, table->members, live_tables->snapshot,
						  column->objectSubId, below, function, read_uuid, &patience,
						  &live);
	}
	list_sort(live.unread, list_oid_cmp);
	list_deduplicate_oid(live.unread);
	UnregisterSnapshot(live_tables->snapshot);
	return live;
}
