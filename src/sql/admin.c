/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  SQL functions that create, show, advance and rewind generators.
 *
 * What makes a sequence a generator is its layout, which is a security label
 * of provider "flakeid".  pg_dump writes
 *
 *	SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS 'ts:41 shard:13 ...'
 *
 * and the provider, which is this library, checks it when it is restored.  The
 * command works only in a session that has loaded the library.  In a restore
 * nothing else may have done that, so the extension has an event trigger on
 * this one command; its function is called, and thereby the library loaded,
 * before the command looks for the provider.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/seclabel.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/layout_type.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/exceed.h"
#include "mint/generator.h"
#include "mint/horizon.h"
#include "mint/horizon_page.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "sql/admin.h"
#include "sql/columns.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(flake_load_library);
PG_FUNCTION_INFO_V1(flake_create_generator);
PG_FUNCTION_INFO_V1(flake_layout_of);
PG_FUNCTION_INFO_V1(flake_horizon);
PG_FUNCTION_INFO_V1(flake_horizon_time);
PG_FUNCTION_INFO_V1(flake_advance);
PG_FUNCTION_INFO_V1(flake_would_exceed);
PG_FUNCTION_INFO_V1(flake_rewind);

/* _flake_load_library() returns event_trigger: what matters is being called. */
Datum
flake_load_library(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}

/* Whether a sequence's last_value can be any horizon of the layout. */
static bool
can_keep_horizon(Oid sequence, const FlakeLayout *layout)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence));
	Form_pg_sequence form;
	int64		min;
	int64		max;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;			/* not a sequence */
	form = (Form_pg_sequence) GETSTRUCT(tuple);
	flake_horizon_bounds(layout, &min, &max);
	result = form->seqtypid == INT8OID &&
		form->seqmin <= min && form->seqmax >= max;
	ReleaseSysCache(tuple);
	return result && get_rel_persistence(sequence) == RELPERSISTENCE_PERMANENT;
}

/*
 * Checks a label that is about to be set, for ERROR if it must not be.
 *
 * Whoever restores a dump must be able to set one, but nobody to change or
 * remove it: ids minted with one layout would be read with another.
 */
static void
check_label(const ObjectAddress *object, const char *label)
{
	char	   *old_label = GetSecurityLabel(object, FLAKE_LABEL_PROVIDER);
	FlakeLayout layout;
	FlakeLayout old_layout;
	FlakeLayoutError error;

	if (label != NULL && !flake_layout_parse(label, &layout, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid layout of a generator: \"%s\"", label),
				 errdetail_internal("%s", error.detail)));
	if (old_label != NULL &&
		(label == NULL ||
		 !flake_layout_parse(old_label, &old_layout, &error) ||
		 memcmp(&layout, &old_layout, sizeof(FlakeLayout)) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change the layout of generator \"%s\"",
						get_rel_name(object->objectId)),
				 errdetail("Ids that were minted with it would be read wrongly, and new ones could be equal to them."),
				 errhint("Create another generator, with flake_create_generator().")));
	if (label != NULL &&
		(object->classId != RelationRelationId ||
		 !can_keep_horizon(object->objectId, &layout)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("a layout can only be given to a sequence that can keep its horizon"),
				 errdetail("This label is set when a generator is created or restored."),
				 errhint("Generators are made by flake_create_generator().")));

	/* Setting a label is no change of the sequence to PostgreSQL: say so. */
	if (label != NULL)
		CacheInvalidateRelcacheByRelid(object->objectId);
}

void
flake_admin_init(void)
{
	register_label_provider(FLAKE_LABEL_PROVIDER, check_label);
}

/* An option of CREATE SEQUENCE, as the grammar has it for a bigint. */
static DefElem *
sequence_option(const char *name, int64 value)
{
	return makeDefElem(pstrdup(name),
					   (Node *) makeFloat(psprintf("%lld", (long long) value)),
					   -1);
}

/*
 * Creates the sequence of a generator as CREATE SEQUENCE does, as the current
 * user and with event triggers.  But no text is executed: a name is resolved
 * only once, and what it was resolved to is returned.
 */
static ObjectAddress
create_sequence(RangeVar *name, const FlakeLayout *layout)
{
	CreateSeqStmt *statement = makeNode(CreateSeqStmt);
	ObjectAddress address = InvalidObjectAddress;
	int64		min;
	int64		max;
	bool		has_state;

	flake_horizon_bounds(layout, &min, &max);
	statement->sequence = name;
	statement->options = list_make1(sequence_option("increment", PG_INT64_MAX));
	statement->options = lappend(statement->options,
								 sequence_option("minvalue", min));
	statement->options = lappend(statement->options,
								 sequence_option("maxvalue", max));

	/* What ProcessUtility() does around a command that creates something */
	has_state = EventTriggerBeginCompleteQuery();
	PG_TRY();
	{
		EventTriggerDDLCommandStart((Node *) statement);
		address = DefineSequence(make_parsestate(NULL), statement);
		if (get_rel_persistence(address.objectId) != RELPERSISTENCE_PERMANENT)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot create generator \"%s\" in a schema for temporary objects",
							name->relname),
					 errdetail("A temporary sequence forgets in a crash what was handed out."),
					 errhint("Qualify its name with another schema.")));
		EventTriggerCollectSimpleCommand(address, InvalidObjectAddress,
										 (Node *) statement);
		EventTriggerSQLDrop((Node *) statement);
		EventTriggerDDLCommandEnd((Node *) statement);
	}
	PG_FINALLY();
	{
		if (has_state)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();

	/* The next look-up is to see it, and what triggers have made of it. */
	CommandCounterIncrement();
	if (!can_keep_horizon(address.objectId, layout))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("an event trigger has dropped or changed the sequence of generator \"%s\"",
						name->relname)));
	return address;
}

/*
 * flake_create_generator(name text, layout flake_layout, after bigint)
 *	returns regclass
 *
 * Not strict: after may be NULL.
 */
Datum
flake_create_generator(PG_FUNCTION_ARGS)
{
	RangeVar   *name;
	FlakeLayout layout;
	char		label[FLAKE_LAYOUT_TEXT_LEN];
	int64		above = FLAKE_PACKED_NONE;
	ObjectAddress address;

	PreventCommandIfReadOnly("flake_create_generator()");
	PreventCommandIfParallelMode("flake_create_generator()");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name and layout of a generator must not be null")));
	name = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
	layout = *FLAKE_GETARG_LAYOUT(1);
	if (!PG_ARGISNULL(2))
		above = flake_packed_to_exceed(&layout, PG_GETARG_INT64(2), true,
									   "Pass flake_layout_above(layout, id) for the layout.");

	address = create_sequence(name, &layout);
	flake_layout_print(&layout, label);
	check_label(&address, label);	/* a trigger may have set another */
	SetSecurityLabel(&address, FLAKE_LABEL_PROVIDER, label);
	CommandCounterIncrement();

	if (above != FLAKE_PACKED_NONE)
		flake_generator_raise(flake_generator_get(address.objectId,
												  fcinfo->flinfo->fn_oid), above);
	PG_RETURN_OID(address.objectId);
}

/* flake_layout_of(generator regclass) returns flake_layout */
Datum
flake_layout_of(PG_FUNCTION_ARGS)
{
	FlakeLayout *layout = palloc(sizeof(FlakeLayout));

	(void) flake_generator_layout(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid,
								  false, layout);
	FLAKE_RETURN_LAYOUT(layout);
}

/*
 * The largest id that a generator may have handed out, in its layout.  False if
 * there is none yet, if the user may not see it, and if there is no such
 * generator any more: views ask for all that they find.
 */
static bool
get_horizon(Oid sequence, Oid function, FlakeLayout *layout, int64 *id)
{
	int64		packed;
	bool		found;

	LockRelationOid(sequence, AccessShareLock);
	found = flake_generator_layout(sequence, function, true, layout) &&
		pg_class_aclcheck(sequence, GetUserId(), ACL_SELECT | ACL_USAGE) == ACLCHECK_OK &&
		flake_horizon_read(sequence, &packed);
	UnlockRelationOid(sequence, AccessShareLock);
	if (!found)
		return false;

	/* setval() allows more than the layout does. */
	packed = Max(packed, flake_layout_min_packed(layout));
	packed = Min(packed, flake_layout_max_packed(layout));
	*id = flake_layout_last_id(layout, packed);
	return true;
}

/* flake_horizon(generator regclass) returns bigint */
Datum
flake_horizon(PG_FUNCTION_ARGS)
{
	FlakeLayout layout;
	int64		id;

	if (!get_horizon(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid, &layout, &id))
		PG_RETURN_NULL();
	PG_RETURN_INT64(id);
}

/* flake_horizon_time(generator regclass) returns timestamptz */
Datum
flake_horizon_time(PG_FUNCTION_ARGS)
{
	FlakeLayout layout;
	int64		id;
	TimestampTz ts;

	if (!get_horizon(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid, &layout, &id) ||
		!flake_layout_has_time(&layout) ||
		!flake_layout_tick_start(&layout, flake_layout_tick(&layout, id), &ts))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(ts);
}

/* ERROR if an id above a bound is in use, as far as can be known. */
static void
check_live_ids(Oid sequence, int64 below, Oid function)
{
	LiveIds		live = flake_find_live_ids(sequence, below, function);

	if (live.columns == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot tell which ids of generator \"%s\" are in use",
						get_rel_name(sequence)),
				 errdetail("No column takes its default from it."),
				 errhint("If no id above %lld is in use, pass force => true.",
						 (long long) below)));
	if (live.column != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot rewind generator \"%s\" below ids that are in use",
						get_rel_name(sequence)),
				 errdetail("Column %s has %lld, which could be minted again.",
						   live.column, (long long) live.id),
				 errhint("Give the rows with ids above %lld other ids first. If these ids are not of this generator, pass force => true.",
						 (long long) below)));
}

/* Slots whose claims must be above a packed value. */
typedef struct SlotAdvance
{
	Oid			generator;
	int64		above;			/* packed */
} SlotAdvance;

/*
 * Raises a slot's last value.  Who is in the midst of a claim, and has read the
 * floor before it was raised, finds another last value than he has read, and
 * starts over (M1): also if the slot is closed now, and opened before that.
 */
static void
advance_slot(Slot *slot, void *arg)
{
	const SlotAdvance *advance = arg;

	if (slot->key.generator == advance->generator)
		flake_slot_advance(slot, advance->above);
}

/* ERROR for the generators of UUIDs and ObjectIDs: bigints are not their ids. */
static void
check_not_wide(const Generator *generator)
{
	if (generator->key == FLAKE_UUID || generator->key == FLAKE_OBJECTID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("ids of generator \"%s\" are not of type bigint",
						get_rel_name(generator->sequence))));
}

/*
 * flake_advance(generator regclass, above bigint) returns void
 *
 * Like setval(), this is not undone by ROLLBACK.
 */
Datum
flake_advance(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	int64		above = PG_GETARG_INT64(1);
	Generator  *generator;
	SlotAdvance advance;
	AclResult	result;

	PreventCommandIfReadOnly("flake_advance()");
	PreventCommandIfParallelMode("flake_advance()");
	generator = flake_generator_get(sequence, fcinfo->flinfo->fn_oid);
	result = pg_class_aclcheck(sequence, GetUserId(), ACL_UPDATE);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SEQUENCE, get_rel_name(sequence));
	check_not_wide(generator);

	/* That it is far ahead already is no reason to refuse. */
	advance.generator = generator->key;
	advance.above = flake_layout_packed_up_to(&generator->layout, above);
	if (advance.above > flake_horizon_floor(&generator->horizon))
		advance.above = flake_packed_to_exceed(&generator->layout, above, true,
											   "Use a generator whose layout is flake_layout_above(layout, id).");
	if (advance.above == FLAKE_PACKED_NONE)
		PG_RETURN_VOID();

	/* The floor is raised before slots are looked at. */
	flake_generator_raise(generator, advance.above);
	flake_shmem_each_slot(advance_slot, &advance);
	PG_RETURN_VOID();
}

/*
 * flake_would_exceed(generator regclass, shard int, id bigint) returns boolean
 *
 * Whether the next id of a shard exceeds one, and all that come after it.  What
 * is read here only ever goes up, so that in doubt the answer is false.  Only
 * the clock may be set back; and who is in the midst of a claim has read it
 * earlier.  flake_advance() rules out both.
 */
Datum
flake_would_exceed(PG_FUNCTION_ARGS)
{
	int32		shard = PG_GETARG_INT32(1);
	int64		id = PG_GETARG_INT64(2);
	const FlakeLayout *layout;
	Generator  *generator;
	GeneratorSlot slot;
	int64		above;			/* packed */
	int64		next;

	/* A standby does not know what its primary hands out. */
	PreventCommandDuringRecovery("flake_would_exceed()");
	generator = flake_generator_get(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid);
	check_not_wide(generator);
	layout = &generator->layout;
	slot = *flake_generator_slot(generator, shard);

	above = Max(flake_slot_last(slot.slot),
				flake_horizon_floor(&generator->horizon));
	if (above >= flake_layout_max_packed(layout))
		PG_RETURN_BOOL(false);	/* there is no next one */
	next = Max(above + 1, flake_layout_min_packed(layout));
	if (flake_layout_has_time(layout))
	{
		int64		tick = flake_layout_tick_at(layout, GetCurrentTimestamp());

		if (tick < flake_layout_min_tick(layout) ||
			tick > flake_layout_max_tick(layout))
			PG_RETURN_BOOL(false);
		next = Max(next, flake_layout_pack(layout, tick, 0));
	}
	PG_RETURN_BOOL(flake_layout_id(layout, next, slot.image) > id);
}

/* Which slots to set back, and to what. */
typedef struct SlotRewind
{
	Oid			generator;
	int64		value;			/* packed */
	bool		is_shared;		/* found one of all databases that is above */
} SlotRewind;

static bool
is_above(Slot *slot, const SlotRewind *rewind)
{
	return slot->key.generator == rewind->generator &&
		flake_slot_last(slot) > rewind->value;
}

static void
find_shared_slot(Slot *slot, void *arg)
{
	SlotRewind *rewind = arg;

	if (is_above(slot, rewind) && slot->key.database == InvalidOid)
		rewind->is_shared = true;
}

/*
 * Sets a slot back.  Nobody mints from it meanwhile: the lock on the sequence
 * keeps out who would.  It does not where the slot is shared with other
 * databases, which have sequences of their own, so such a slot stays as it is.
 * If none of them was above when they were looked at, then what is above now
 * has been handed out since, and ids go on above that.
 */
static void
rewind_slot(Slot *slot, void *arg)
{
	const SlotRewind *rewind = arg;

	if (is_above(slot, rewind) && slot->key.database != InvalidOid)
		flake_slot_rewind(slot, rewind->value);
}

/*
 * flake_rewind(generator regclass, below bigint, force boolean) returns void
 *
 * Like setval(), this is not undone by ROLLBACK.
 */
Datum
flake_rewind(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	int64		below = PG_GETARG_INT64(1);
	bool		force = PG_GETARG_BOOL(2);
	Oid			function = fcinfo->flinfo->fn_oid;
	Generator  *generator;
	SlotRewind	rewind = {0};
	int64		horizon;
	int64		min;
	int64		max;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to rewind a generator")));
	PreventCommandIfReadOnly("flake_rewind()");
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot rewind a generator in a transaction that does not see what others have committed meanwhile"),
				 errhint("Use isolation level READ COMMITTED.")));

	/*
	 * Wait for every transaction that has minted from it, so that the rows
	 * with their ids can be seen, and keep others from minting.
	 */
	LockRelationOid(sequence, AccessExclusiveLock);

	generator = flake_generator_get(sequence, function);
	rewind.generator = generator->key;
	rewind.value = flake_layout_packed_up_to(&generator->layout, below);
	flake_horizon_bounds(&generator->layout, &min, &max);
	if (rewind.value < min)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("generator \"%s\" has no ids below %lld",
						get_rel_name(sequence), (long long) below)));
	if (!flake_horizon_read(sequence, &horizon) || rewind.value >= horizon)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the horizon of generator \"%s\" is not above %lld",
						get_rel_name(sequence), (long long) below),
				 errhint("The view \"flake_generators\" shows horizons.")));
	if (!force)
		check_live_ids(sequence, below, function);

	flake_shmem_each_slot(find_shared_slot, &rewind);
	if (rewind.is_shared)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot rewind a generator that other databases share"),
				 errdetail("Ids above the one given have been handed out since the server started."),
				 errhint("Restart the server, and rewind the generator in every database before it is used.")));

	/* The search may have led to other look-ups: get it anew. */
	flake_horizon_rewind(&flake_generator_get(sequence, function)->horizon,
						 rewind.value);
	flake_shmem_each_slot(rewind_slot, &rewind);
	PG_RETURN_VOID();
}
