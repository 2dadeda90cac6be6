/*-------------------------------------------------------------------------
 *
 * rewind.c
 *	  The SQL function that sets a generator back.
 *
 * Ids can then be handed out again.  Nobody may mint meanwhile, and no id above
 * the new horizon may be in use, so it waits for all who mint and searches the
 * columns that the generator's ids go into.  Their tables are anybody's.  So they
 * are locked together with the generator, and it waits for none of them while it
 * keeps others from minting.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/holders.h"
#include "mint/horizon.h"
#include "mint/horizon_page.h"
#include "mint/settled.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "shard/lease_row.h"
#include "sql/live_ids.h"
#include "storage/lmgr.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_rewind);

/* Ids that are further ahead of the clock are taken for ids of a wrong time. */
#define WRONG_AHEAD_US	(60 * USECS_PER_SEC)

/* The generator, as a literal of type regclass. */
static char *
generator_literal(Oid sequence)
{
	char	   *schema = RelationIsVisible(sequence) ? NULL
	: get_namespace_name(get_rel_namespace(sequence));

	return quote_literal_cstr(quote_qualified_identifier(schema,
														 get_rel_name(sequence)));
}

/*
 * What to do about an id that is in use: which value would be accepted.  While
 * others mint, a value of the present is in the past when it is searched for
 * again, so the advice is an expression.
 */
static char *
advice(const Generator *generator, int64 below, int64 id, int64 horizon)
{
	const FlakeLayout *layout = &generator->layout;
	int64		packed = flake_layout_packed_up_to(layout, id);
	StringInfoData text;
	TimestampTz ts = 0;
	int64		ahead_us;

	initStringInfo(&text);
	if (packed < horizon)
		appendStringInfo(&text, "The lowest value that would be accepted now is %lld.",
						 (long long) id);
	else
		appendStringInfoString(&text, "No value would be accepted now.");
	if (!flake_layout_has_time(layout))
		return text.data;

	ahead_us = flake_layout_tick_start(layout, flake_layout_packed_tick(layout, packed), &ts)
		? Max(ts - GetCurrentTimestamp(), 0) : PG_INT64_MAX;
	if (ahead_us > WRONG_AHEAD_US + layout->unit_us)
		appendStringInfo(&text, " If ids above %lld are of a wrong time, pass force => true with a value that is further ahead than flakeid.max_ahead, and give their rows other ids with flake_replace_ids() then.",
						 (long long) below);
	else
		appendStringInfo(&text, " While others mint, pass flake_upper(now() + interval '%lld s', flake_layout_of(%s)).",
						 (long long) ahead_us / USECS_PER_SEC + 5,
						 generator_literal(generator->sequence));
	return text.data;
}

/* Of more shards or tables than these only the number is told. */
#define MAX_NAMED	10

/* WARNING if there are tables that can have ids and cannot be read. */
static void
warn_of_unread(Oid sequence, List *unread, int64 below)
{
	StringInfoData names;
	int			count = 0;
	ListCell   *lc;

	if (unread == NIL)
		return;
	initStringInfo(&names);
	foreach(lc, unread)
	{
		char	   *name = get_rel_name(lfirst_oid(lc));
		char	   *schema = get_namespace_name(get_rel_namespace(lfirst_oid(lc)));

		if (name == NULL || schema == NULL)
			continue;			/* dropped meanwhile */
		if (count++ < MAX_NAMED)
			appendStringInfo(&names, "%s%s", count > 1 ? ", " : "",
							 quote_qualified_identifier(schema, name));
	}
	if (count == 0)
		return;
	if (count > MAX_NAMED)
		appendStringInfo(&names, " and %d more", count - MAX_NAMED);
	ereport(WARNING,
			(errmsg("generator \"%s\" may have ids in temporary tables of other sessions",
					get_rel_name(sequence)),
			 errdetail("These were not searched: %s.", names.data),
			 errhint("Ids above %lld in them could be minted again. End these sessions before such rows get into other tables.",
					 (long long) below)));
}

/* ERROR if an id above a bound is in use, as far as can be known. */
static void
check_live_ids(Oid sequence, const LiveTables *tables, int64 below, int64 horizon,
			   Oid function)
{
	LiveIds		live = flake_find_live_ids(sequence, tables, below, function);

	warn_of_unread(sequence, live.unread, below);
	if (live.columns == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot tell which ids of generator \"%s\" are in use",
						get_rel_name(sequence)),
				 live.unread == NIL
				 ? errdetail("No column takes its default from it.")
				 : errdetail("Only columns of other sessions' temporary tables take their defaults from it."),
				 errhint("If no id above %lld is in use, pass force => true.",
						 (long long) below)));
	if (live.column != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot rewind generator \"%s\" below ids that are in use",
						get_rel_name(sequence)),
				 errdetail("Column %s has %lld, which could be minted again.",
						   live.column, (long long) live.id),
				 errhint("%s", advice(flake_generator_look(sequence, function),
									  below, live.id, horizon))));
}

/*
 * ERROR if this transaction has minted from the generator, or has changed anything.
 * Its ids may be in no row yet, or in one of this command, which no search sees; and
 * what it has deleted comes back if it is rolled back, as the old horizon does not.
 */
static void
check_own_transaction(Oid sequence, int64 below, Oid function)
{
	bool		has_minted = flake_holder_may_hold(flake_generator_key(sequence, function));

	if (!has_minted && !TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 has_minted
			 ? errmsg("cannot rewind generator \"%s\" in a transaction that has minted ids",
					  get_rel_name(sequence))
			 : errmsg("cannot rewind generator \"%s\" in a transaction that has changed something",
					  get_rel_name(sequence)),
			 has_minted
			 ? errdetail("Ids that are in no row yet cannot be found.")
			 : errdetail("Rows that it has deleted come back if it is rolled back. The generator would not."),
			 errhint("Commit first. If no id above %lld is in use, pass force => true.",
					 (long long) below)));
}

/* ERROR if somebody may have read on after a bound that the ids go below. */
static void
check_settled(const Generator *generator, int64 value)
{
	int64		bound;

	if (!flake_settled_given_out(generator, &bound) || bound <= value)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot rewind generator \"%s\" below what is settled",
					get_rel_name(generator->sequence)),
			 errdetail("Bounds of up to %lld may have been given out by flake_settled(). Whoever has read on from there would miss the new ids.",
					   (long long) flake_layout_last_id(&generator->layout, bound)),
			 errhint("If nobody has read further than the value given, pass force => true.")));
}

/* Which slots to set back, and to what. */
typedef struct SlotRewind
{
	Oid			generator;
	int64		value;			/* packed */
	bool		is_shared;		/* found one of all databases that is above */
	bool		is_ahead;		/* found one of this database that is */
} SlotRewind;

static bool
is_above(Slot *slot, const SlotRewind *rewind)
{
	return slot->key.generator == rewind->generator &&
		flake_slot_last(slot) > rewind->value;
}

static void
find_slot(Slot *slot, void *arg)
{
	SlotRewind *rewind = arg;

	if (!is_above(slot, rewind))
		return;
	if (slot->key.database == InvalidOid)
		rewind->is_shared = true;
	else
		rewind->is_ahead = true;
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
 * The shards of the generator whose bounds are above, or with leases those that
 * begin later, for a message; NULL if there are none.  These go on above their
 * bounds all the same.
 */
static char *
find_bounds(const Generator *generator, int64 value, OwnTableId id, Oid function)
{
	const FlakeLayout *layout = &generator->layout;
	OwnTable	table = flake_own_table_open(id, function, AccessShareLock);
	TimestampTz end = DT_NOEND;
	StringInfoData names;
	int			count = 0;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	if (flake_layout_has_time(layout))
		(void) flake_layout_tick_start(layout, flake_layout_packed_tick(layout, value) + 1,
									   &end);
	initStringInfo(&names);
	flake_lease_init_generator_key(&key, generator->sequence);
	scan = systable_beginscan(table.rel, table.index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
	{
		Datum		values[MAX_OWN_COLUMNS];
		bool		nulls[MAX_OWN_COLUMNS];
		int32		shard;

		heap_deform_tuple(row, RelationGetDescr(table.rel), values, nulls);
		shard = DatumGetInt32(values[STATE_SHARD - 1]);
		if (id == LEASES
			? DatumGetTimestampTz(values[LEASE_NOT_BEFORE - 1]) <= end
			: nulls[STATE_AFTER - 1] ||
			flake_layout_shard_packed_up_to(layout, DatumGetInt64(values[STATE_AFTER - 1]),
											flake_layout_shard_image(layout, shard)) <= value)
			continue;
		if (count++ < MAX_NAMED)
			appendStringInfo(&names, "%s%d", count > 1 ? ", " : "", shard);
	}
	systable_endscan(scan);
	flake_own_table_close(&table);
	if (count > MAX_NAMED)
		appendStringInfo(&names, " and %d more", count - MAX_NAMED);
	return count > 0 ? names.data : NULL;
}

/* WARNING if there are shards that do not go on above a value at once. */
static void
warn_of_bounds(const Generator *generator, int64 value, Oid function)
{
	char	   *bounds = find_bounds(generator, value, SHARD_STATE, function);
	char	   *leases = find_bounds(generator, value, LEASES, function);

	if (bounds != NULL)
		ereport(WARNING,
				(errmsg("generator \"%s\" has shards that go on above later bounds",
						get_rel_name(generator->sequence)),
				 errdetail("They are attached or detached with a bound above the new horizon: %s.",
						   bounds),
				 errhint("If the bounds are of a wrong time, set them back in \"flake_shard_state\", and rewind again.")));
	if (leases != NULL)
		ereport(WARNING,
				(errmsg("generator \"%s\" has leases that begin later",
						get_rel_name(generator->sequence)),
				 errdetail("They begin after the time of the new horizon: those of shards %s.",
						   leases),
				 errhint("If they are of a wrong time, start their processes again under new names.")));
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
	LiveTables	tables;			/* those to search, unless forced */
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
	if (force)
		LockRelationOid(sequence, AccessExclusiveLock);
	else
	{
		check_own_transaction(sequence, below, function);
		tables = flake_lock_live_ids(sequence, function);
	}

	generator = flake_generator_look(sequence, function);
	rewind.generator = generator->key;
	rewind.value = flake_layout_packed_up_to(&generator->layout, below);
	flake_horizon_bounds(&generator->layout, &min, &max);
	if (rewind.value < min)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("generator \"%s\" has no ids below %lld",
						get_rel_name(sequence), (long long) below),
				 errhint("The lowest value is %lld.",
						 (long long) flake_layout_id(&generator->layout,
													 Max(min, flake_layout_min_packed(&generator->layout)),
													 0))));

	/*
	 * A bound above the horizon leaves its slot there, also when it has been
	 * set back.  Nothing was handed out above the horizon.
	 */
	flake_shmem_each_slot(find_slot, &rewind);
	if (!flake_horizon_read(sequence, &horizon) ||
		(rewind.value >= horizon && !rewind.is_ahead))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the horizon of generator \"%s\" is not above %lld",
						get_rel_name(sequence), (long long) below),
				 errhint("The view \"flake_generators\" shows horizons.")));
	if (!force)
	{
		check_settled(generator, rewind.value);
		check_live_ids(sequence, &tables, below, horizon, function);
	}
	if (rewind.is_shared)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot rewind a generator that other databases share"),
				 errdetail("Ids above the one given have been handed out since the server started."),
				 errhint("Restart the server, and rewind the generator in every database before it is used.")));

	/* The searches may have led to other look-ups: get it anew. */
	warn_of_bounds(flake_generator_look(sequence, function), rewind.value, function);
	flake_holder_lower(rewind.generator, rewind.value);
	if (rewind.value < horizon)
		flake_horizon_rewind(&flake_generator_look(sequence, function)->horizon,
							 rewind.value);
	flake_shmem_each_slot(rewind_slot, &rewind);
	PG_RETURN_VOID();
}
