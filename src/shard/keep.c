/*-------------------------------------------------------------------------
 *
 * keep.c
 *	  Rows of shard states and leases that this extension has not written: what
 *	  a restore, logical replication or somebody by hand brings, and what dropped
 *	  generators leave.
 *
 * The triggers of the two tables call the functions here.  They must not keep a
 * restore from its end, whatever its rows say, and must not let the rows of
 * another server in.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "shard/keep.h"
#include "shard/lease_row.h"
#include "shard/state.h"
#include "storage/lmgr.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_keep_state);
PG_FUNCTION_INFO_V1(flake_keep_triggers);
PG_FUNCTION_INFO_V1(flake_forget_dropped);

/*
 * Shards whose states a restore, or somebody by hand, has written.  The slots are
 * closed before the commit, and what is opened next goes by the new states: until
 * the end of the transaction the lock of all shards keeps others from reading the
 * old ones (F2).
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
	List	   *keys = NIL;		/* of generators */
	ListCell   *lc;

	if (!all_are_written && written_shards == NIL)
		return;
	(void) flake_shard_lock(FLAKE_ALL_SHARDS, 0, FLAKE_CHANGE_STATE, true);

	/* A change that is forgotten in a crash would let ids repeat. */
	ForceSyncCommit();
	if (all_are_written)
	{
		flake_shmem_each_slot(close_one, NULL);
		return;
	}
	foreach(lc, written_shards)
	{
		WrittenShard *written = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (written->shard == FLAKE_OTHER_SHARDS)
			keys = lappend_oid(keys, written->key);
		else
			flake_shmem_visit_slot(written->key, written->shard, close_one, NULL);
	}
	flake_shard_close_all(keys);
	list_free(keys);
}

static void
transaction_ends(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			close_written();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			written_shards = NIL;	/* its memory goes with the transaction's */
			all_are_written = false;
			break;
		default:
			break;
	}
}

void
flake_keep_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
}

/* Has the slot closed that a row, with its columns, is about. */
static void
close_at_commit(HeapTuple row, TupleDesc desc, Oid function)
{
	bool		isnull[2];
	Oid			sequence = DatumGetObjectId(heap_getattr(row, STATE_GENERATOR, desc, &isnull[0]));
	int32		shard = DatumGetInt32(heap_getattr(row, STATE_SHARD, desc, &isnull[1]));
	MemoryContext old_context;
	WrittenShard *written;
	Oid			key;

	if (isnull[0] || isnull[1])
		return;
	key = flake_generator_key(sequence, function);
	if (key == FLAKE_UUID || key == FLAKE_OBJECTID)
		return;
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
static const char too_long[] = "the name of its owner is too long";

/* Whether a row of leases has an owner that flake_lease() would not accept. */
static bool
has_long_owner(const OwnTable *table, HeapTuple row)
{
	bool		isnull;
	Datum		owner = heap_getattr(row, LEASE_OWNER, RelationGetDescr(table->rel), &isnull);

	return !isnull && toast_raw_datum_size(owner) > MAX_LEASE_OWNER_LEN + VARHDRSZ;
}

/*
 * Why a row that is inserted would make a restore of the whole table fail, or NULL.
 * Both tables begin with the same columns and have the same key.
 */
static const char *
reason_to_skip(OwnTableId id, const OwnTable *table, HeapTuple row)
{
	TupleDesc	desc = RelationGetDescr(table->rel);
	bool		isnull[2];
	Oid			sequence = DatumGetObjectId(heap_getattr(row, STATE_GENERATOR, desc, &isnull[0]));
	int32		shard = DatumGetInt32(heap_getattr(row, STATE_SHARD, desc, &isnull[1]));
	ScanKeyData keys[2];

	if (isnull[0] || isnull[1])
		return NULL;			/* an error of PostgreSQL's */
	flake_shard_init_keys(keys, sequence, shard);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(sequence)))
		return no_generator;
	if (flake_own_table_has(table, table->index, lengthof(keys), keys))
		return there_already;
	if (id == LEASES && has_long_owner(table, row))
		return too_long;
	if (id == LEASES)
	{
		Datum		owner = heap_getattr(row, LEASE_OWNER, desc, &isnull[0]);

		ScanKeyEntryInitialize(&keys[1], 0, LEASE_OWNER, BTEqualStrategyNumber,
							   InvalidOid, C_COLLATION_OID, F_TEXTEQ, owner);
		if (!isnull[0] && flake_own_table_has(table, table->second_index,
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
			 : reason == too_long
			 ? errhint("Add the row with a name of up to %d bytes.", MAX_LEASE_OWNER_LEN)
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
	const char *reason = NULL;
	OwnTable	table;

	if (!flake_own_table_try_open(id, function, AccessShareLock, true, &table))
	{
		/* It may be as it was by the time of the commit. */
		all_are_written |= flake_own_table_is_of(data->tg_relation, function);
		return true;
	}
	if (RelationGetRelid(table.rel) == RelationGetRelid(data->tg_relation))
	{
		TupleDesc	desc = RelationGetDescr(table.rel);

		if (TRIGGER_FIRED_BY_INSERT(data->tg_event))
			reason = reason_to_skip(id, &table, data->tg_trigtuple);
		if (reason != NULL)
			warn_of_skipped(data, reason);
		else
			close_at_commit(data->tg_trigtuple, desc, function);
		if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
		{
			if (id == LEASES && has_long_owner(&table, data->tg_newtuple))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("owner of a lease must have 1 to %d bytes",
								MAX_LEASE_OWNER_LEN)));
			close_at_commit(data->tg_newtuple, desc, function);
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
	if (!keep_row(data, fcinfo->flinfo->fn_oid))
		return PointerGetDatum(NULL);
	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(data->tg_event)
						   ? data->tg_newtuple : data->tg_trigtuple);
}

/*
 * Lets a trigger fire always again, as the install script does.  If somebody else
 * is changing the table's triggers, it is left to him.  Nobody takes a lock of the
 * table here who could not otherwise.
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
		if (!CheckRelationLockedByMe(rel, ShareRowExclusiveLock, true) &&
			(!has_privs_of_role(GetUserId(), rel->rd_rel->relowner) ||
			 !ConditionalLockRelation(rel, ShareRowExclusiveLock)))
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
 * logical replication brings.  Rows were written that it has not seen, so after any
 * change of the tables they count for all shards.  A trigger that was disabled by
 * intent stays so.
 *
 * It is called for every ALTER TABLE, by whomever, who has his table locked.  So it
 * waits for nobody: who has changed the triggers has a lock by which he can read, and
 * otherwise another occasion will do.
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
									  AccessShareLock, false, &table))
			continue;

		/* This transaction may have written rows without the trigger. */
		all_are_written |= CheckRelationLockedByMe(table.rel, ShareRowExclusiveLock, true);
		keep_trigger(table.rel, "keep_state");
		CommandCounterIncrement();
		keep_trigger(table.rel, "keep_rows");
		flake_own_table_close(&table);
	}
	PG_RETURN_NULL();
}

/* Columns of pg_event_trigger_dropped_objects() */
#define DROPPED_CLASSID			1
#define DROPPED_OBJID			2
#define DROPPED_IS_TEMPORARY	6
#define DROPPED_OBJECT_TYPE		7

/* The sequence that a row of it tells of; or InvalidOid. */
static Oid
dropped_sequence(TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	if (DatumGetObjectId(slot->tts_values[DROPPED_CLASSID - 1]) != RelationRelationId ||
		DatumGetBool(slot->tts_values[DROPPED_IS_TEMPORARY - 1]) ||
		slot->tts_isnull[DROPPED_OBJECT_TYPE - 1] ||
		strcmp(TextDatumGetCString(slot->tts_values[DROPPED_OBJECT_TYPE - 1]),
			   "sequence") != 0)
		return InvalidOid;
	return DatumGetObjectId(slot->tts_values[DROPPED_OBJID - 1]);
}

/* The sequences that the command has dropped for which an event trigger is called. */
static List *
dropped_sequences(void)
{
	FunctionCallInfo call = palloc0(SizeForFunctionCallInfo(0));
	FmgrInfo	function;
	EState	   *estate = CreateExecutorState();
	ReturnSetInfo result = {
		.type = T_ReturnSetInfo,
		.econtext = CreateExprContext(estate),
		.allowedModes = SFRM_Materialize,
	};
	List	   *sequences = NIL;
	TupleTableSlot *slot;

	fmgr_info(F_PG_EVENT_TRIGGER_DROPPED_OBJECTS, &function);
	InitFunctionCallInfoData(*call, &function, 0, InvalidOid, NULL, (Node *) &result);
	(void) FunctionCallInvoke(call);

	slot = MakeSingleTupleTableSlot(result.setDesc, &TTSOpsMinimalTuple);
	while (tuplestore_gettupleslot(result.setResult, true, false, slot))
	{
		Oid			sequence = dropped_sequence(slot);

		if (OidIsValid(sequence))
			sequences = lappend_oid(sequences, sequence);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(result.setResult);
	FreeExecutorState(estate);
	return sequences;
}

/* Those of some generators that have a row in the table of states. */
static List *
with_state(List *sequences, Oid function)
{
	List	   *found = NIL;
	OwnTable	states;
	ListCell   *lc;

	if (sequences == NIL ||
		!flake_own_table_try_open(SHARD_STATE, function, AccessShareLock, false, &states))
		return NIL;
	foreach(lc, sequences)
	{
		if (flake_own_table_has_generator(&states, lfirst_oid(lc)))
			found = lappend_oid(found, lfirst_oid(lc));
	}
	flake_own_table_close(&states);
	return found;
}

/*
 * _flake_forget_dropped() returns event_trigger
 *
 * Removes the rows of generators that a command has dropped, by whatever way.  It
 * is called for every command that drops something, by whomever, so it looks only
 * for what was dropped, before it takes a lock for changes, and leaves tables alone
 * that are not as expected: nobody could drop what makes them so.  It waits for nobody,
 * as what is dropped is locked: flake_shard_write_state() removes what it leaves.
 */
Datum
flake_forget_dropped(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	List	   *generators;
	OwnTable	states;
	OwnTable	leases;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"_flake_forget_dropped")));
	generators = with_state(dropped_sequences(), function);

	if (generators != NIL &&
		flake_own_table_try_open(SHARD_STATE, function, RowExclusiveLock, false, &states))
	{
		if (flake_own_table_try_open(LEASES, function, RowExclusiveLock, false, &leases))
		{
			ListCell   *lc;

			foreach(lc, generators)
				flake_own_table_remove(&leases, &states, lfirst_oid(lc));
			flake_own_table_close(&leases);
		}
		flake_own_table_close(&states);
	}
	PG_RETURN_NULL();
}
