/*-------------------------------------------------------------------------
 *
 * stat.c
 *	  SQL functions that show what minting did: the view flake_stat.
 *
 * The numbers are kept in the slots, in shared memory, and start from zero
 * when the server starts.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/claim.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_stat_slots);
PG_FUNCTION_INFO_V1(flake_stat_reset);

#define STAT_COLUMNS	11

/* Whether claims begin above anything. */
static bool
has_last(Slot *slot)
{
	/* One that was opened and not used has one more than none. */
	return flake_slot_last(slot) > FLAKE_PACKED_NONE + 1;
}

/*
 * Adds a slot that has anything to tell to a list of copies, in which minted is as of
 * now.
 */
static void
collect_slot(Slot *slot, void *arg)
{
	List	  **slots = arg;
	Slot	   *copy;

	if (!has_last(slot) && pg_atomic_read_u64(&slot->refused) == 0)
		return;
	copy = palloc(sizeof(Slot));
	*copy = *slot;
	pg_atomic_write_u64(&copy->minted, (uint64) flake_slot_minted(slot));
	*slots = lappend(*slots, copy);
}

/* The same for a generator, as if it were a slot without a shard. */
#define NO_SHARD		(-1)

static void
collect_horizon(Horizon *horizon, void *arg)
{
	List	  **slots = arg;
	uint64		refused = pg_atomic_read_u64(&horizon->refused);
	Slot	   *copy;

	if (refused == 0)
		return;
	copy = palloc0(sizeof(Slot));
	copy->key = horizon->key;
	copy->key.shard = NO_SHARD;
	pg_atomic_init_u64(&copy->last, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&copy->resume, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&copy->minted, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&copy->refused, refused);
	*slots = lappend(*slots, copy);
}

/* For list_sort(): by generator, then by shard. */
static int
compare_slots(const ListCell *a, const ListCell *b)
{
	const FlakeKey *key_a = &((const Slot *) lfirst(a))->key;
	const FlakeKey *key_b = &((const Slot *) lfirst(b))->key;

	if (key_a->generator != key_b->generator)
		return key_a->generator < key_b->generator ? -1 : 1;
	return (key_a->shard > key_b->shard) - (key_a->shard < key_b->shard);
}

/* Sets two columns: a packed value of a slot as an id, and the time in that. */
static void
set_id_and_time(Datum *values, bool *nulls, const Slot *slot, const FlakeLayout *layout,
				int64 packed, bool is_null)
{
	TimestampTz time = 0;
	int64		id = 0;

	if (!is_null)
		id = flake_layout_id(layout, packed,
							 flake_layout_shard_image(layout, slot->key.shard));
	nulls[0] = is_null;
	values[0] = Int64GetDatum(id);
	nulls[1] = is_null || !flake_layout_has_time(layout) ||
		!flake_layout_tick_start(layout, flake_layout_tick(layout, id), &time);
	values[1] = TimestampTzGetDatum(time);
}

/*
 * _flake_stat_slots()
 *	returns setof record (generator regclass, shard int, issued bigint,
 *	last_id bigint, last_time timestamptz, above_id bigint, above_time timestamptz,
 *	waits bigint, wait_us bigint, refused bigint, clock_steps_back bigint)
 *
 * One row for each slot that this database has minted from since the server
 * started, or raised, or been refused ids of; and one without a shard for each generator
 * that has refused ids before it came to a slot.  Of generators that still exist.
 */
Datum
flake_stat_slots(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *slots = NIL;
	ListCell   *lc;
	const Slot *previous = NULL;
	Oid			sequence = InvalidOid;
	FlakeLayout layout;
	bool		exists = false;

	InitMaterializedSRF(fcinfo, 0);
	flake_claim_flush_count();	/* so that a session sees its own */
	flake_shmem_each_slot(collect_slot, &slots);
	flake_shmem_each_horizon(collect_horizon, &slots);
	list_sort(slots, compare_slots);

	foreach(lc, slots)
	{
		Slot	   *slot = lfirst(lc);
		Datum		values[STAT_COLUMNS];
		bool		nulls[STAT_COLUMNS] = {false};
		int64		minted = (int64) pg_atomic_read_u64(&slot->minted);
		int			i = 0;

		CHECK_FOR_INTERRUPTS();
		if (previous == NULL || previous->key.generator != slot->key.generator)
		{
			sequence = flake_generator_sequence(slot->key.generator,
												fcinfo->flinfo->fn_oid);
			exists = flake_generator_layout(sequence, fcinfo->flinfo->fn_oid,
											true, &layout);
		}
		previous = slot;
		if (!exists)
			continue;

		values[i++] = ObjectIdGetDatum(sequence);
		nulls[i] = slot->key.shard == NO_SHARD;
		values[i++] = Int32GetDatum(slot->key.shard);
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->issued));
		set_id_and_time(&values[i], &nulls[i], slot, &layout, minted,
						minted == FLAKE_PACKED_NONE);
		i += 2;
		set_id_and_time(&values[i], &nulls[i], slot, &layout, flake_slot_last(slot),
						!has_last(slot));
		i += 2;
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->waits));
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->wait_us));
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->refused));
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->clock_steps_back));
		Assert(i == STAT_COLUMNS);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static void
reset_slot(Slot *slot, void *arg)
{
	flake_slot_reset_counts(slot);
}

static void
reset_horizon(Horizon *horizon, void *arg)
{
	pg_atomic_write_u64(&horizon->refused, 0);
}

/* flake_stat_reset() returns void: the counters of this database to zero */
Datum
flake_stat_reset(PG_FUNCTION_ARGS)
{
	flake_claim_flush_count();
	flake_shmem_each_slot(reset_slot, NULL);
	flake_shmem_each_horizon(reset_horizon, NULL);
	PG_RETURN_VOID();
}
