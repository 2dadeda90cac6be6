/*-------------------------------------------------------------------------
 *
 * own_table_rows.c
 *	  The rows of the extension's own tables: finding, locking and writing
 *	  them, and removing those of generators that were dropped.
 *
 * In a serializable transaction that cannot be had in any order, PostgreSQL raises its
 * ERROR while it has a page locked, and sends it before it lets the page go.  A client
 * that does not read would keep the page, and whoever waits for one cannot be
 * canceled.  So all that reads or writes pages here stands between FLAKE_TRY_PAGES() and
 * FLAKE_END_PAGES(), by which an ERROR lets go first: it is PostgreSQL's own abort, only
 * earlier.  Whoever calls has no page and no LWLock locked.
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
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "trust/pages.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* How many generators to look at on the occasion, and how many of their entries. */
#define LOOKS	64
#define ENTRIES	1000

HeapTuple
flake_own_table_next(SysScanDesc scan)
{
	volatile HeapTuple row = NULL;

	FLAKE_TRY_PAGES();
	{
		row = systable_getnext(scan);
	}
	FLAKE_END_PAGES();
	return row;
}

static HeapTuple
find_row(const OwnTable *table, Oid index, Snapshot snapshot, int nkeys,
		 ScanKeyData *keys)
{
	ScanKeyData copies[MAX_OWN_KEYS];	/* older versions change them */
	SysScanDesc scan;
	HeapTuple	row;

	memcpy(copies, keys, nkeys * sizeof(ScanKeyData));
	scan = systable_beginscan(table->rel, index, true, snapshot, nkeys, copies);
	row = flake_own_table_next(scan);
	if (HeapTupleIsValid(row))
		row = heap_copytuple(row);
	systable_endscan(scan);
	return row;
}

/* Tries to lock a row. */
static TM_Result
lock_row(const OwnTable *table, HeapTuple row, TupleTableSlot *slot, LockWaitPolicy policy)
{
	TM_FailureData failure;
	volatile	TM_Result result = TM_Ok;

	FLAKE_TRY_PAGES();
	{
		result = table_tuple_lock(table->rel, &row->t_self, SnapshotAny, slot,
								  GetCurrentCommandId(false),
								  LockTupleExclusive, policy, 0, &failure);
	}
	FLAKE_END_PAGES();
	return result;
}

static void
delete_row(const OwnTable *table, HeapTuple row)
{
	FLAKE_TRY_PAGES();
	{
		CatalogTupleDelete(table->rel, &row->t_self);
	}
	FLAKE_END_PAGES();
}

HeapTuple
flake_own_table_find(const OwnTable *table, Oid index, int nkeys,
					 ScanKeyData *keys)
{
	/* The snapshot for a table that is no catalog is always a new one. */
	return find_row(table, index, NULL, nkeys, keys);
}

bool
flake_own_table_has(const OwnTable *table, Oid index, int nkeys,
					ScanKeyData *keys)
{
	return find_row(table, index, SnapshotSelf, nkeys, keys) != NULL;
}

bool
flake_own_table_sees(const OwnTable *table, Oid index, Snapshot snapshot, int nkeys,
					 ScanKeyData *keys)
{
	return find_row(table, index, snapshot, nkeys, keys) != NULL;
}

HeapTuple
flake_own_table_lock(const OwnTable *table, Oid index, int nkeys,
					 ScanKeyData *keys, LockWaitPolicy policy)
{
	TupleTableSlot *slot = table_slot_create(table->rel, NULL);
	HeapTuple	row;

	for (;;)
	{
		TM_Result	result;

		row = flake_own_table_find(table, index, nkeys, keys);
		if (row == NULL)
			break;
		result = lock_row(table, row, slot, policy);
		if (result == TM_Ok)
			break;
		heap_freetuple(row);
		row = NULL;
		if (result == TM_WouldBlock)
			break;
		if (result != TM_Updated && result != TM_Deleted)
			elog(ERROR, "unexpected result of a row lock: %d", (int) result);

		/* Somebody has changed or deleted it meanwhile: look again. */
		CHECK_FOR_INTERRUPTS();
	}
	ExecDropSingleTupleTableSlot(slot);
	return row;
}

void
flake_own_table_insert(const OwnTable *table, Datum *values, bool *nulls)
{
	HeapTuple	row = heap_form_tuple(RelationGetDescr(table->rel), values, nulls);

	FLAKE_TRY_PAGES();
	{
		CatalogTupleInsert(table->rel, row);
	}
	FLAKE_END_PAGES();
	heap_freetuple(row);
	CommandCounterIncrement();
}

void
flake_own_table_update(const OwnTable *table, HeapTuple row, Datum *values,
					   bool *nulls)
{
	HeapTuple	changed = heap_form_tuple(RelationGetDescr(table->rel), values, nulls);

	changed->t_self = row->t_self;
	FLAKE_TRY_PAGES();
	{
		CatalogTupleUpdate(table->rel, &row->t_self, changed);
	}
	FLAKE_END_PAGES();
	heap_freetuple(changed);
	CommandCounterIncrement();
}

void
flake_own_table_delete(const OwnTable *table, HeapTuple row)
{
	delete_row(table, row);
	CommandCounterIncrement();
}

/* The generator of a row. */
static Oid
generator_of(const OwnTable *table, HeapTuple row)
{
	bool		isnull;

	return DatumGetObjectId(heap_getattr(row, 1, RelationGetDescr(table->rel),
										 &isnull));
}

/*
 * The least generator in a table that is greater than one; or InvalidOid.  Rows that
 * were deleted count, too, as long as they are there: there can be millions of them,
 * which would be passed every time.
 */
static Oid
next_generator(const OwnTable *table, Oid generator)
{
	Relation	index = relation_open(table->index, AccessShareLock);
	Oid			next = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	volatile HeapTuple row = NULL;

	ScanKeyInit(&key, 1, BTGreaterStrategyNumber, F_OIDGT,
				ObjectIdGetDatum(generator));
	scan = systable_beginscan_ordered(table->rel, index, SnapshotAny, 1, &key);
	FLAKE_TRY_PAGES();
	{
		row = systable_getnext_ordered(scan, ForwardScanDirection);
	}
	FLAKE_END_PAGES();
	if (HeapTupleIsValid(row))
		next = generator_of(table, row);
	systable_endscan_ordered(scan);
	relation_close(index, AccessShareLock);
	return next;
}

/*
 * Deletes the rows of a generator; but not those that another transaction has locked:
 * nobody is to wait for that.  Whether none is left.  Looks at so many entries at most,
 * and counts them down: rows that were deleted have one, too, as long as somebody's
 * snapshot may show them.
 */
static bool
remove_rows(const OwnTable *table, Oid generator, int64 *entries)
{
	TupleTableSlot *slot = table_slot_create(table->rel, NULL);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;
	bool		all_are_gone = true;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(generator));
	scan = systable_beginscan(table->rel, table->index, true, SnapshotAny, 1, &key);
	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
	{
		TM_Result	result;

		CHECK_FOR_INTERRUPTS();
		if (--*entries < 0)
		{
			all_are_gone = false;
			break;
		}
		result = lock_row(table, row, slot, LockWaitSkip);
		if (result == TM_Ok)
			delete_row(table, row);
		else if (result == TM_WouldBlock)
			all_are_gone = false;
		ExecClearTuple(slot);
	}
	systable_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	CommandCounterIncrement();
	return all_are_gone;
}

/*
 * Whether a generator is gone for good.
 *
 * The cache can say so of one that was created just now: its creator commits
 * first, so that the rows are there, and sends the news after that.  But its lock
 * on the sequence goes last, so getting one brings the news.
 */
static bool
is_dropped(Oid generator)
{
	bool		is_gone;

	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(generator)) ||
		!ConditionalLockRelationOid(generator, AccessShareLock))
		return false;
	is_gone = !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(generator));
	UnlockRelationOid(generator, AccessShareLock);
	return is_gone;
}

bool
flake_own_table_has_generator(const OwnTable *table, Oid generator)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(generator));
	return flake_own_table_find(table, table->index, 1, &key) != NULL;
}

/* A row of the leases has one of the states. */
static void
remove_generator(const OwnTable *leases, const OwnTable *states, Oid generator,
				 int64 *entries)
{
	if (is_dropped(generator) && remove_rows(leases, generator, entries))
		(void) remove_rows(states, generator, entries);
}

void
flake_own_table_remove(const OwnTable *leases, const OwnTable *states, Oid generator)
{
	int64		entries = PG_INT64_MAX;

	remove_generator(leases, states, generator, &entries);
}

/* The same for some of the generators in one of the two, once round. */
static void
remove_some_of(const OwnTable *table, const OwnTable *leases, const OwnTable *states)
{
	const Oid	start = (Oid) pg_prng_uint32(&pg_global_prng_state);
	Oid			generator = start;
	bool		is_round = false;
	int64		entries = ENTRIES;

	for (int i = 0; i < LOOKS && entries > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		generator = next_generator(table, generator);
		if (is_round && (!OidIsValid(generator) || generator > start))
			break;
		if (OidIsValid(generator))
			remove_generator(leases, states, generator, &entries);
		else
			is_round = true;
	}
}

void
flake_own_table_remove_some(const OwnTable *leases, const OwnTable *states)
{
	remove_some_of(leases, leases, states);
	remove_some_of(states, leases, states);
}
