/*-------------------------------------------------------------------------
 *
 * horizon.c
 *	  The durable bound of everything that a generator has handed out.
 *
 * Ids are handed out from shared memory, which a crash wipes out, by a clock
 * that may meanwhile have been set back.  So each generator keeps on disk a
 * packed value, its horizon, and these rules:
 *
 *	H1	No id above the published horizon is handed out.
 *	H2	A horizon is published only after the WAL record that carries it has
 *		been flushed.
 *	H3	The first id after a server start is above the horizon found on disk.
 *
 * Hence whatever was handed out before a crash is at or below the horizon
 * found afterwards, and what comes after is above.  The horizon is moved a
 * window of some seconds at a time, so that a flush is needed only that often,
 * and by whoever first finds less than a quarter of the window left, so that
 * the others do not stop for it.
 *
 * Standbys receive the horizon as they receive the rows: the commit record of
 * a row with an id lies behind the horizon record that allowed the id.
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
 * The greater of the two counts.  The sequence's increment is so large that
 * nextval() fails (after ALTER SEQUENCE ... RESTART only the second time,
 * which harms nothing): the horizon is not for taking numbers from.
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
#include "catalog/pg_class.h"
#include "commands/sequence.h"
#include "common/int.h"
#include "horizon.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

/* The sequence's tuple, with our word behind it. */
typedef struct HorizonTuple
{
	FormData_pg_sequence_data sequence;
	int64		guard;
} HorizonTuple;

/*
 * Which relation, and which file of it: ALTER SEQUENCE ... RESTART gives a
 * sequence a new file, CREATE EXTENSION gives a generator a new sequence.
 */
static uint64
relation_file(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return (uint64) RelationGetRelid(rel) << 32 | rel->rd_locator.relNumber;
#else
	return (uint64) RelationGetRelid(rel) << 32 | rel->rd_node.relNode;
#endif
}

/* Whether this transaction has given a sequence that existed before a new file. */
static bool
has_uncommitted_file(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	SubTransactionId since = rel->rd_firstRelfilelocatorSubid;
#else
	SubTransactionId since = rel->rd_firstRelfilenodeSubid;
#endif

	return since != InvalidSubTransactionId &&
		rel->rd_createSubid == InvalidSubTransactionId;
}

/*
 * Opens and locks the sequence, as nextval() does.  Returns NULL if that
 * would mean waiting and wait is false.
 */
static Relation
open_sequence(Oid sequence, bool wait)
{
	Relation	rel;

	if (wait)
		LockRelationOid(sequence, RowExclusiveLock);
	else if (!ConditionalLockRelationOid(sequence, RowExclusiveLock))
		return NULL;

	rel = try_relation_open(sequence, NoLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("generator with OID %u does not exist", sequence),
				 errdetail("Its sequence has been dropped.")));

	if (rel->rd_rel->relkind != RELKIND_SEQUENCE ||
		rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" cannot be a generator",
						RelationGetRelationName(rel)),
				 errdetail("A generator is a permanent sequence, because a temporary or unlogged one forgets in a crash what was handed out.")));

	/* Nor would a file that goes away in a rollback keep the horizon (H2). */
	if (has_uncommitted_file(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot mint ids while changes to generator \"%s\" are not committed",
						RelationGetRelationName(rel)),
				 errdetail("If they were rolled back, ids minted meanwhile could repeat after a crash."),
				 errhint("Commit first.")));
	return rel;
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

/*
 * Reads the two copies of the horizon.  The content lock on the page must be
 * held.
 */
static void
get_page_horizon(Relation rel, Page page, int64 *last_value, int64 *guard)
{
	Size		length;
	HeapTupleHeader tuple = sequence_tuple(rel, page, &length);
	HorizonTuple *data = (HorizonTuple *) ((char *) tuple + tuple->t_hoff);

	*last_value = data->sequence.last_value;

	/* A sequence that no horizon was written to yet has no guard. */
	if (length < tuple->t_hoff + sizeof(HorizonTuple))
		*guard = FLAKE_PACKED_NONE;
	else
		*guard = data->guard;
}

/* Sets both copies of the horizon on an image of the page. */
static void
set_page_horizon(Relation rel, Page page, int64 value)
{
	Size		length;
	HeapTupleHeader tuple = sequence_tuple(rel, page, &length);
	Size		full_length = tuple->t_hoff + sizeof(HorizonTuple);
	HorizonTuple *data;

	/* The first time, make room for the guard behind the columns. */
	if (length < full_length)
	{
		HeapTupleHeader longer = palloc0(full_length);

		memcpy(longer, tuple, length);
		if (!PageIndexTupleOverwrite(page, FirstOffsetNumber,
									 (void *) longer, full_length))
			elog(ERROR, "no room on the page of sequence \"%s\"",
				 RelationGetRelationName(rel));
		pfree(longer);
		tuple = sequence_tuple(rel, page, &length);
	}

	data = (HorizonTuple *) ((char *) tuple + tuple->t_hoff);
	data->sequence.last_value = value;
	data->sequence.log_cnt = 0;
	data->sequence.is_called = true;
	data->guard = value;
}

/*
 * Brings disk and shared memory into agreement on a horizon of at least
 * needed.  The caller holds a lock on the sequence and the horizon's LWLock.
 * setval() respects neither, so the page stays locked from reading to writing.
 */
static void
synchronize(HorizonRef *ref, Relation rel, int64 needed)
{
	Horizon    *shared = ref->shared;
	int64		published = (int64) pg_atomic_read_u64(&shared->value);
	Buffer		buffer = ReadBuffer(rel, 0);
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	int64		floor = flake_horizon_floor(ref);
	int64		last_value;
	int64		guard;
	int64		value;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	get_page_horizon(rel, BufferGetPage(buffer), &last_value, &guard);

	/*
	 * A page below what was published comes from ALTER SEQUENCE, or belongs
	 * to a generator that was dropped and created again.  It must be raised
	 * (H2).
	 */
	value = Max(Max(needed, published), Max(last_value, guard));
	if (value != last_value || value != guard)
	{
		GenericXLogState *state = GenericXLogStart(rel);

		/*
		 * The whole page is logged, some 150 bytes with the hole left out: a
		 * delta would be against a page that nextval() may have changed
		 * without logging the change.
		 */
		set_page_horizon(rel,
						 GenericXLogRegisterBuffer(state, buffer,
												   GENERIC_XLOG_FULL_IMAGE),
						 value);
		lsn = GenericXLogFinish(state);
	}
	UnlockReleaseBuffer(buffer);

	/*
	 * No commit record of ours will flush this: the caller may belong to a
	 * transaction that writes nothing, or to a parallel worker.
	 */
	XLogFlush(lsn);

	/*
	 * A page above what this server has published comes from before the
	 * server started.  A last_value that is not the guard comes from
	 * setval(), as in a restore.  Ids up to there may be in use (H3).
	 */
	if (Max(last_value, guard) > published)
		floor = Max(floor, Max(last_value, guard));
	else if (last_value != guard)
		floor = Max(floor, last_value);
	pg_atomic_write_u64(&shared->floor, (uint64) floor);

	/* File before value: see flake_horizon_margin(). */
	ref->file = relation_file(rel);
	pg_atomic_write_u64(&shared->file, ref->file);
	pg_write_barrier();
	pg_atomic_write_u64(&shared->value, (uint64) value);
}

void
flake_horizon_open(HorizonRef *ref, Oid generator, Oid sequence, int64 window)
{
	Relation	rel;

	ref->shared = flake_shmem_horizon(generator);
	ref->sequence = sequence;
	ref->window = window;

	rel = open_sequence(sequence, true);
	LWLockAcquire(&ref->shared->lock, LW_EXCLUSIVE);
	synchronize(ref, rel, FLAKE_PACKED_NONE);
	LWLockRelease(&ref->shared->lock);
	relation_close(rel, RowExclusiveLock);
}

bool
flake_horizon_extend(HorizonRef *ref, int64 end, bool wait)
{
	Horizon    *shared = ref->shared;
	Relation	rel;
	int64		needed;

	/* The lock on the sequence comes before the LWLock: it may be waited for. */
	rel = open_sequence(ref->sequence, wait);
	if (rel == NULL)
		return false;
	if (wait)
		LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	else if (!LWLockConditionalAcquire(&shared->lock, LW_EXCLUSIVE))
	{
		relation_close(rel, RowExclusiveLock);
		return false;
	}

	/* Somebody else may have done it while we waited. */
	ref->file = relation_file(rel);
	if (flake_horizon_margin(ref, end) < flake_horizon_reserve(ref))
	{
		if (pg_add_s64_overflow(end, ref->window, &needed))
			needed = PG_INT64_MAX;
		synchronize(ref, rel, needed);
	}

	LWLockRelease(&shared->lock);
	relation_close(rel, RowExclusiveLock);
	return true;
}
