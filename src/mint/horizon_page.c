/*-------------------------------------------------------------------------
 *
 * horizon_page.c
 *	  The horizon's place on disk.
 *
 * The horizon's place is the page of the generator's sequence, because a
 * sequence is an object that is WAL-logged outside of transactions,
 * replicated, dumped, upgraded, granted and dropped the way that is needed.
 * It is kept twice in the sequence's only tuple:
 *
 *	last_value	is what pg_dump saves and setval() in a restore brings back.
 *	guard		lies behind the last column, where no SQL command reaches:
 *				setval(), ALTER SEQUENCE and TRUNCATE RESTART IDENTITY change
 *				the tuple's columns or copy it whole.  So the horizon cannot
 *				be lowered by them.
 *
 * The greater of the two counts.  Behind the guard is the timeline on which the
 * generator was made, or a restore was accepted: see restore.c.  And then up to
 * where bounds of what is settled may have been given out: see settled.c.
 *
 * The sequence's increment is greater than the distance of its bounds, so that
 * nextval() fails (after ALTER SEQUENCE ... RESTART only the second time, which
 * harms nothing): the horizon is not for taking numbers from.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_sequence.h"
#include "commands/sequence.h"
#include "layout/layout.h"
#include "mint/horizon_page.h"
#include "mint/locks.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* The sequence's tuple, with our words behind it. */
typedef struct HorizonTuple
{
	FormData_pg_sequence_data sequence;
	int64		guard;
	HorizonOrigin origin;
	int64		asked;
} HorizonTuple;

/* That of a tuple has what lies before a field's end, if it is that long. */
#define HORIZON_TUPLE_HAS(tuple, length, field) \
	((length) >= (tuple)->t_hoff + offsetof(HorizonTuple, field) + \
	 sizeof(((HorizonTuple *) NULL)->field))

/* How many files of a sequence may go while it is opened on a standby. */
#define MAX_FILES	100

void
flake_horizon_bounds(const FlakeLayout *layout, int64 *min, int64 *max)
{
	int64		half = PG_INT64_MAX / 2;

	/*
	 * Ids before the epoch have negative packed values.  They fit if no more
	 * than half of the range is used; with INCREMENT, which is as great as an
	 * int64 can be, nextval() must leave the bounds from everywhere.  Nothing
	 * beyond the layout's lifetime fits: setval() with an id is refused.
	 */
	if (flake_layout_has_time(layout) && flake_layout_max_packed(layout) <= half)
	{
		*max = flake_layout_max_packed(layout);
		*min = Max(flake_layout_min_packed(layout) - 1, -half);
	}
	else
	{
		*max = PG_INT64_MAX;
		*min = 1;
	}
}

/* The sequence's tuple on its page, and the tuple's length. */
static HeapTupleHeader
sequence_tuple(Relation rel, Page page, Size *length)
{
	ItemId		item;

	if (PageGetMaxOffsetNumber(page) != FirstOffsetNumber)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("unexpected page contents in sequence \"%s\"",
						RelationGetRelationName(rel))));
	item = PageGetItemId(page, FirstOffsetNumber);
	*length = ItemIdGetLength(item);
	return (HeapTupleHeader) PageGetItem(page, item);
}

int64
flake_horizon_page_unset(Oid sequence)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence));
	int64		min;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", sequence);
	min = ((Form_pg_sequence) GETSTRUCT(tuple))->seqmin;
	ReleaseSysCache(tuple);
	return min;
}

void
flake_horizon_page_get(Relation rel, Page page, int64 unset, int64 *last_value,
					   int64 *guard)
{
	Size		length;
	HeapTupleHeader tuple = sequence_tuple(rel, page, &length);
	HorizonTuple *data = (HorizonTuple *) ((char *) tuple + tuple->t_hoff);

	*last_value = data->sequence.last_value;
	if (!data->sequence.is_called)
	{
		/*
		 * By START, RESTART or setval(..., false) it is the next value, not
		 * the last.
		 */
		*last_value = *last_value > unset ? *last_value - 1 : FLAKE_PACKED_NONE;
	}
	*guard = FLAKE_PACKED_NONE;
	if (HORIZON_TUPLE_HAS(tuple, length, guard))
		*guard = data->guard;
}

HorizonOrigin
flake_horizon_page_origin(Relation rel, Page page)
{
	Size		length;
	HeapTupleHeader tuple = sequence_tuple(rel, page, &length);
	HorizonOrigin none = {0};

	if (!HORIZON_TUPLE_HAS(tuple, length, origin))
		return none;
	return ((HorizonTuple *) ((char *) tuple + tuple->t_hoff))->origin;
}

int64
flake_horizon_page_asked(Relation rel, Page page)
{
	Size		length;
	HeapTupleHeader tuple = sequence_tuple(rel, page, &length);

	if (!HORIZON_TUPLE_HAS(tuple, length, asked))
		return FLAKE_PACKED_NONE;
	return ((HorizonTuple *) ((char *) tuple + tuple->t_hoff))->asked;
}

HorizonOrigin
flake_horizon_origin(void)
{
	HorizonOrigin origin;

	origin.timeline = GetWALInsertionTimeLine();
	origin.cluster = (uint32) GetSystemIdentifier();
	return origin;
}

/*
 * The tuple's data on an image of the page, with room for our words, and with an
 * origin.
 */
static HorizonTuple *
full_tuple(Relation rel, Page page)
{
	Size		length;
	HeapTupleHeader tuple = sequence_tuple(rel, page, &length);
	Size		full_length = tuple->t_hoff + sizeof(HorizonTuple);

	/* The first time, make room behind the columns. */
	if (length < full_length)
	{
		HeapTupleHeader longer = palloc0(full_length);
		HorizonTuple *data;

		memcpy(longer, tuple, length);
		data = (HorizonTuple *) ((char *) longer + longer->t_hoff);
		if (!HORIZON_TUPLE_HAS(tuple, length, guard))
			data->guard = FLAKE_PACKED_NONE;
		if (!HORIZON_TUPLE_HAS(tuple, length, origin))
			data->origin = flake_horizon_origin();
		data->asked = FLAKE_PACKED_NONE;
		if (!PageIndexTupleOverwrite(page, FirstOffsetNumber,
									 (void *) longer, full_length))
			elog(ERROR, "no room on the page of sequence \"%s\"",
				 RelationGetRelationName(rel));
		pfree(longer);
		tuple = sequence_tuple(rel, page, &length);
	}

	return (HorizonTuple *) ((char *) tuple + tuple->t_hoff);
}

/* Sets both copies of the horizon, and what is asked, on an image of the page. */
static void
set_page_horizon(Relation rel, Page page, int64 value, int64 asked)
{
	HorizonTuple *data = full_tuple(rel, page);

	data->sequence.last_value = value;
	data->sequence.log_cnt = 0;
	data->sequence.is_called = true;
	data->guard = value;
	data->asked = asked;
}

XLogRecPtr
flake_horizon_page_write(Relation rel, Buffer buffer, int64 value, int64 asked)
{
	GenericXLogState *state = GenericXLogStart(rel);

	/*
	 * The whole page is logged, some 150 bytes with the hole left out: a
	 * delta would be against a page that nextval() may have changed without
	 * logging the change.
	 */
	set_page_horizon(rel,
					 GenericXLogRegisterBuffer(state, buffer,
											   GENERIC_XLOG_FULL_IMAGE),
					 value, asked);
	return GenericXLogFinish(state);
}

XLogRecPtr
flake_horizon_page_stamp(Relation rel, Buffer buffer)
{
	GenericXLogState *state = GenericXLogStart(rel);
	Page		page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);

	full_tuple(rel, page)->origin = flake_horizon_origin();
	return GenericXLogFinish(state);
}

/*
 * The sequence, whose file is there.  On its primary ALTER SEQUENCE can give it
 * another one, and a standby removes the old one whatever is locked: the lock of
 * that command does not come with the WAL.  What tells of the new file comes before.
 */
static Relation
open_with_file(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);

	for (int i = 0; i < MAX_FILES && RecoveryInProgress() &&
		 !(smgrexists(RelationGetSmgr(rel), MAIN_FORKNUM) &&
		   smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM) > 0); i++)
	{
		CHECK_FOR_INTERRUPTS();
		relation_close(rel, NoLock);
		AcceptInvalidationMessages();
		rel = relation_open(sequence, NoLock);
	}
	return rel;
}

static bool
try_read(Oid sequence, PageWait wait, int64 *value)
{
	int64		unset = flake_horizon_page_unset(sequence);
	Relation	rel = open_with_file(sequence);
	Buffer		buffer = flake_page_lock(rel, NULL, wait);
	int64		last_value = FLAKE_PACKED_NONE;
	int64		guard = FLAKE_PACKED_NONE;

	if (BufferIsValid(buffer))
		flake_horizon_page_get(rel, BufferGetPage(buffer), unset, &last_value, &guard);
	flake_page_unlock();
	relation_close(rel, NoLock);
	*value = Max(last_value, guard);
	return BufferIsValid(buffer);
}

bool
flake_horizon_try_read(Oid sequence, PageWait wait, int64 *value)
{
	bool		result = false;

	FLAKE_TRY_LOCKED();
	{
		result = try_read(sequence, wait, value);
	}
	FLAKE_END_LOCKED();
	return result;
}

bool
flake_horizon_read(Oid sequence, int64 *value)
{
	(void) flake_horizon_try_read(sequence, PAGE_OR_ERROR, value);
	return *value != FLAKE_PACKED_NONE;
}
