/*-------------------------------------------------------------------------
 *
 * index_end.c
 *	  The rows with the largest integers, by a btree of anybody's table.
 *
 * The access method waits for pages as nobody can cancel it; see pages.c.  So the
 * btree is read here, a page at a time: it is copied, and let go before the next one is
 * looked at.  Nothing is locked while something is waited for.
 *
 * Meanwhile others may split and delete pages.  Entries of rows that the snapshot shows
 * are all there when it is taken.  A page that is split keeps the lower part of its
 * entries, and links to the page with the others.  So it is enough
 *
 *	-	on the way down, to go right as long as what we look for may be there;
 *	-	to the right, to follow the link that the page had when it was copied;
 *	-	to the left, to take the page only if it links to the one that we come from, and
 *		otherwise the one between the two; or if ours was deleted, to go on from the page
 *		that has taken its place.
 *
 * A page that was deleted is not used for others while our snapshot is in use, which
 * PostgreSQL keeps for its own scans.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/relscan.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "trust/index_end.h"
#include "utils/rel.h"

/* How many pages right of the left neighbor ours is looked for. */
#define MAX_SPLITS	4

/* Where we are in an index. */
typedef struct IndexEnd
{
	Relation	rel;
	Relation	index;
	Snapshot	snapshot;
	Patience   *patience;
	bool		is_desc;		/* the largest value is on the left */
	bool		nulls_beyond;	/* nulls are beyond the largest value */
	bool		heeds_dead;		/* entries that are marked as dead count */
	int64		entries_left;	/* how many are still looked at */
	BlockNumber block;			/* of the page that was copied */
	BlockNumber next;			/* right of it */
	BlockNumber previous;		/* left of it */
	PGAlignedBlock copy;
} IndexEnd;

/*
 * With a column of variable length an entry can be too long for an index.  PostgreSQL
 * says so while the page is locked, which a client that does not read the error keeps.
 */
static bool
has_fixed_length(Relation index)
{
	TupleDesc	desc = RelationGetDescr(index);

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attlen <= 0)
			return false;
	}
	return true;
}

/*
 * Whether an index is partial is seen without looking at its predicate: to get that
 * from the relcache is to evaluate its constant parts.
 */
bool
flake_index_sorts(Relation rel, Relation index, AttrNumber attribute, Oid type)
{
	const FormData_pg_index *form = index->rd_index;

	return rel->rd_rel->relam == HEAP_TABLE_AM_OID &&
		form->indisvalid && !form->indcheckxmin &&
		form->indkey.values[0] == attribute &&
		index->rd_rel->relam == BTREE_AM_OID &&
		index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID &&
		index->rd_opcintype[0] == type &&
		has_fixed_length(index) &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/* Copies a page; false if patience is over. */
static bool
copy_page(IndexEnd *end, BlockNumber block)
{
	Buffer		buffer = flake_page_lock_shared(end->index, block, end->patience);

	if (!BufferIsValid(buffer))
		return false;
	FLAKE_TRY_PAGES();
	{
		_bt_checkpage(end->index, buffer);
		memcpy(end->copy.data, BufferGetPage(buffer), BLCKSZ);
	}
	FLAKE_END_PAGES();
	UnlockReleaseBuffer(buffer);
	end->block = block;
	if (block != BTREE_METAPAGE)
	{
		BTPageOpaque opaque = BTPageGetOpaque((Page) end->copy.data);

		end->next = opaque->btpo_next;
		end->previous = opaque->btpo_prev;
	}
	return true;
}

static BTPageOpaque
opaque_of(IndexEnd *end)
{
	return BTPageGetOpaque((Page) end->copy.data);
}

static IndexTuple
entry_at(IndexEnd *end, OffsetNumber offset)
{
	Page		page = (Page) end->copy.data;

	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/* Whether all values that are looked for come before an entry, in the order of size. */
static bool
is_beyond(IndexEnd *end, IndexTuple entry)
{
	bool		isnull = false;

	/* That of the first page of a level has no value: it is before all. */
	if (!end->nulls_beyond || BTreeTupleGetNAtts(entry, end->index) == 0)
		return false;
	(void) index_getattr(entry, 1, RelationGetDescr(end->index), &isnull);
	return isnull;
}

/* ERROR: pages do not link to each other as they must. */
static void
broken_index(IndexEnd *end)
{
	elog(ERROR, "a neighbor of block %u of index \"%s\" is not found", end->block,
		 RelationGetRelationName(end->index));
}

/* Goes to the page on the right. */
static bool
go_right(IndexEnd *end)
{
	CHECK_FOR_INTERRUPTS();
	if (end->next == P_NONE)
		broken_index(end);
	return copy_page(end, end->next);
}

/* Whether the largest value may be on a page on the right, where a split has put it. */
static bool
may_be_right(IndexEnd *end)
{
	BTPageOpaque opaque = opaque_of(end);

	if (P_IGNORE(opaque))
		return true;
	return !P_RIGHTMOST(opaque) && is_beyond(end, entry_at(end, P_HIKEY)) == end->is_desc;
}

/* The page below the present one on which the largest value is. */
static BlockNumber
child_page(IndexEnd *end)
{
	OffsetNumber found = P_FIRSTDATAKEY(opaque_of(end));
	OffsetNumber last = PageGetMaxOffsetNumber((Page) end->copy.data);

	if (found > last)
		broken_index(end);

	/* Entries are the lower bounds of pages, and the first one is before all. */
	for (OffsetNumber offset = found + 1; offset <= last; offset++)
	{
		if (is_beyond(end, entry_at(end, offset)) == end->is_desc)
			found = offset;
	}
	return BTreeTupleGetDownLink(entry_at(end, found));
}

/* Goes to the leaf on which the largest value is, or would be. */
static bool
find_leaf(IndexEnd *end)
{
	BlockNumber block;

	if (!copy_page(end, BTREE_METAPAGE))
		return false;
	block = BTPageGetMeta((Page) end->copy.data)->btm_root;
	while (block != P_NONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (!copy_page(end, block))
			return false;
		while (may_be_right(end))
		{
			if (!go_right(end))
				return false;
		}
		if (P_ISLEAF(opaque_of(end)))
			return true;
		block = child_page(end);
	}
	return false;
}

/*
 * Goes to the page that is left of one, if that is where a link to the left leads to,
 * or right of there by some splits.
 */
static bool
find_left_of(IndexEnd *end, BlockNumber block, BlockNumber left)
{
	bool		is_there = copy_page(end, left);

	for (int splits = 0; is_there && splits < MAX_SPLITS; splits++)
	{
		if (!P_ISDELETED(opaque_of(end)) && end->next == block)
			return true;
		is_there = end->next != P_NONE && go_right(end);
	}
	return false;
}

static bool
go_left(IndexEnd *end)
{
	while (end->previous != P_NONE)
	{
		BlockNumber block = end->block;
		BlockNumber left = end->previous;

		if (find_left_of(end, block, left))
			return true;

		/* What has become of the page? */
		if (end->patience->is_over || !copy_page(end, block))
			return false;
		if (!P_ISDELETED(opaque_of(end)) && end->previous == left)
			broken_index(end);
		while (P_ISDELETED(opaque_of(end)))
		{
			if (!go_right(end))
				return false;
		}
	}
	return false;
}

/* The value of an entry, which is of an integer type. */
static int64
value_of(IndexEnd *end, IndexTuple entry, bool *isnull)
{
	TupleDesc	desc = RelationGetDescr(end->index);
	Datum		value = index_getattr(entry, 1, desc, isnull);

	if (*isnull)
		return 0;
	switch (TupleDescAttr(desc, 0)->attlen)
	{
		case sizeof(int64):
			return DatumGetInt64(value);
		case sizeof(int32):
			return DatumGetInt32(value);
	}
	return DatumGetInt16(value);
}

/* Calls visit for the rows of an entry; false to stop. */
static bool
visit_entry(IndexEnd *end, IndexTuple entry, FlakeRowVisitor visit, void *arg)
{
	int			rows = BTreeTupleIsPosting(entry) ? BTreeTupleGetNPosting(entry) : 1;

	for (int i = 0; i < rows && end->entries_left > 0; i++)
	{
		ItemPointer tid = BTreeTupleIsPosting(entry)
		? BTreeTupleGetPostingN(entry, i) : &entry->t_tid;

		CHECK_FOR_INTERRUPTS();
		end->entries_left--;
		if (!flake_heap_fetch(end->rel, tid, end->snapshot, end->patience, visit, arg))
			return false;
	}
	return end->entries_left > 0;
}

/* Calls visit for the rows of the entries of a page; false to stop. */
static bool
visit_page(IndexEnd *end, int64 below, FlakeRowVisitor visit, void *arg)
{
	Page		page = (Page) end->copy.data;
	OffsetNumber first = P_FIRSTDATAKEY(opaque_of(end));
	int			count = P_IGNORE(opaque_of(end)) ? 0
	: (int) PageGetMaxOffsetNumber(page) - first + 1;

	for (int i = 0; i < count; i++)
	{
		OffsetNumber offset = end->is_desc ? first + i : first + count - 1 - i;
		IndexTuple	entry = entry_at(end, offset);
		bool		isnull;
		int64		value = value_of(end, entry, &isnull);

		if (isnull && end->nulls_beyond)
			continue;
		if (isnull || value <= below)
			return false;
		if (ItemIdIsDead(PageGetItemId(page, offset)) && !end->heeds_dead)
			continue;
		if (!visit_entry(end, entry, visit, arg))
			return false;
	}
	return true;
}

void
flake_index_each_largest(Relation rel, Relation index, int64 below, Snapshot snapshot,
						 int64 max_entries, Patience *patience, FlakeRowVisitor visit,
						 void *arg)
{
	IndexEnd	end = {.rel = rel,.index = index,.snapshot = snapshot,.patience = patience,.entries_left = max_entries};
	bool		nulls_first = (index->rd_indoption[0] & INDOPTION_NULLS_FIRST) != 0;
	bool		goes_on;

	end.is_desc = (index->rd_indoption[0] & INDOPTION_DESC) != 0;
	end.nulls_beyond = nulls_first == end.is_desc;
	end.heeds_dead = TransactionStartedDuringRecovery();
	pgstat_count_index_scan(index);
	goes_on = find_leaf(&end);
	while (goes_on)
	{
		CHECK_FOR_INTERRUPTS();
		goes_on = visit_page(&end, below, visit, arg) &&
			(end.is_desc ? end.next != P_NONE && go_right(&end) : go_left(&end));
	}
}
