/*-------------------------------------------------------------------------
 *
 * detach_all.c
 *	  A SQL function that detaches all shards: for a server that is a copy.
 *
 * A generator can have 2^31 shards, so there is one row for all that have none
 * of their own, FLAKE_OTHER_SHARDS.  Its lock, which comes first, keeps others from
 * changing a shard or a lease of the generator until the end of the transaction: they
 * have committed, or read what is written here.  The lock of FLAKE_OPENING keeps
 * others from opening a slot by the old states (F2), before all slots are closed
 * (F1).  Nothing is given back that says how far a shard has gone.  It is known
 * here, and heeded if the shard is attached again (F3).
 *
 * With several generators, somebody who may use only one of them can keep its lock
 * for as long as he likes.  So all are locked without waiting, or none: whoever is
 * in the way is waited for while nothing else is held, and then all starts over.
 * Of a generator of which this transaction has changed a shard, others who only wait
 * for that lock are not in the way: they wait until the end of this transaction.
 * The same for whoever has written rows by hand and not committed yet.  The locks of
 * FLAKE_OPENING come last, when nobody is left to wait for.
 *
 * Leases are ended, because they are the original's.  Their shards stay detached,
 * and the next ids are after the leases (L3), should this be the original.  In the
 * same way shards are not backfilled any more (B2).
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/horizon.h"
#include "mint/horizon_page.h"
#include "mint/restore.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "shard/attach.h"
#include "shard/backfill.h"
#include "shard/lease_row.h"
#include "shard/state.h"
#include "storage/lmgr.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(flake_detach_all);

/* A generator whose shards are to be detached. */
typedef struct Target
{
	Oid			sequence;
	Oid			key;
	bool		is_logged;		/* an unlogged one mints when it is logged
								 * again */
	FlakeLayout layout;
	HorizonRef	horizon;		/* if it is logged */
	int64		value;			/* packed: if it is not, what its page has */
	int			rows;			/* of its shards, before all are locked */
} Target;

/* The shards of a generator that have a row in a table, as it is now. */
static List *
list_shards(const OwnTable *table, Oid sequence)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	List	   *shards = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, STATE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
	scan = systable_beginscan(table->rel, table->index, true, snapshot, 1, &key);
	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
	{
		bool		isnull;

		shards = lappend_int(shards,
							 DatumGetInt32(heap_getattr(row, STATE_SHARD,
														RelationGetDescr(table->rel), &isnull)));
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	return shards;
}

/* Closes the slots of generators. */
static void
close_slots(List *targets)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, targets)
		keys = lappend_oid(keys, ((Target *) lfirst(lc))->key);
	flake_shard_close_all(keys);
	list_free(keys);
}

/* Closes a slot, and notes its last value. */
static void
close_slot(Slot *slot, void *arg)
{
	*(int64 *) arg = flake_slot_close(slot);
}

/* ERROR 42501 unless the user may mint from a sequence and change it. */
static void
check_privileges(Oid sequence, Oid key)
{
	flake_generator_check_privilege(sequence, flake_generator_mint_privileges(key));
	flake_generator_check_privilege(sequence, ACL_UPDATE);
}

/* Locks all shards of a generator.  False if somebody is changing one, unless wait. */
static bool
lock_shards(Oid sequence, bool wait)
{
	/* Who waits for what this transaction has waits until its end. */
	if (!wait && flake_shard_is_locked(sequence, FLAKE_OTHER_SHARDS, FLAKE_READ_STATE))
		return flake_shard_overtake(sequence, FLAKE_OTHER_SHARDS, FLAKE_CHANGE_STATE);
	return flake_shard_lock(sequence, FLAKE_OTHER_SHARDS, FLAKE_CHANGE_STATE, wait);
}

/*
 * Locks a generator, so that it stays one and its shards do not change.  False if
 * that would mean waiting, and wait is false.  With missing_ok, *target is NULL, and
 * nothing is locked, if it has no shards or is none, and otherwise that is ERROR 42809
 * or 42P01.
 */
static bool
lock_target(Oid sequence, Oid function, bool missing_ok, bool wait, Target **target)
{
	Target	   *result = palloc0(sizeof(Target));

	*target = NULL;
	if (wait)
		LockRelationOid(sequence, RowExclusiveLock);
	else if (!ConditionalLockRelationOid(sequence, RowExclusiveLock))
		return false;
	if (!missing_ok)
		(void) flake_generator_layout(sequence, function, false, &result->layout);
	if (!flake_generator_any_layout(sequence, function, &result->layout, &result->is_logged))
	{
		UnlockRelationOid(sequence, RowExclusiveLock);
		return true;
	}
	result->sequence = sequence;
	result->key = flake_generator_key(sequence, function);
	check_privileges(sequence, result->key);
	if (result->key == FLAKE_UUID || result->key == FLAKE_OBJECTID)
	{
		if (!missing_ok)
			flake_shard_none(sequence);
		UnlockRelationOid(sequence, RowExclusiveLock);
		return true;
	}

	if (!lock_shards(sequence, wait))
	{
		UnlockRelationOid(sequence, RowExclusiveLock);
		return false;
	}
	*target = result;
	return true;
}

static void
unlock_targets(List *targets)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		Target	   *target = lfirst(lc);

		flake_shard_unlock(target->sequence, FLAKE_OTHER_SHARDS, FLAKE_CHANGE_STATE);
		UnlockRelationOid(target->sequence, RowExclusiveLock);
	}
}

/*
 * Locks those of some sequences that are generators with shards.  Only one is waited
 * for, *first, while no other is held.  If another one is in use, none is locked:
 * then *first is that one, and the result is false.
 */
static bool
lock_targets(List *sequences, Oid function, bool missing_ok, Oid *first, List **targets)
{
	ListCell   *lc;

	*targets = NIL;
	if (list_member_oid(sequences, *first))
		sequences = lcons_oid(*first, list_delete_oid(sequences, *first));
	foreach(lc, sequences)
	{
		Oid			sequence = lfirst_oid(lc);
		Target	   *target;

		if (!lock_target(sequence, function, missing_ok, sequence == *first, &target))
		{
			unlock_targets(*targets);
			*first = sequence;
			return false;
		}
		if (target != NULL)
			*targets = lappend(*targets, target);
	}
	return true;
}

/*
 * Opens the horizon of a generator; of one that mints nothing at present, because it is
 * not logged, it is read.  False if its page is in use.
 */
static bool
open_horizon(Target *target)
{
	if (!target->is_logged)
		return flake_horizon_try_read(target->sequence, PAGE_NO_WAIT, &target->value);
	return flake_horizon_try_open(&target->horizon, target->key, target->sequence,
								  &target->layout);
}

/*
 * Opens the horizons of generators.  The page of one can be in use for as long as
 * somebody likes who has USAGE on it: the result is that one then, or NULL.
 */
static Target *
open_horizons(List *targets)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		Target	   *target = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (!open_horizon(target))
			return target;
	}
	return NULL;
}

/* Opens the horizon of one, for which nothing is locked; ERROR 55P03 after 10 s. */
static void
await_horizon(Target *target, Oid function)
{
	LockRelationOid(target->sequence, RowExclusiveLock);
	if (flake_generator_any_layout(target->sequence, function, &target->layout,
								   &target->is_logged))
	{
		if (target->is_logged)
			flake_horizon_open(&target->horizon, target->key, target->sequence,
							   &target->layout, false);
		else
			(void) flake_horizon_read(target->sequence, &target->value);
	}
	UnlockRelationOid(target->sequence, RowExclusiveLock);
}

/*
 * A transaction that has written a row of a generator by hand and has not ended,
 * or InvalidTransactionId.
 */
static TransactionId
find_writer(const OwnTable *table, Oid sequence)
{
	TransactionId writer = InvalidTransactionId;
	SnapshotData dirty;
	ScanKeyData key;
	SysScanDesc scan;

	InitDirtySnapshot(dirty);
	ScanKeyInit(&key, STATE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
	scan = systable_beginscan(table->rel, table->index, true, &dirty, 1, &key);
	while (!TransactionIdIsValid(writer) && HeapTupleIsValid(flake_own_table_next(scan)))
		writer = TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax;
	systable_endscan(scan);
	return writer;
}

/*
 * The same for several, in both tables.  These begin with the same columns, and
 * are not kept: the writer may be about to lock them.
 */
static TransactionId
find_any_writer(List *targets, Oid function)
{
	const OwnTableId tables[] = {SHARD_STATE, LEASES};
	TransactionId writer = InvalidTransactionId;

	for (size_t i = 0; i < lengthof(tables); i++)
	{
		OwnTable	table = flake_own_table_open(tables[i], function, AccessShareLock);
		ListCell   *lc;

		foreach(lc, targets)
		{
			CHECK_FOR_INTERRUPTS();
			if (!TransactionIdIsValid(writer))
				writer = find_writer(&table, ((Target *) lfirst(lc))->sequence);
		}
		flake_own_table_close(&table);
	}
	return writer;
}

static void
count_rows(Target *target, const OwnTable *states)
{
	List	   *shards = list_shards(states, target->sequence);

	target->rows = list_length(shards);
	list_free(shards);
	if (target->is_logged && target->rows > 0)
		flake_restore_warn(&target->horizon, FLAKE_RESTORED_SHARDS, PAGE_NO_WAIT);
}

/* Those with more rows come first. */
static int
compare_rows(const ListCell *a, const ListCell *b)
{
	int			rows_of_a = ((const Target *) lfirst(a))->rows;
	int			rows_of_b = ((const Target *) lfirst(b))->rows;

	return (rows_of_a < rows_of_b) - (rows_of_a > rows_of_b);
}

/*
 * An id that is at or above all that a shard has handed out.  To know it takes no
 * clock that is right (H5), and no slot of the shard's.
 */
static int64
close_shard(Target *target, int32 shard, int64 image)
{
	int64		last = FLAKE_PACKED_NONE;

	flake_shmem_visit_slot(target->key, shard, close_slot, &last);
	return flake_shard_bound(&target->layout, target->is_logged
							 ? flake_horizon_floor(&target->horizon) : target->value,
							 last, image);
}

/* Detaches a shard that has a row, also if it is leased. */
static void
detach_shard(Target *target, int32 shard, const OwnTable *states, Oid function)
{
	int64		image = flake_layout_shard_image(&target->layout, shard);
	ShardState	state = flake_shard_read_row(states, target->sequence, shard);
	TimestampTz upto;
	int64		bound;

	if (flake_lease_break(target->sequence, shard, function, &upto))
		flake_shard_heed_lease(&target->layout, image, upto, &state);
	else if (!state.attached && !state.has_backfilled)
		return;
	flake_shard_end_backfill(&state);
	bound = close_shard(target, shard, image);
	state.after = state.has_after ? Max(bound, state.after) : bound;
	state.has_after = true;
	state.attached = false;
	flake_shard_write_state(target->sequence, shard, &state, function);
}

/* Detaches all shards of a generator, which is locked, also for opening, but for open slots. */
static void
detach_target(Target *target, const OwnTable *states, Oid function)
{
	int32		max_shard = flake_layout_max_shard(&target->layout);
	ShardState	others = {.attached = false};
	ListCell   *lc;

	flake_backfill_write(target->sequence);
	foreach(lc, list_shards(states, target->sequence))
	{
		int32		shard = lfirst_int(lc);

		CHECK_FOR_INTERRUPTS();

		/* Others have been written by hand, and nobody can mint them. */
		if (shard >= 0 && shard <= max_shard)
			detach_shard(target, shard, states, function);
	}
	flake_shard_write_state(target->sequence, FLAKE_OTHER_SHARDS, &others, function);
}

/*
 * flake_detach_all(generator regclass) returns void
 *
 * Not strict: null means all generators that have shards.
 */
Datum
flake_detach_all(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	bool		is_all = PG_ARGISNULL(0);
	Oid			first = is_all ? InvalidOid : PG_GETARG_OID(0);
	List	   *targets;
	ListCell   *lc;
	OwnTable	states;
	OwnTable	leases;
	MemoryContext old_context = CurrentMemoryContext;
	MemoryContext turn_context;

	PreventCommandIfReadOnly("flake_detach_all()");
	PreventCommandIfParallelMode("flake_detach_all()");

	/* Others can see to it that there are turns for as long as they like. */
	turn_context = AllocSetContextCreate(CurrentMemoryContext, "flakeid turn",
										 ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(turn_context);
	for (;;)
	{
		TransactionId writer;
		Target	   *busy;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(turn_context);

		/* With those that were created while others were waited for. */
		if (!lock_targets(is_all ? flake_generator_list(function) : list_make1_oid(first),
						  function, is_all, &first, &targets))
			continue;
		writer = find_any_writer(targets, function);
		busy = open_horizons(targets);
		if (!TransactionIdIsValid(writer) && busy == NULL)
			break;
		unlock_targets(targets);
		if (TransactionIdIsValid(writer))
			XactLockTableWait(writer, NULL, NULL, XLTW_None);
		else
			await_horizon(busy, function);
	}
	MemoryContextSwitchTo(old_context);

	/*
	 * Whatever else can take long comes before nobody may open a slot.  So do
	 * the rows of other generators: anybody can have as many as he likes, for
	 * his own.
	 */
	states = flake_own_table_open(SHARD_STATE, function, RowExclusiveLock);
	leases = flake_own_table_open(LEASES, function, RowExclusiveLock);
	foreach(lc, targets)
	{
		CHECK_FOR_INTERRUPTS();
		count_rows(lfirst(lc), &states);
	}
	list_sort(targets, compare_rows);

	/* A change that is forgotten in a crash would let ids repeat. */
	ForceSyncCommit();
	foreach(lc, targets)
	{
		CHECK_FOR_INTERRUPTS();
		(void) flake_shard_lock(((Target *) lfirst(lc))->sequence, FLAKE_OPENING,
								FLAKE_CHANGE_STATE, true);
		detach_target(lfirst(lc), &states, function);
	}
	close_slots(targets);
	flake_own_table_close(&leases);
	flake_own_table_close(&states);
	MemoryContextDelete(turn_context);
	PG_RETURN_VOID();
}
