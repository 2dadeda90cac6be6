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
 *
 * Every slot is closed when the server starts.  So the state is the table's
 * alone, which is replicated, undone by ROLLBACK and read again after a crash;
 * that a slot is closed says no more than "look there".
 *
 * The lock is a heavyweight one of the kind that advisory locks are, in a class
 * that SQL cannot reach.
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
#include "access/xact.h"
#include "admin.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "flakeid.h"
#include "fmgr.h"
#include "layout_type.h"
#include "lease.h"
#include "miscadmin.h"
#include "own_table.h"
#include "shard.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(flake_detach);
PG_FUNCTION_INFO_V1(flake_attach);
PG_FUNCTION_INFO_V1(flake_keep_state);

#define STATE_TABLE		"flake_shard_state"
#define STATE_INDEX		"flake_shard_state_pkey"	/* by generator and shard */

/* The columns of the table, as the install script has them. */
enum
{
	ANUM_GENERATOR = 1,
	ANUM_SHARD,
	ANUM_ATTACHED,
	ANUM_AFTER,
	ANUM_CHANGED_AT,
	STATE_COLUMNS = ANUM_CHANGED_AT
};

/* A class of advisory locks that SQL functions (1, 2) and leases do not use. */
#define SHARD_LOCK_CLASS	0x0F1A

/* A row of the table. */
typedef struct ShardState
{
	bool		exists;
	bool		attached;
	bool		in_doubt;		/* changed by this transaction */
	bool		is_new;			/* the table is of this transaction */
	bool		has_after;
	int64		after;			/* an id */
} ShardState;

static LOCKTAG
shard_lock(const Generator *generator, int32 shard)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, generator->sequence, (uint32) shard,
						 SHARD_LOCK_CLASS);
	return tag;
}

/*
 * Reads the state of a shard, as it is now: what has been committed meanwhile
 * counts, whatever the snapshot of the transaction is.
 */
static ShardState
read_state(Oid sequence, int32 shard, Oid function)
{
	Relation	table = table_open(flake_own_relation(STATE_TABLE, function), AccessShareLock);
	Oid			index = flake_own_relation(STATE_INDEX, function);
	ShardState	state = {0};
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	state.is_new = flake_is_new(table);
	state.in_doubt = !state.is_new && flake_has_new_file(table);
	ScanKeyInit(&keys[0], ANUM_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
	ScanKeyInit(&keys[1], ANUM_SHARD, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(shard));
	scan = systable_beginscan(table, index, true, NULL, 2, keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Datum		values[STATE_COLUMNS];
		bool		nulls[STATE_COLUMNS];

		heap_deform_tuple(tuple, RelationGetDescr(table), values, nulls);
		state.exists = true;
		state.attached = DatumGetBool(values[ANUM_ATTACHED - 1]);
		state.has_after = !nulls[ANUM_AFTER - 1];
		if (state.has_after)
			state.after = DatumGetInt64(values[ANUM_AFTER - 1]);
	}
	systable_endscan(scan);

	/* Has this transaction written or removed a row of the shard? */
	scan = systable_beginscan(table, index, true, SnapshotAny, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)) ||
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple->t_data)))
			state.in_doubt = true;
	}
	systable_endscan(scan);
	table_close(table, AccessShareLock);
	return state;
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
 * Slots that a transaction has opened which has itself created the table, with
 * CREATE EXTENSION.  If it is undone, another table counts again, and it was
 * not asked.  So the slots are closed then.  Nobody else opens them meanwhile:
 * who drops the extension, too, keeps others from its generator.
 *
 * A process that does not learn what becomes of the transaction closes them when
 * it leaves it: a parallel worker, and who prepares it for a two-phase commit.
 * That is harmless whatever comes of it.
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

static void
transaction_ends(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PARALLEL_COMMIT:
			undo_opening();
			break;
		case XACT_EVENT_COMMIT:
			opened_in_doubt = NIL;	/* its memory goes with the transaction's */
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

void
flake_shard_open(Generator *generator, const GeneratorSlot *slot, Oid function)
{
	LOCKTAG		tag = shard_lock(generator, slot->shard);
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
	(void) LockAcquire(&tag, ShareLock, false, false);
	state = read_state(sequence, slot->shard, function);
	check_state(&state, slot->shard);
	if (state.has_after)
		above = flake_layout_packed_up_to(&generator->layout, state.after);
	if (state.is_new)
	{
		MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

		opened_in_doubt = lappend(opened_in_doubt, slot->slot);
		MemoryContextSwitchTo(old_context);
	}
	flake_slot_open(slot->slot, above);
	flake_generator_mark_checked(generator);
	LockRelease(&tag, ShareLock, false);
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
	LOCKTAG		tag;

	*generator = flake_shard_begin_change(sequence, function, function_name);
	result = pg_class_aclcheck(sequence, GetUserId(), ACL_UPDATE);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SEQUENCE, get_rel_name(sequence));

	(void) flake_generator_slot(*generator, shard);
	tag = shard_lock(*generator, shard);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);

	/* Waiting for the lock may have brought news. */
	*generator = flake_generator_get(sequence, function);
	return *flake_generator_slot(*generator, shard);
}

/*
 * Removes from a table, as the owner of one, the rows of generators that were
 * dropped, but for those that another transaction is just removing: nobody is
 * to wait for that.
 */
static void
remove_dropped(Oid table, const char *name, const char *condition)
{
	(void) flake_execute_as_owner(table,
								  psprintf("DELETE FROM %s WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
										   "SELECT s.ctid FROM %s s WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
										   " WHERE c.oid OPERATOR(pg_catalog.=) s.generator)%s FOR UPDATE SKIP LOCKED))",
										   name, name, condition),
								  0, NULL, NULL, NULL);
}

/*
 * Writes the state of a shard, as the owner of the table, and removes what
 * dropped generators left there.
 */
static void
write_state(Oid sequence, int32 shard, bool attached, bool has_after,
			int64 after, Oid function)
{
	Oid			table = flake_own_relation(STATE_TABLE, function);
	char	   *name = flake_own_relation_name(STATE_TABLE, function);
	Oid			types[] = {REGCLASSOID, INT4OID, BOOLOID, INT8OID};
	Datum		values[] = {
		ObjectIdGetDatum(sequence),
		Int32GetDatum(shard),
		BoolGetDatum(attached),
		Int64GetDatum(after)
	};
	char		nulls[] = {' ', ' ', ' ', has_after ? ' ' : 'n', '\0'};

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");

	/* No row is written if session_replication_role is replica. */
	if (flake_execute_as_owner(table,
							   psprintf("INSERT INTO %s AS s VALUES ($1, $2, $3, $4, pg_catalog.now())"
										" ON CONFLICT ON CONSTRAINT %s DO UPDATE SET attached = excluded.attached,"
										" after = excluded.after, changed_at = excluded.changed_at",
										name, STATE_INDEX),
							   lengthof(types), types, values, nulls) != 1)
		elog(ERROR, "could not write the state of shard %d", shard);
	remove_dropped(table, flake_own_relation_name(LEASE_TABLE, function), "");
	remove_dropped(table, name,
				   psprintf(" AND NOT EXISTS (SELECT FROM %s l WHERE l.generator OPERATOR(pg_catalog.=) s.generator)",
							flake_own_relation_name(LEASE_TABLE, function)));
	SPI_finish();
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
	LOCKTAG		tag = shard_lock(generator, shard);

	if (flake_slot_last(slot.slot) != FLAKE_PACKED_NONE ||
		LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;

	/* Nobody mints it now who did not mint it before. */
	if (flake_slot_last(slot.slot) != FLAKE_PACKED_NONE ||
		read_state(sequence, shard, function).exists)
	{
		LockRelease(&tag, ExclusiveLock, false);
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
	int64		packed;
	int64		id;

	if (!state->exists || state->attached ||
		!flake_lease_end(generator->sequence, slot->shard, function, &upto))
		return;
	packed = flake_layout_pack(layout,
							   Min(flake_layout_tick_at(layout, upto),
								   flake_layout_max_tick(layout)),
							   flake_layout_max_sequence(layout));
	id = flake_layout_id(layout, packed, slot->image);
	state->after = state->has_after ? Max(state->after, id) : id;
	state->has_after = true;
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

	/*
	 * Also if it is already detached.  A lease can be hidden: committed after
	 * this transaction's snapshot was taken, or by the trigger keep_state.
	 * Then so is the row of the state, and this fails.
	 */
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
		(void) flake_packed_to_exceed(&generator->layout, after,
									  "Check the clocks of both servers.");
		state.after = state.has_after ? Max(state.after, after) : after;
		state.has_after = true;
	}
	write_state(sequence, shard, true, state.has_after, state.after, function);

	/* What is opened next goes by the new state. */
	(void) flake_slot_close(slot.slot);
	PG_RETURN_VOID();
}

/*
 * flake_keep_state() returns trigger
 *
 * For rows that logical replication brings: which shards a server mints is its
 * own affair, and does not travel with the data.
 */
Datum
flake_keep_state(PG_FUNCTION_ARGS)
{
	return PointerGetDatum(NULL);
}
