/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  SQL functions that create, show and rewind generators.
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
#include "admin.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/seclabel.h"
#include "executor/spi.h"
#include "flakeid.h"
#include "fmgr.h"
#include "generator.h"
#include "layout_type.h"
#include "miscadmin.h"
#include "own_table.h"
#include "slot.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
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
PG_FUNCTION_INFO_V1(flake_rewind);

/* flake_load_library() returns event_trigger: what matters is being called. */
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

/*
 * Creates the sequence of a generator, as the current user and by way of SQL:
 * so rights are checked and event triggers fire as for any sequence.
 */
static Oid
create_sequence(RangeVar *name, const FlakeLayout *layout)
{
	Oid			schema = RangeVarGetCreationNamespace(name);
	StringInfoData command;
	int64		min;
	int64		max;

	flake_horizon_bounds(layout, &min, &max);
	initStringInfo(&command);
	appendStringInfo(&command,
					 "CREATE SEQUENCE %s AS bigint INCREMENT %lld"
					 " MINVALUE %lld MAXVALUE %lld NO CYCLE",
					 quote_qualified_identifier(get_namespace_name(schema),
												name->relname),
					 (long long) PG_INT64_MAX, (long long) min, (long long) max);

	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute(command.data, false, 0) != SPI_OK_UTILITY ||
		SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "could not execute \"%s\"", command.data);
	return get_relname_relid(name->relname, schema);
}

int64
flake_packed_to_exceed(const FlakeLayout *layout, int64 id, const char *hint)
{
	int64		packed = flake_layout_packed_up_to(layout, id);
	TimestampTz reached;
	TimestampTz reachable;

	if (packed == flake_layout_max_packed(layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("not every shard of layout \"%s\" has ids above %lld",
						flake_layout_name(layout), (long long) id),
				 errhint("Use a layout with more bits in front of the shard number.")));
	if (!flake_layout_has_time(layout) || packed == FLAKE_PACKED_NONE)
		return packed;

	reachable = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											(int64) flake_max_ahead_ms + flake_max_wait_ms);
	if (!flake_layout_tick_start(layout, flake_layout_packed_tick(layout, packed),
								 &reached) ||
		reached > reachable)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of layout \"%s\" do not exceed %lld at present",
						flake_layout_name(layout), (long long) id),
				 errdetail("In this layout it is an id of %s.",
						   timestamptz_to_str(reached)),
				 errhint("%s", hint)));
	return packed;
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
	Oid			sequence;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name and layout of a generator must not be null")));
	name = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
	layout = *FLAKE_GETARG_LAYOUT(1);
	if (!PG_ARGISNULL(2))
		above = flake_packed_to_exceed(&layout, PG_GETARG_INT64(2),
									   "Pass flake_layout_above(layout, id) for the layout.");

	sequence = create_sequence(name, &layout);
	flake_layout_print(&layout, label);
	ObjectAddressSet(address, RelationRelationId, sequence);
	SetSecurityLabel(&address, FLAKE_LABEL_PROVIDER, label);
	CommandCounterIncrement();

	if (above != FLAKE_PACKED_NONE)
	{
		Generator  *generator = flake_generator_get(sequence,
													fcinfo->flinfo->fn_oid);

		if (above > flake_horizon_floor(&generator->horizon))
			flake_horizon_raise(&generator->horizon, above);
	}
	PG_RETURN_OID(sequence);
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

/* What was found in the columns that a generator's ids go into. */
typedef struct LiveIds
{
	int			columns;		/* how many were searched */
	char	   *column;			/* one with an id above, or NULL */
	int64		id;				/* the largest one in it */
} LiveIds;

/* Changes a setting until AtEOXact_GUC(). */
static void
set_for_search(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/* ERROR: a column cannot be searched. */
static void
cannot_search(const char *column, const char *reason, int64 below)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot search column %s for ids", column),
			 errdetail_internal("%s", reason),
			 errhint("If no id above %lld is in use, pass force => true.",
					 (long long) below)));
}

/*
 * Searches one column for ids above a bound.
 *
 * It is done as the table's owner: a view, the expression of an index, or a cast
 * can run code, and the superuser who calls is not to run that of others.
 */
static void
search_column(Oid relation, const char *attribute, int64 below, LiveIds *live)
{
	Oid			type = getBaseType(get_atttype(relation, get_attnum(relation, attribute)));
	char		kind = get_rel_relkind(relation);
	char	   *table = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)),
												   get_rel_name(relation));
	char	   *column = psprintf("%s.%s", table, quote_identifier(attribute));
	StringInfoData query;
	Oid			argument_types[] = {INT8OID};
	Datum		arguments[] = {Int64GetDatum(below)};
	Oid			user;
	int			security_context;
	int			guc_level;
	Datum		max;
	bool		isnull;

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		cannot_search(column, "It is not in a table.", below);
	if (type != INT8OID && type != NUMERICOID && type != TEXTOID && type != VARCHAROID)
		cannot_search(column, psprintf("Its type is %s.", format_type_be(type)), below);

	initStringInfo(&query);
	appendStringInfo(&query,
					 "SELECT pg_catalog.max(id) FROM (SELECT %s::pg_catalog.int8 AS id FROM %s) s"
					 " WHERE id OPERATOR(pg_catalog.>) $1",
					 quote_identifier(attribute), table);

	GetUserIdAndSecContext(&user, &security_context);
	SetUserIdAndSecContext(flake_relation_owner(relation),
						   security_context | SECURITY_RESTRICTED_OPERATION);
	guc_level = NewGUCNestLevel();
	set_for_search("search_path", "pg_catalog, pg_temp");
	set_for_search("row_security", "off");	/* an error, not hidden rows */
	if (SPI_execute_with_args(query.data, 1, argument_types, arguments, NULL,
							  false, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not execute \"%s\"", query.data);
	AtEOXact_GUC(false, guc_level);
	SetUserIdAndSecContext(user, security_context);

	live->columns++;
	max = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	if (!isnull && (live->column == NULL || DatumGetInt64(max) > live->id))
	{
		live->column = column;
		live->id = DatumGetInt64(max);
	}
}

/*
 * Searches the columns that flake_columns() lists for ids above a bound; not
 * those of other sessions' temporary tables, which nobody else can read.
 */
static LiveIds
find_live_ids(Oid sequence, int64 below, Oid function)
{
	MemoryContext caller = CurrentMemoryContext;
	LiveIds		live = {0};
	Oid			argument_types[] = {REGCLASSOID};
	Datum		arguments[] = {ObjectIdGetDatum(sequence)};
	char	   *query;
	SPITupleTable *columns;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	query = psprintf("SELECT relation, attribute FROM %s($1)",
					 quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
												"flake_columns"));
	if (SPI_execute_with_args(query, 1, argument_types, arguments, NULL,
							  false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\"", query);
	columns = SPI_tuptable;
	count = SPI_processed;

	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		Oid			relation = DatumGetObjectId(SPI_getbinval(columns->vals[i],
															  columns->tupdesc, 1, &isnull));

		if (!isOtherTempNamespace(get_rel_namespace(relation)))
			search_column(relation,
						  SPI_getvalue(columns->vals[i], columns->tupdesc, 2),
						  below, &live);
	}

	/* What is allocated in SPI goes away with it. */
	if (live.column != NULL)
		live.column = MemoryContextStrdup(caller, live.column);
	SPI_finish();
	return live;
}

/* ERROR if an id above a bound is in use, as far as can be known. */
static void
check_live_ids(Oid sequence, int64 below, Oid function)
{
	LiveIds		live = find_live_ids(sequence, below, function);

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

/* Sets a slot back.  Nobody mints from it meanwhile. */
static void
rewind_slot(Slot *slot, void *arg)
{
	const SlotRewind *rewind = arg;

	if (is_above(slot, rewind))
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
