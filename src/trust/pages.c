/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  Pages of tables and indexes that are anybody's.
 *
 * PostgreSQL raises some errors while it has a page locked, and sends them before it
 * lets the page go: in a serializable transaction that cannot be had in any order, an
 * INSERT has a page of the table or a leaf of an index, for itself.  A client that does
 * not read keeps the page for as long as it likes, and whoever waits for one cannot be
 * canceled.  So a page of a table that is anybody's is never waited for as the access
 * methods do, but tried again and again, interruptibly and for a limited time.
 *
 * A lock on the table that keeps writers out would do without all this.  But a table
 * that is always written would never be looked at, and its writers would wait for
 * whoever looks.
 *
 * What locks a page and can fail lets go of it first, as the client that called us
 * may be one that does not read.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lwlock.h"
#include "trust/pages.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

/* How long to sleep between two tries: the first time, and at most. */
#define FIRST_SLEEP_US		100
#define LONGEST_SLEEP_US	10000

uint32
flake_page_wait_event(void)
{
#if PG_VERSION_NUM >= 170000
	static uint32 event = 0;

	if (event == 0)
		event = WaitEventExtensionNew("FlakeidPage");
	return event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

/*
 * Since PostgreSQL 19 a page's lock is no LWLock.  It goes with the pin, and that with
 * the resource owner.  Nobody needs pins any more that this owner has: it is released
 * after the ERROR, also where that is caught, which takes a subtransaction.
 */
void
flake_pages_release(void)
{
	LWLockReleaseAll();
#if PG_VERSION_NUM >= 190000
	ResourceOwnerReleaseAllOfKind(CurrentResourceOwner, &buffer_io_resowner_desc);
	ResourceOwnerReleaseAllOfKind(CurrentResourceOwner, &buffer_resowner_desc);
#endif
}

/* Tries to lock a page so that nobody changes it, while others can read it. */
static bool
try_share(Buffer buffer)
{
	if (BufferIsLocal(buffer))
		return true;
#if PG_VERSION_NUM < 190000
	return LWLockConditionalAcquire(BufferDescriptorGetContentLock(GetBufferDescriptor(buffer - 1)),
									LW_SHARED);
#else
	return ConditionalLockBuffer(buffer);
#endif
}

/* Sleeps before the next try; false if there is to be none. */
static bool
sleep_for_page(Relation rel, Patience *patience, long *sleep_us)
{
	instr_time	start;
	instr_time	slept;

	if (patience->left_us <= 0)
	{
		patience->is_over = true;
		if (!patience->is_error)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not lock a page of relation \"%s\"",
						RelationGetRelationName(rel)),
				 errdetail("Others have kept pages locked for %d seconds.",
						   FLAKE_PATIENCE_S),
				 errhint("Look for wait_event \"ClientWrite\" in pg_stat_activity: a client that has written to the table, and does not read the error. End that client.")));
	}
	INSTR_TIME_SET_CURRENT(start);
	pgstat_report_wait_start(flake_page_wait_event());
	pg_usleep(*sleep_us);
	pgstat_report_wait_end();
	INSTR_TIME_SET_CURRENT(slept);
	INSTR_TIME_SUBTRACT(slept, start);
	patience->left_us -= INSTR_TIME_GET_MICROSEC(slept);
	*sleep_us = Min(*sleep_us * 2, LONGEST_SLEEP_US);
	CHECK_FOR_INTERRUPTS();
	return true;
}

static Buffer
lock_page(Relation rel, BlockNumber block, BufferAccessStrategy strategy,
		  Patience *patience)
{
	long		sleep_us = FIRST_SLEEP_US;

	do
	{
		/* Not pinned while we sleep: VACUUM waits for pins. */
		Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block,
												RBM_NORMAL, strategy);

		if (try_share(buffer))
			return buffer;
		ReleaseBuffer(buffer);
	} while (sleep_for_page(rel, patience, &sleep_us));
	return InvalidBuffer;
}

Buffer
flake_page_lock_shared(Relation rel, BlockNumber block, Patience *patience)
{
	return lock_page(rel, block, NULL, patience);
}

/* A row of a page that is locked, or pinned if the row is known to be there. */
static void
get_row(Relation rel, Buffer buffer, OffsetNumber offset, HeapTuple row)
{
	Page		page = BufferGetPage(buffer);
	ItemId		item = PageGetItemId(page, offset);

	row->t_tableOid = RelationGetRelid(rel);
	row->t_data = (HeapTupleHeader) PageGetItem(page, item);
	row->t_len = ItemIdGetLength(item);
	ItemPointerSet(&row->t_self, BufferGetBlockNumber(buffer), offset);
}

/* The rows of a page, which is locked, that a snapshot shows; how many these are. */
static int
find_rows(Relation rel, Buffer buffer, Snapshot snapshot, OffsetNumber * offsets)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	bool		are_all = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	int			count = 0;

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleData row;

		if (!ItemIdIsNormal(PageGetItemId(page, offset)))
			continue;
		get_row(rel, buffer, offset, &row);
		if (are_all || HeapTupleSatisfiesVisibility(&row, snapshot, buffer))
			offsets[count++] = offset;
	}
	return count;
}

void
flake_heap_each(Relation rel, Snapshot snapshot, Patience *patience,
				FlakeRowVisitor visit, void *arg)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	bool		goes_on = true;

	pgstat_count_heap_scan(rel);
	for (BlockNumber block = 0; block < blocks && goes_on; block++)
	{
		OffsetNumber offsets[MaxHeapTuplesPerPage];
		volatile int count = 0;
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = lock_page(rel, block, strategy, patience);
		if (!BufferIsValid(buffer))
			break;
		FLAKE_TRY_PAGES();
		{
			count = find_rows(rel, buffer, snapshot, offsets);
		}
		FLAKE_END_PAGES();
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

		/* As long as the page is pinned, its rows stay where they are. */
		for (int i = 0; i < count && goes_on; i++)
		{
			HeapTupleData row;

			get_row(rel, buffer, offsets[i], &row);
			goes_on = visit(rel, &row, arg);
		}
		ReleaseBuffer(buffer);
	}
	FreeAccessStrategy(strategy);
}

bool
flake_heap_fetch(Relation rel, ItemPointer tid, Snapshot snapshot, Patience *patience,
				 FlakeRowVisitor visit, void *arg)
{
	ItemPointerData at = *tid;
	HeapTupleData row;
	volatile bool is_shown = false;
	bool		goes_on;
	Buffer		buffer = lock_page(rel, ItemPointerGetBlockNumber(tid), NULL, patience);

	if (!BufferIsValid(buffer))
		return false;
	FLAKE_TRY_PAGES();
	{
		is_shown = heap_hot_search_buffer(&at, rel, buffer, snapshot, &row, NULL, true);
	}
	FLAKE_END_PAGES();
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	goes_on = !is_shown || visit(rel, &row, arg);
	ReleaseBuffer(buffer);
	return goes_on;
}
