/*-------------------------------------------------------------------------
 *
 * rewind.c
 *	  The SQL function that sets a generator back.
 *
 * Ids can then be handed out again.  Nobody may mint meanwhile, and no id above
 * the new horizon may be in use, so it waits for all who mint and searches the
 * columns that the generator's ids go into.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/horizon.h"
#include "mint/horizon_page.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "sql/columns.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(flake_rewind);

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
