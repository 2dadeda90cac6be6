/*-------------------------------------------------------------------------
 *
 * search_newest.c
 *	  The largest ids in a table of anybody's, for what watches.
 *
 * As in search.c nothing of the owner's is executed.  And nobody is waited for but
 * briefly for a page, nothing that was dropped meanwhile is an error, and a table costs
 * a bounded number of reads: only the end of an index is looked at.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "trust/index_end.h"
#include "trust/search_newest.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* So many ids of a table are looked at. */
#define NEWEST_IDS		100

/* And so many entries of its index, also of rows that were deleted. */
#define NEWEST_ENTRIES	1000

/* An index that sorts a table, locked; NULL if there is none. */
static Relation
open_index(Relation rel, AttrNumber attribute)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;
	Relation	found = NULL;

	foreach(lc, indexes)
	{
		Relation	index;

		CHECK_FOR_INTERRUPTS();

		/*
		 * REINDEX keeps it locked.  Nobody drops it while the table is
		 * locked.
		 */
		if (!ConditionalLockRelationOid(lfirst_oid(lc), AccessShareLock))
			continue;
		index = index_open(lfirst_oid(lc), NoLock);
		if (flake_index_sorts(rel, index, attribute, INT8OID))
		{
			found = index;
			break;
		}
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return found;
}

/* What visit_row() is to do. */
typedef struct Newest
{
	AttrNumber	attribute;
	int			ids_left;		/* how many are still looked at */
	FlakeIdVisitor visit;
	void	   *arg;
} Newest;

static bool
visit_row(Relation rel, HeapTuple row, void *arg)
{
	Newest	   *newest = arg;
	bool		isnull;
	Datum		value = heap_getattr(row, newest->attribute, RelationGetDescr(rel), &isnull);

	if (!isnull)
		newest->visit(DatumGetInt64(value), newest->arg);
	return --newest->ids_left > 0;
}

void
flake_search_newest(Relation rel, AttrNumber attribute, int64 below, Patience *patience,
					FlakeIdVisitor visit, void *arg)
{
	Newest		newest = {.attribute = attribute,.ids_left = NEWEST_IDS,.visit = visit,.arg = arg};
	Relation	index;

	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) || RELATION_IS_OTHER_TEMP(rel) ||
		getBaseType(get_atttype(RelationGetRelid(rel), attribute)) != INT8OID)
		return;
	index = open_index(rel, attribute);
	if (index == NULL)
		return;
	flake_index_each_largest(rel, index, below, GetActiveSnapshot(), NEWEST_ENTRIES,
							 patience, visit_row, &newest);
	index_close(index, AccessShareLock);
}

List *
flake_children(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	List	   *children = NIL;
	Relation	inherits;
	ScanKeyData key;
	SysScanDesc scan;
	bool		has_subclass;

	/* find_inheritance_children() fails if the table has been dropped. */
	if (!HeapTupleIsValid(tuple))
		return NIL;
	has_subclass = ((Form_pg_class) GETSTRUCT(tuple))->relhassubclass;
	ReleaseSysCache(tuple);
	if (!has_subclass)
		return NIL;

	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(inherits, InheritsParentIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CHECK_FOR_INTERRUPTS();
		children = lappend_oid(children,
							   ((Form_pg_inherits) GETSTRUCT(tuple))->inhrelid);
	}
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	list_sort(children, list_oid_cmp);
	return children;
}
