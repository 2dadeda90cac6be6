/*-------------------------------------------------------------------------
 *
 * search.c
 *	  The largest id in a column of anybody's table, or all of those above a
 *	  bound.
 *
 * It may be a superuser who searches, and the tables are anybody's.  So no query is
 * executed: a view, an expression, a cast or a policy would be code of others,
 * and the name of a table can come to mean another one.  Columns are locked and
 * read by their numbers, with the access methods, and compared by PostgreSQL's own
 * types alone.  Hence also rows are found that a policy hides.  An index is used
 * where it is a plain one.  Pages that others have locked are waited for as pages.c
 * says.  Foreign tables, which only their wrappers can read,
 * cannot be searched, nor what only TimescaleDB or Citus can.
 *
 * A search of several tables has one snapshot for all, taken when they are locked.
 * With one for each, a row that is moved from a later one to an earlier one meanwhile
 * would be seen in neither.
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
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "trust/definition_size.h"
#include "trust/distributed.h"
#include "trust/hypertable.h"
#include "trust/index_end.h"
#include "trust/pages.h"
#include "trust/plain_ids.h"
#include "trust/relation.h"
#include "trust/search.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_largest);
PG_FUNCTION_INFO_V1(flake_ids_above);

/* What is in a larger definition takes too long to read: see definition_size.c. */
#define LONGEST_DEFINITION	4194304

/* ERROR: a column cannot be searched. */
static void
cannot_search(const Search *search, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot search column %s for ids", search->column),
			 errdetail_internal("%s", reason),
			 search->hint != NULL ? errhint("%s", search->hint) : 0));
}

/* ERROR as above if a table that is to be opened has a very large definition. */
static void
check_definition(const Search *search, Oid relation)
{
	if (flake_definition_is_longer(relation, LONGEST_DEFINITION))
		cannot_search(search, psprintf("The defaults, checks, rules, policies and triggers of table \"%s\" take more than %d MB, which takes long to read.",
									   get_rel_name(relation), LONGEST_DEFINITION / 1048576));
}

/*
 * ERROR as above, in place of the present one, if that says no more than that a
 * value cannot be converted.
 */
static void
not_an_id(const Search *search)
{
	ErrorData  *error = CopyErrorData();

	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION &&
		error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED) /* NaN */
		PG_RE_THROW();
	FlushErrorState();
	cannot_search(search, psprintf("A value in it is not an id: %s.",
								   error->message));
}

/* The id that a value is. */
static int64
id_of(const Search *search, Datum value)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int64 id = 0;

	switch (search->type)
	{
		case INT8OID:
			return DatumGetInt64(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT2OID:
			return DatumGetInt16(value);
	}

	/* To read it is to lock an index, which REINDEX may keep. */
	if (VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		cannot_search(search, "A value in it is not an id: it is too long.");
	PG_TRY();
	{
		if (search->type == NUMERICOID)
			id = DatumGetInt64(DirectFunctionCall1(numeric_int8, value));
		else
			id = DatumGetInt64(DirectFunctionCall1(int8in,
												   CStringGetDatum(TextDatumGetCString(value))));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		not_an_id(search);
	}
	PG_END_TRY();
	return id;
}

static void
heed(Search *search, int64 id)
{
	if (id <= search->below)
		return;
	if (!search->found || id > search->max)
		search->max = id;
	search->found = true;
	if (search->ids != NULL)
		(void) accumArrayResult(search->ids, Int64GetDatum(id), false, INT8OID,
								CurrentMemoryContext);
}

static void
heed_value(Search *search, Datum value)
{
	int64		head;
	int32		shard;

	if (search->type != UUIDOID)
		heed(search, id_of(search, value));
	else if (search->read_uuid(DatumGetUUIDP(value), &head, &shard))
		heed(search, head);
}

static bool
is_integer(Oid type)
{
	return type == INT8OID || type == INT4OID || type == INT2OID;
}

/* Anybody can have made thousands: without an index, the table is read. */
#define MAX_INDEXES		100

/*
 * Locks indexes of a table that begin with a column, but for those that somebody keeps
 * locked, as REINDEX does.
 */
static List *
lock_indexes(Oid relation, AttrNumber attribute)
{
	Relation	pg_index = table_open(IndexRelationId, AccessShareLock);
	List	   *indexes = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	scan = systable_beginscan(pg_index, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (list_length(indexes) < MAX_INDEXES &&
		   HeapTupleIsValid(row = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(row);

		CHECK_FOR_INTERRUPTS();
		if (form->indkey.values[0] == attribute &&
			ConditionalLockRelationOid(form->indexrelid, AccessShareLock))
			indexes = lappend_oid(indexes, form->indexrelid);
	}
	systable_endscan(scan);
	table_close(pg_index, AccessShareLock);
	return indexes;
}

static void
unlock(List *indexes)
{
	ListCell   *lc;

	foreach(lc, indexes)
		UnlockRelationOid(lfirst_oid(lc), AccessShareLock);
	list_free(indexes);
}

/*
 * An index, of some that are locked, that sorts a table by an integer column;
 * InvalidOid if there is none.  The others are unlocked.
 */
static Oid
find_index(Relation rel, List *indexes, AttrNumber attribute, Oid type)
{
	ListCell   *lc;
	Oid			found = InvalidOid;

	foreach(lc, indexes)
	{
		Relation	index = NULL;

		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(found) && SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(lc))))
			index = index_open(lfirst_oid(lc), NoLock);
		if (index != NULL && flake_index_sorts(rel, index, attribute, type))
			found = lfirst_oid(lc);
		if (index != NULL)
			index_close(index, NoLock);
		if (found != lfirst_oid(lc))
			UnlockRelationOid(lfirst_oid(lc), AccessShareLock);
	}
	list_free(indexes);
	return found;
}

/* The search of one table. */
typedef struct TableSearch
{
	Search	   *search;
	AttrNumber	attribute;
	MemoryContext row_context;
} TableSearch;

static void
heed_row(TableSearch *table, Datum value, bool isnull)
{
	MemoryContext old_context;

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		return;
	old_context = MemoryContextSwitchTo(table->row_context);
	heed_value(table->search, value);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(table->row_context);
}

/* For a row of a heap; goes on to the next one. */
static bool
visit_row(Relation rel, HeapTuple row, void *arg)
{
	TableSearch *table = arg;
	bool		isnull;
	Datum		value = heap_getattr(row, table->attribute, RelationGetDescr(rel), &isnull);

	heed_row(table, value, isnull);
	return true;
}

/* The same from the largest on: the first one will do unless all ids are wanted. */
static bool
visit_largest(Relation rel, HeapTuple row, void *arg)
{
	(void) visit_row(rel, row, arg);
	return ((TableSearch *) arg)->search->ids != NULL;
}

static void
search_index(TableSearch *table, Relation rel, Oid index_id)
{
	Relation	index = index_open(index_id, NoLock);

	flake_index_each_largest(rel, index, table->search->below, table->search->snapshot,
							 PG_INT64_MAX, table->search->patience, visit_largest, table);
	index_close(index, NoLock);
}

/* For another access method than heap, whose pages are its own affair. */
static void
search_rows(TableSearch *table, Relation rel)
{
	TupleTableSlot *row = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan_strat(rel, table->search->snapshot, 0, NULL,
											   true, true);

	while (table_scan_getnextslot(scan, ForwardScanDirection, row))
	{
		bool		isnull;
		Datum		value = slot_getattr(row, table->attribute, &isnull);

		heed_row(table, value, isnull);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(row);
}

/* Searches one table, a partition or a child among them, which is locked. */
static void
search_table(Search *search, Oid relation, const char *attribute_name)
{
	Relation	rel;
	AttrNumber	attribute = get_attnum(relation, attribute_name);
	TableSearch table = {.search = search,.attribute = attribute};
	List	   *indexes = is_integer(search->type) ? lock_indexes(relation, attribute) : NIL;
	Oid			index;
	char		generated;

	/*
	 * Who locks something new, with a table open, can have to read its
	 * definition anew.  A trigger can have been made since this was measured:
	 * hence that last.
	 */
	check_definition(search, relation);
	rel = relation_open(relation, NoLock);
	if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		cannot_search(search,
					  psprintf("A part of it is in foreign table \"%s\".",
							   RelationGetRelationName(rel)));
	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) || RELATION_IS_OTHER_TEMP(rel))
	{
		relation_close(rel, NoLock);
		unlock(indexes);
		return;
	}

	/* The values are read as the type says: so do not rely on the parent's. */
	if (attribute <= InvalidAttrNumber)
		cannot_search(search,
					  psprintf("Table \"%s\" does not have it.",
							   RelationGetRelationName(rel)));
	if (getBaseType(get_atttype(RelationGetRelid(rel), attribute)) != search->type)
		cannot_search(search,
					  psprintf("It has another type in table \"%s\".",
							   RelationGetRelationName(rel)));
	generated = get_attgenerated(RelationGetRelid(rel), attribute);
	if (generated != '\0' && generated != ATTRIBUTE_GENERATED_STORED)
		cannot_search(search, "Its values are not stored.");

	table.row_context = AllocSetContextCreate(CurrentMemoryContext, "flakeid row",
											  ALLOCSET_SMALL_SIZES);
	index = find_index(rel, indexes, attribute, search->type);
	if (OidIsValid(index))
		search_index(&table, rel, index);
	else if (rel->rd_rel->relam == HEAP_TABLE_AM_OID)
		flake_heap_each(rel, search->snapshot, search->patience, visit_row, &table);
	else
		search_rows(&table, rel);
	MemoryContextDelete(table.row_context);
	relation_close(rel, NoLock);
}

/*
 * A table with all of its partitions and children, locked.
 *
 * find_all_inheritors() does not look again at what it has waited for, which
 * may have left the inheritance meanwhile, and have other columns since.  What
 * was locked before it is found can do so no more.
 */
static List *
lock_inheritors(Oid relation)
{
	List	   *locked;
	List	   *found = NIL;

	do
	{
		CHECK_FOR_INTERRUPTS();
		locked = found;
		found = find_all_inheritors(relation, AccessShareLock, NULL);
	} while (!equal(found, locked));
	return found;
}

static void
search_tree(Search *search, Oid relation, AttrNumber attribute, Oid function)
{
	const char *attribute_name = get_attname(relation, attribute, false);
	Relation	rel;
	Snapshot	snapshot;
	ListCell   *lc;

	search->column = psprintf("%s.%s",
							  quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)),
														 get_rel_name(relation)),
							  quote_identifier(attribute_name));
	check_definition(search, relation);
	rel = relation_open(relation, NoLock);
	search->type = getBaseType(TupleDescAttr(RelationGetDescr(rel), attribute - 1)->atttypid);

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		cannot_search(search, "It is not in a table.");
	if (flake_is_hypertable_or_chunk(RelationGetRelid(rel)))
		cannot_search(search, "It is in a hypertable of TimescaleDB or in a chunk of one, whose rows could be compressed.");
	if (flake_is_distributed(RelationGetRelid(rel)))
		cannot_search(search, "It is in a table of Citus, whose rows are in other tables and on other nodes.");
	if (search->read_uuid != NULL ? search->type != UUIDOID
		: !is_integer(search->type) && search->type != NUMERICOID &&
		search->type != TEXTOID && search->type != VARCHAROID)
		cannot_search(search, psprintf("Its type is %s.",
									   format_type_be(search->type)));
	if (OidIsValid(function) && !flake_gets_plain_ids(rel, attribute, function, LONGEST_DEFINITION))
		cannot_search(search, "Its default makes something else of ids.");
	relation_close(rel, NoLock);
	if (search->tables == NIL)
		search->tables = lock_inheritors(relation);
	snapshot = RegisterSnapshot(search->snapshot != NULL ? search->snapshot
								: GetLatestSnapshot());
	search->snapshot = snapshot;
	foreach(lc, search->tables)
		search_table(search, lfirst_oid(lc), attribute_name);
	UnregisterSnapshot(snapshot);
}

Search
flake_search_tree(Oid relation, List *tables, Snapshot snapshot, AttrNumber attribute,
				  int64 below, const char *hint, Oid function,
				  FlakeUuidReader read_uuid, Patience *patience)
{
	Search		search = {.below = below,.hint = hint,.read_uuid = read_uuid,.tables = tables,.snapshot = snapshot,.patience = patience};

	search_tree(&search, relation, attribute, function);
	return search;
}

/*
 * Searches a column of an integer type, which has that name, for a user who has the
 * rights of the table's owner.
 */
static void
search_column(Search *search, Oid relation, const char *attribute_name)
{
	AttrNumber	attribute;

	LockRelationOid(relation, AccessShareLock);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!has_privs_of_role(GetUserId(), flake_relation_owner(relation)))
		aclcheck_error(ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(get_rel_relkind(relation)),
					   get_rel_name(relation));
	attribute = get_attnum(relation, attribute_name);
	if (attribute <= InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						attribute_name, get_rel_name(relation))));
	search_tree(search, relation, attribute, InvalidOid);
}

/*
 * _flake_largest(ticket _flake_ticket, relation oid, attribute name) returns bigint
 *
 * The largest value in a column of an integer type.
 */
Datum
flake_largest(PG_FUNCTION_ARGS)
{
	Patience	patience = PATIENCE_OR_ERROR;
	Search		search = {.below = PG_INT64_MIN,.patience = &patience};

	search_column(&search, PG_GETARG_OID(1), NameStr(*PG_GETARG_NAME(2)));
	if (!search.found)
		PG_RETURN_NULL();
	PG_RETURN_INT64(search.max);
}

/*
 * _flake_ids_above(ticket _flake_ticket, relation oid, attribute name, above bigint)
 *	returns bigint[]
 *
 * The values in a column of an integer type that are above one, in any order.
 */
Datum
flake_ids_above(PG_FUNCTION_ARGS)
{
	Patience	patience = PATIENCE_OR_ERROR;
	Search		search = {.below = PG_GETARG_INT64(3),.patience = &patience};

	search.ids = initArrayResult(INT8OID, CurrentMemoryContext, false);
	search_column(&search, PG_GETARG_OID(1), NameStr(*PG_GETARG_NAME(2)));
	PG_RETURN_DATUM(makeArrayResult(search.ids, CurrentMemoryContext));
}
