/*-------------------------------------------------------------------------
 *
 * shard.c
 *	  SQL functions that say which shards this server mints: fencing.
 *
 * A shard moves to another server in three steps: detach it here, bring its
 * rows over, attach it there.  No id may be minted here after the first step,
 * and none there that was minted here before.  So:
 *
 *	F1	flake_detach() closes the shard's slot before it returns.  No claim
 *		succeeds on a closed slot.
 *	F2	A slot is opened only by who has read in the table of shard states
 *		that the shard is not detached, while holding the shard's lock, which
 *		conflicts with that of detaching and attaching till their end.
 *	F3	What flake_detach() returns is at or above everything handed out here,
 *		and the first id after flake_attach() is above what it was given.
 *	F4	A transaction that has itself created the table (CREATE EXTENSION) opens
 *		only slots of generators that it has created, too: nobody else can mint
 *		from them before its end.  If it is undone, it closes them.
 *
 * Every slot is closed when the server starts.  So the state is the table's
 * alone, which is replicated, undone by ROLLBACK and read again after a crash;
 * that a slot is closed says no more than "look there".
 *
 * The lock is a heavyweight one of the kind that advisory locks are, in a class
 * that SQL cannot reach.  It has modes: the state is read under
 * FLAKE_READ_STATE, changed under FLAKE_CHANGE_STATE, and a lease of the shard is
 * changed under FLAKE_CHANGE_LEASE, which keeps the state and other changes to
 * the lease out, but not readers.  The latter two are kept to the end of the
 * transaction.  So no two transactions change a shard's row in either table, and
 * what is read there under the lock has been committed, or is our own.
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
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/exceed.h"
#include "mint/generator.h"
#include "mint/horizon.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "settings.h"
#include "shard/lease.h"
#include "shard/shard.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "trust/relation.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_detach);
PG_FUNCTION_INFO_V1(flake_attach);
PG_FUNCTION_INFO_V1(flake_keep_state);
PG_FUNCTION_INFO_V1(flake_forget_dropped);
PG_FUNCTION_INFO_V1(flake_keep_triggers);

/* A class of advisory locks that SQL functions (1, 2) and leases do not use. */
#define SHARD_LOCK_CLASS	0x0F1A

/* A row of the table. */
typedef struct ShardState
{
	bool		exists;
	bool		attached;
	bool		in_doubt;		/* changed by this transaction */
	bool		is_new;			/* the table was made by this transaction */
	bool		has_after;
	int64		after;			/* an id */
} ShardState;

bool
flake_shard_lock(Oid sequence, int32 shard, LOCKMODE mode, bool wait)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, sequence, (uint32) shard,
						 SHARD_LOCK_CLASS);
	return LockAcquire(&tag, mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

void
flake_shard_unlock(Oid sequence, int32 shard, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, sequence, (uint32) shard,
						 SHARD_LOCK_CLASS);
	LockRelease(&tag, mode, false);
}

/* What finds the row of a shard. */
static void
init_keys(ScanKeyData keys[2], Oid sequence, int32 shard)
{
	ScanKeyInit(&keys[0], STATE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
	ScanKeyInit(&keys[1], STATE_SHARD, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(shard));
}

/* Whether this transaction has written a version of a row, or replaced it. */
static bool
is_our_version(HeapTuple row)
{
	HeapTupleHeader header = row->t_data;

	return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header)) ||
		(!HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		 TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header)));
}

/* Reads the state of a shard, as it is now. */
static ShardState
read_state(Oid sequence, int32 shard, Oid function)
{
	OwnTable	table = flake_own_table_open(SHARD_STATE, function, AccessShareLock);
	ShardState	state = {0};
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	row;

	init_keys(keys, sequence, shard);
	state.is_new = flake_is_new(table.rel);
	state.in_doubt = !state.is_new && flake_has_new_file(table.rel);
	row = flake_own_table_find(&table, table.index, 2, keys);
	if (row != NULL)
	{
		Datum		values[STATE_COLUMNS];
		bool		nulls[STATE_COLUMNS];

		heap_deform_tuple(row, RelationGetDescr(table.rel), values, nulls);
		state.exists = true;
		state.attached = DatumGetBool(values[STATE_ATTACHED - 1]);
		state.has_after = !nulls[STATE_AFTER - 1];
		if (state.has_after)
			state.after = DatumGetInt64(values[STATE_AFTER - 1]);
	}

	scan = systable_beginscan(table.rel, table.index, true, SnapshotAny, 2, keys);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
		state.in_doubt |= is_our_version(row);
	systable_endscan(scan);
	flake_own_table_close(&table);
	return state;
}

bool
flake_shard_is_detached(Oid sequence, int32 shard, Oid function)
{
	ShardState	state = read_state(sequence, shard, function);

	return state.exists && !state.attached;
}

/* ERROR unless the shard may be minted here. */
static void
check_state(const ShardState *state, int32 shard)
{
	if (state->exists && !state->attached)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d is detached", shard),
				 errdetail("This server does not mint its ids any more."),
				 errhint("Mint where the shard is now, or attach it here with flake_attach(). The view flake_shards says whether it is leased.")));
	if (!state->attached && flake_require_attach)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d is not attached", shard),
				 errdetail("The setting \"flakeid.require_attach\" is on."),
				 errhint("Mint where the shard is, or attach it here with flake_attach().")));

	/* Others may mint from an open slot, so it is opened after the commit. */
	if (state->in_doubt)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot mint ids of shard %d before the change of its state is committed", shard),
				 errhint("Commit first.")));
}

/*
 * F4: slots that a transaction has opened which has itself created the table.  If
 * it is undone, another table counts again, which was not asked.  So the slots are
 * closed then, without the shard's lock: nobody else has been at them, since
 * nobody else sees the sequence, or in case of a generator of the extension's
 * own, can lock the one whose place it has taken.
 *
 * A transaction that is prepared for a two-phase commit leaves before it is known
 * what becomes of it.  Closing its slots is harmless whatever comes of it.
 */
static List *opened_in_doubt = NIL;

static void
undo_opening(void)
{
	ListCell   *lc;

	foreach(lc, opened_in_doubt)
		(void) flake_slot_close(lfirst(lc));

	/* Slots of generators that are undone, too, can now be freed. */
	opened_in_doubt = NIL;
}

/*
 * Shards of which a restore, or somebody by hand, has written the state.  Their
 * slots are closed when others can see that state, so that what is opened next goes
 * by it.
 */
typedef struct WrittenShard
{
	Oid			key;			/* the generator's */
	int32		shard;
} WrittenShard;

static List *written_shards = NIL;
static bool all_are_written = false;

static void
close_one(Slot *slot, void *arg)
{
	(void) flake_slot_close(slot);
}

static void
close_written(void)
{
	ListCell   *lc;

	if (all_are_written)
		flake_shmem_each_slot(close_one, NULL);

	foreach(lc, written_shards)
	{
		const WrittenShard *written = lfirst(lc);

		flake_shmem_visit_slot(written->key, written->shard, close_one, NULL);
	}
}

static void
transaction_ends(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			undo_opening();
			written_shards = NIL;
			all_are_written = false;
			break;
		case XACT_EVENT_COMMIT:
			close_written();
			/* Their memory goes with the transaction's. */
			opened_in_doubt = NIL;
			written_shards = NIL;
			all_are_written = false;
			break;
		default:
			break;
	}
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId subid,
					SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		undo_opening();
}

void
flake_shard_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}

/*
 * F4: ERROR for a generator that is older than the table of states, which this
 * transaction has made.  For others the old table still counts, and they can use
 * the slot.
 */
static void
check_is_new(const Generator *generator)
{
	Relation	rel = relation_open(generator->sequence, NoLock);
	bool		is_new = flake_is_new(rel);

	relation_close(rel, NoLock);
	if (!is_new)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot mint ids of generator \"%s\" before the new extension \"flakeid\" is committed",
						get_rel_name(generator->sequence)),
				 errdetail("This transaction has created the extension, and the generator was there before."),
				 errhint("Commit first.")));
}

static bool
is_same_state(const ShardState *a, const ShardState *b)
{
	return a->exists == b->exists && a->attached == b->attached &&
		a->has_after == b->has_after && a->after == b->after;
}

void
flake_shard_open(Generator *generator, const GeneratorSlot *slot, Oid function)
{
	Oid			sequence = generator->sequence;
	int64		above = FLAKE_PACKED_NONE;
	ShardState	state;

	/* UUIDs and ObjectIDs have no shards. */
	if (generator->key == FLAKE_UUID || generator->key == FLAKE_OBJECTID)
	{
		flake_slot_open(slot->slot, above);
		flake_generator_mark_checked(generator);
		return;
	}

	/* F2 */
	(void) flake_shard_lock(sequence, slot->shard, FLAKE_READ_STATE, true);
	state = read_state(sequence, slot->shard, function);
	for (;;)
	{
		ShardState	before;

		check_state(&state, slot->shard);
		above = state.has_after
			? flake_layout_packed_up_to(&generator->layout, state.after)
			: FLAKE_PACKED_NONE;
		if (state.is_new)
		{
			MemoryContext old_context;

			check_is_new(generator);
			old_context = MemoryContextSwitchTo(TopTransactionContext);
			opened_in_doubt = lappend(opened_in_doubt, slot->slot);
			MemoryContextSwitchTo(old_context);
		}
		flake_slot_open(slot->slot, above);

		/*
		 * Who writes a row by hand does not lock the shard, and closes the
		 * slot after the commit.  If that was just before this, the row is
		 * there now.
		 */
		before = state;
		state = read_state(sequence, slot->shard, function);
		if (is_same_state(&before, &state))
			break;
		(void) flake_slot_close(slot->slot);
	}
	flake_generator_mark_checked(generator);
	flake_shard_unlock(sequence, slot->shard, FLAKE_READ_STATE);
}

Generator *
flake_shard_begin_change(Oid sequence, Oid function, const char *function_name)
{
	Generator  *generator;

	PreventCommandIfReadOnly(function_name);
	PreventCommandIfParallelMode(function_name);
	generator = flake_generator_get(sequence, function);
	if (generator->key == FLAKE_UUID || generator->key == FLAKE_OBJECTID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("generator \"%s\" has no shards", get_rel_name(sequence))));

	/* A change that is forgotten in a crash would let ids repeat. */
	ForceSyncCommit();
	return generator;
}

/*
 * Gets a generator ready for a change to one of its shards, and the shard's
 * lock, which is kept to the end of the transaction.
 */
static GeneratorSlot
begin_change(Oid sequence, int32 shard, Oid function, const char *function_name,
			 Generator **generator)
{
	AclResult	result;

	*generator = flake_shard_begin_change(sequence, function, function_name);
	result = pg_class_aclcheck(sequence, GetUserId(), ACL_UPDATE);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SEQUENCE, get_rel_name(sequence));

	(void) flake_generator_slot(*generator, shard);
	(void) flake_shard_lock(sequence, shard, FLAKE_CHANGE_STATE, true);

	/* Waiting for the lock may have brought news. */
	*generator = flake_generator_get(sequence, function);
	return *flake_generator_slot(*generator, shard);
}

/* Removes what dropped generators left in both tables. */
static void
remove_dropped(const OwnTable *states, const OwnTable *leases)
{
	flake_own_table_remove_dropped(leases, NULL);
	flake_own_table_remove_dropped(states, leases);
}

/*
 * Writes the state of a shard.  What the event trigger did not remove, in single-user
 * mode for instance, goes on the occasion.
 */
static void
write_state(Oid sequence, int32 shard, bool attached, bool has_after,
			int64 after, Oid function)
{
	OwnTable	states = flake_own_table_open(SHARD_STATE, function, RowExclusiveLock);
	OwnTable	leases = flake_own_table_open(LEASES, function, RowExclusiveLock);
	ScanKeyData keys[2];
	HeapTuple	row;
	Datum		values[STATE_COLUMNS];
	bool		nulls[STATE_COLUMNS] = {false};

	values[STATE_GENERATOR - 1] = ObjectIdGetDatum(sequence);
	values[STATE_SHARD - 1] = Int32GetDatum(shard);
	values[STATE_ATTACHED - 1] = BoolGetDatum(attached);
	values[STATE_AFTER - 1] = Int64GetDatum(after);
	nulls[STATE_AFTER - 1] = !has_after;
	values[STATE_CHANGED_AT - 1] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());

	/* The shard's lock keeps all but those away who write by hand. */
	init_keys(keys, sequence, shard);
	row = flake_own_table_lock(&states, states.index, 2, keys, LockWaitBlock);
	if (row != NULL)
		flake_own_table_update(&states, row, values, nulls);
	else
		flake_own_table_insert(&states, values, nulls);

	remove_dropped(&states, &leases);
	flake_own_table_close(&leases);
	flake_own_table_close(&states);
}

/* Closes a slot; an id that is at or above all of the shard so far (F1, F3). */
static int64
close_slot(const Generator *generator, const GeneratorSlot *slot)
{
	int64		bound = flake_slot_close(slot->slot);

	/*
	 * Before the server started, ids were handed out up to the floor;
	 * setval() may have set that outside of the layout.
	 */
	bound = Max(bound, flake_horizon_floor(&generator->horizon));
	bound = Max(bound, flake_layout_min_packed(&generator->layout));
	bound = Min(bound, flake_layout_max_packed(&generator->layout));
	return flake_layout_id(&generator->layout, bound, slot->image);
}

bool
flake_shard_reserve(Oid sequence, int32 shard, Oid function, int64 *bound)
{
	Generator  *generator = flake_generator_get(sequence, function);
	GeneratorSlot slot = *flake_generator_slot(generator, shard);

	if (flake_slot_last(slot.slot) != FLAKE_PACKED_NONE ||
		!flake_shard_lock(sequence, shard, FLAKE_CHANGE_STATE, false))
		return false;

	/* Nobody mints it now who did not mint it before. */
	if (flake_slot_last(slot.slot) != FLAKE_PACKED_NONE ||
		read_state(sequence, shard, function).exists)
	{
		flake_shard_unlock(sequence, shard, FLAKE_CHANGE_STATE);
		return false;
	}
	generator = flake_generator_get(sequence, function);
	*bound = close_slot(generator, &slot);
	write_state(sequence, shard, false, true, *bound, function);
	return true;
}

/* Ends the lease of a shard, if there is one, and heeds what was leased. */
static void
end_lease(const Generator *generator, const GeneratorSlot *slot,
		  ShardState *state, Oid function)
{
	const FlakeLayout *layout = &generator->layout;
	TimestampTz upto;
	int64		tick;
	int64		packed;
	int64		id;

	if (!state->exists || state->attached ||
		!flake_lease_end(generator->sequence, slot->shard, function, &upto))
		return;
	if (!flake_layout_has_time(layout))
		return;					/* a row written by hand: such are not leased */
	tick = flake_layout_tick_at(layout, upto);
	tick = Max(tick, flake_layout_min_tick(layout));
	tick = Min(tick, flake_layout_max_tick(layout));
	packed = flake_layout_pack(layout, tick, flake_layout_max_sequence(layout));
	id = flake_layout_id(layout, packed, slot->image);
	state->after = state->has_after ? Max(state->after, id) : id;
	state->has_after = true;
}

void
flake_shard_take_back(Oid sequence, int32 shard, Oid function)
{
	GeneratorSlot slot;
	ShardState	state;

	(void) flake_shard_lock(sequence, shard, FLAKE_CHANGE_STATE, true);
	slot = *flake_generator_slot(flake_generator_get(sequence, function), shard);

	/*
	 * L3: the next owner of the shard, wherever it is, goes on after the
	 * lease.
	 */
	state = read_state(sequence, shard, function);
	end_lease(flake_generator_get(sequence, function), &slot, &state, function);
	write_state(sequence, shard, false, state.has_after, state.after, function);
}

/* flake_detach(shard int, generator regclass) returns bigint */
Datum
flake_detach(PG_FUNCTION_ARGS)
{
	int32		shard = PG_GETARG_INT32(0);
	Oid			sequence = PG_GETARG_OID(1);
	Oid			function = fcinfo->flinfo->fn_oid;
	Generator  *generator;
	GeneratorSlot slot;
	ShardState	state;
	int64		bound;

	slot = begin_change(sequence, shard, function, "flake_detach()", &generator);
	state = read_state(sequence, shard, function);
	end_lease(generator, &slot, &state, function);
	bound = close_slot(flake_generator_get(sequence, function), &slot);
	if (state.has_after)
		bound = Max(bound, state.after);

	/* Also if it is already detached: a lease may have raised the bound. */
	write_state(sequence, shard, false, true, bound, function);
	PG_RETURN_INT64(bound);
}

/*
 * flake_attach(shard int, after bigint, generator regclass) returns void
 *
 * Not strict: after may be NULL.
 */
Datum
flake_attach(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	Generator  *generator;
	GeneratorSlot slot;
	ShardState	state;
	int32		shard;
	Oid			sequence;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	shard = PG_GETARG_INT32(0);
	sequence = PG_GETARG_OID(2);

	slot = begin_change(sequence, shard, function, "flake_attach()", &generator);
	state = read_state(sequence, shard, function);
	end_lease(generator, &slot, &state, function);
	if (!PG_ARGISNULL(1))
	{
		int64		after = PG_GETARG_INT64(1);

		generator = flake_generator_get(sequence, function);
		(void) flake_packed_to_exceed(&generator->layout, after, false,
									  "Check the clocks of both servers.");
		state.after = state.has_after ? Max(state.after, after) : after;
		state.has_after = true;
	}
	write_state(sequence, shard, true, state.has_after, state.after, function);

	/* What is opened next goes by the new state. */
	(void) flake_slot_close(slot.slot);
	PG_RETURN_VOID();
}

static void
close_at_commit(Oid sequence, int32 shard, Oid function)
{
	Oid			key = flake_generator_key(sequence, function);
	MemoryContext old_context;
	WrittenShard *written;

	if (key == FLAKE_UUID || key == FLAKE_OBJECTID)
		return;

	/* Shared memory is attached here, where that can still fail. */
	flake_shmem_visit_slot(key, shard, close_one, NULL);
	old_context = MemoryContextSwitchTo(TopTransactionContext);
	written = palloc(sizeof(WrittenShard));
	written->key = key;
	written->shard = shard;
	written_shards = lappend(written_shards, written);
	MemoryContextSwitchTo(old_context);
}

static const char no_generator[] = "its generator does not exist";
static const char there_already[] = "there is one already";
static const char has_another[] = "its owner has another shard";

/*
 * Why a row that is inserted would make a restore of the whole table fail, or NULL.
 * Both tables begin with the same columns and have the same key.
 */
static const char *
reason_to_skip(OwnTableId id, const OwnTable *table, HeapTuple row,
			   Oid sequence, int32 shard)
{
	ScanKeyData keys[2];

	init_keys(keys, sequence, shard);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(sequence)))
		return no_generator;
	if (flake_own_table_has(table, table->index, lengthof(keys), keys))
		return there_already;
	if (id == LEASES)
	{
		bool		isnull;
		Datum		owner = heap_getattr(row, LEASE_OWNER, RelationGetDescr(table->rel),
										 &isnull);

		ScanKeyEntryInitialize(&keys[1], 0, LEASE_OWNER, BTEqualStrategyNumber,
							   InvalidOid, C_COLLATION_OID, F_TEXTEQ, owner);
		if (!isnull && flake_own_table_has(table, table->second_index,
										   lengthof(keys), keys))
			return has_another;
	}
	return NULL;
}

/* WARNING that a row was skipped; the context has the line of a dump. */
static void
warn_of_skipped(const TriggerData *data, const char *reason)
{
	bool		isnull;
	Datum		shard = heap_getattr(data->tg_trigtuple, STATE_SHARD,
									 RelationGetDescr(data->tg_relation), &isnull);
	char	   *context = GetErrorContextStack();

	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("skipped a row of table \"%s\" for shard %d, because %s",
					RelationGetRelationName(data->tg_relation), DatumGetInt32(shard), reason),
			 context != NULL ? errdetail_internal("%s", context) : 0,
			 reason == no_generator
			 ? errhint("If you restore the generator later, add the row before ids are minted from it.")
			 : reason == there_already
			 ? errhint("If the two differ, change the row that is there.")
			 : errhint("Do not attach the shard before that lease is over.")));
}

/*
 * Whether a row that a session writes is kept.  The table may be anybody's: then it
 * is.
 */
static bool
keep_row(const TriggerData *data, Oid function)
{
	const OwnTableId id = strcmp(RelationGetRelationName(data->tg_relation),
								 "flake_leases") == 0 ? LEASES : SHARD_STATE;
	HeapTuple	row = TRIGGER_FIRED_BY_UPDATE(data->tg_event)
	? data->tg_newtuple : data->tg_trigtuple;
	const char *reason = NULL;
	OwnTable	table;

	if (!flake_own_table_try_open(id, function, AccessShareLock, &table))
		return true;
	if (RelationGetRelid(table.rel) == RelationGetRelid(data->tg_relation))
	{
		TupleDesc	desc = RelationGetDescr(table.rel);
		bool		isnull[2];
		Datum		sequence = heap_getattr(row, STATE_GENERATOR, desc, &isnull[0]);
		Datum		shard = heap_getattr(row, STATE_SHARD, desc, &isnull[1]);

		if (!isnull[0] && !isnull[1])
		{
			if (TRIGGER_FIRED_BY_INSERT(data->tg_event))
				reason = reason_to_skip(id, &table, row, DatumGetObjectId(sequence),
										DatumGetInt32(shard));
			if (reason != NULL)
				warn_of_skipped(data, reason);
			else
				close_at_commit(DatumGetObjectId(sequence), DatumGetInt32(shard),
								function);
		}
	}
	flake_own_table_close(&table);
	return reason == NULL;
}

/*
 * _flake_keep_state() returns trigger
 *
 * For rows that logical replication brings: which shards a server mints is its
 * own affair, and does not travel with the data.  A row is skipped; TRUNCATE
 * cannot be, so it is refused, also where it would be published.
 *
 * Rows that a session brings, such as psql when it restores a dump, are kept,
 * whatever its session_replication_role.  But one whose generator is not there, or
 * that is there already, is skipped, so that all others are restored.
 */
Datum
flake_keep_state(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"_flake_keep_state")));
	if (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot truncate table \"%s\" of extension \"flakeid\"",
						RelationGetRelationName(data->tg_relation)),
				 errdetail("Shards that were detached or leased could be minted again, here or where it is replicated to."),
				 errhint("If logical replication brings it, skip the transaction with ALTER SUBSCRIPTION ... SKIP.")));
	/* An apply worker, PostgreSQL's own or another's */
	if (MyBgworkerEntry != NULL || !TRIGGER_FIRED_FOR_ROW(data->tg_event))
		return PointerGetDatum(NULL);
	if (!TRIGGER_FIRED_BY_DELETE(data->tg_event) &&
		!keep_row(data, fcinfo->flinfo->fn_oid))
		return PointerGetDatum(NULL);
	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(data->tg_event)
						   ? data->tg_newtuple : data->tg_trigtuple);
}

/*
 * Lets a trigger fire always again, as the install script does.  If somebody else
 * is changing the table's triggers, it is left to him.
 */
static void
keep_trigger(Relation rel, const char *name)
{
	const TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (strcmp(triggers->triggers[i].tgname, name) != 0 ||
			triggers->triggers[i].tgenabled != TRIGGER_FIRES_ON_ORIGIN)
			continue;
		all_are_written = true;
		flake_shmem_each_slot(close_one, NULL);
		if (!ConditionalLockRelation(rel, ShareRowExclusiveLock))
			return;
		if (rel->trigdesc == NULL || i >= rel->trigdesc->numtriggers ||
			rel->trigdesc->triggers[i].tgenabled != TRIGGER_FIRES_ON_ORIGIN)
			return;
#if PG_VERSION_NUM >= 160000
		EnableDisableTrigger(rel, name, InvalidOid, TRIGGER_FIRES_ALWAYS, true, false,
							 AccessExclusiveLock);
#else
		EnableDisableTrigger(rel, name, TRIGGER_FIRES_ALWAYS, true, AccessExclusiveLock);
#endif
		return;
	}
}

/*
 * _flake_keep_triggers() returns event_trigger
 *
 * What pg_dump --data-only --disable-triggers writes ends with ENABLE TRIGGER ALL,
 * after which the triggers of flake_keep_state() would no longer fire for what
 * logical replication brings.  Rows were written that it has not seen, so they count
 * from now on for all shards.  A trigger that was disabled by intent stays so.
 */
Datum
flake_keep_triggers(PG_FUNCTION_ARGS)
{
	const OwnTableId tables[] = {SHARD_STATE, LEASES};

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"_flake_keep_triggers")));
	for (size_t i = 0; i < lengthof(tables); i++)
	{
		OwnTable	table;

		if (!flake_own_table_try_open(tables[i], fcinfo->flinfo->fn_oid,
									  AccessShareLock, &table))
			continue;
		keep_trigger(table.rel, "keep_state");
		CommandCounterIncrement();
		keep_trigger(table.rel, "keep_rows");
		flake_own_table_close(&table);
	}
	PG_RETURN_NULL();
}

/*
 * _flake_forget_dropped() returns event_trigger
 *
 * Removes the rows of generators that a command has dropped, by whatever way.  It
 * is called for every command that drops something, by whomever, so it looks before
 * it takes a lock for changes, and leaves tables alone that are not as expected:
 * nobody could drop what makes them so.
 */
Datum
flake_forget_dropped(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	OwnTable	states;
	OwnTable	leases;
	bool		found;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"_flake_forget_dropped")));
	if (!flake_own_table_try_open(SHARD_STATE, function, AccessShareLock, &states))
		PG_RETURN_NULL();
	found = flake_own_table_has_dropped(&states);
	flake_own_table_close(&states);

	/* A row of the leases has one of the states. */
	if (found &&
		flake_own_table_try_open(SHARD_STATE, function, RowExclusiveLock, &states))
	{
		if (flake_own_table_try_open(LEASES, function, RowExclusiveLock, &leases))
		{
			remove_dropped(&states, &leases);
			flake_own_table_close(&leases);
		}
		flake_own_table_close(&states);
	}
	PG_RETURN_NULL();
}
