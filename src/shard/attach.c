/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  Changes of the state of a shard: the SQL functions that attach and detach
 *	  it, and what a lease needs of both.
 *
 * The rules are those of fence.c (F) and lease.c (L).
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "mint/clock_guard.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/exceed.h"
#include "mint/generator.h"
#include "mint/horizon.h"
#include "mint/restore.h"
#include "mint/slot.h"
#include "mint/unlock.h"
#include "miscadmin.h"
#include "shard/attach.h"
#include "shard/backfill.h"
#include "shard/citus.h"
#include "shard/lease_row.h"
#include "shard/state.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(flake_detach);
PG_FUNCTION_INFO_V1(flake_attach);
PG_FUNCTION_INFO_V1(flake_lock_shard);

void
flake_shard_none(Oid sequence)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("generator \"%s\" has no shards", get_rel_name(sequence))));
}

Generator *
flake_shard_begin_change(Oid sequence, Oid function, const char *function_name,
						 AclMode privileges)
{
	Generator  *generator;

	PreventCommandIfReadOnly(function_name);
	PreventCommandIfParallelMode(function_name);
	generator = flake_generator_look(sequence, function);
	if (generator->key == FLAKE_UUID || generator->key == FLAKE_OBJECTID)
		flake_shard_none(sequence);

	/* Before the lock: a client that does not read the error would keep it. */
	if (privileges != ACL_NO_RIGHTS)
		flake_generator_check_privilege(sequence, privileges);

	flake_restore_warn(&generator->horizon, FLAKE_RESTORED_SHARDS, PAGE_OR_ERROR);

	/*
	 * Waiting for whoever changes all shards comes before every other lock
	 * but that of the sequence: he may go on to change one of them.
	 */
	(void) flake_shard_lock(sequence, FLAKE_OTHER_SHARDS, FLAKE_READ_STATE, true);

	/* A change that is forgotten in a crash would let ids repeat. */
	ForceSyncCommit();

	/* Waiting may have brought news. */
	return flake_generator_look(sequence, function);
}

/*
 * Gets a generator ready for a change to one of its shards, and the shard's
 * lock, which is kept to the end of the transaction.
 */
static GeneratorSlot
begin_change(Oid sequence, int32 shard, Oid function, const char *function_name,
			 Generator **generator)
{
	*generator = flake_shard_begin_change(sequence, function, function_name, ACL_UPDATE);
	(void) flake_generator_slot(*generator, shard);
	(void) flake_shard_lock(sequence, shard, FLAKE_CHANGE_STATE, true);

	/* What this transaction has backfilled belongs to the state, too. */
	flake_backfill_write(sequence);

	/* Waiting for the lock may have brought news. */
	*generator = flake_generator_look(sequence, function);
	return *flake_generator_slot(*generator, shard);
}

int64
flake_shard_bound(const FlakeLayout *layout, int64 floor, int64 last, int64 image)
{
	int64		bound;

	/*
	 * Before the server started, ids were handed out up to the floor;
	 * setval() may have set that outside of the layout.
	 */
	bound = Max(Max(last, floor), flake_layout_min_packed(layout));
	bound = Min(bound, flake_layout_max_packed(layout));
	return flake_layout_id(layout, bound, image);
}

/* Closes a slot, and returns the bound. */
static int64
close_slot(const Generator *generator, const GeneratorSlot *slot)
{
	return flake_shard_bound(&generator->layout, flake_horizon_floor(&generator->horizon),
							 flake_slot_close(slot->slot), slot->image);
}

bool
flake_shard_reserve(Oid sequence, int32 shard, Oid function, int64 *bound)
{
	Generator  *generator = flake_generator_look(sequence, function);
	GeneratorSlot slot;
	ShardState	state = {.attached = false,.has_after = true};

	/* C3: before anything else, as a slot takes shared memory. */
	if (flake_citus_is_for_group(flake_citus_node(), &generator->layout, shard))
		return false;

	/* To read Citus's tables may have brought news. */
	generator = flake_generator_look(sequence, function);
	slot = *flake_generator_slot(generator, shard);
	if (flake_slot_last(slot.slot) != FLAKE_PACKED_NONE ||
		!flake_shard_lock(sequence, shard, FLAKE_CHANGE_STATE, false))
		return false;

	/* Nobody mints it now who did not mint it before. */
	if (flake_slot_last(slot.slot) != FLAKE_PACKED_NONE ||
		flake_slot_backfilled(slot.slot) != FLAKE_PACKED_NONE ||
		flake_shard_read_state(sequence, shard, function).exists)
	{
		flake_shard_unlock(sequence, shard, FLAKE_CHANGE_STATE);
		return false;
	}
	generator = flake_generator_look(sequence, function);
	*bound = close_slot(generator, &slot);
	state.after = *bound;
	flake_shard_write_state(sequence, shard, &state, function);
	return true;
}

void
flake_shard_heed_lease(const FlakeLayout *layout, int64 image, TimestampTz upto,
					   ShardState *state)
{
	int64		tick;
	int64		packed;
	int64		id;

	if (!flake_layout_has_time(layout))
		return;					/* a row written by hand: such are not leased */
	tick = flake_layout_tick_at(layout, upto);
	tick = Max(tick, flake_layout_min_tick(layout));
	tick = Min(tick, flake_layout_max_tick(layout));
	packed = flake_layout_pack(layout, tick, flake_layout_max_sequence(layout));
	id = flake_layout_id(layout, packed, image);
	state->after = state->has_after ? Max(state->after, id) : id;
	state->has_after = true;
}

/* Ends the lease of a shard, if there is one, and heeds what was leased. */
static void
end_lease(const Generator *generator, const GeneratorSlot *slot,
		  ShardState *state, Oid function)
{
	TimestampTz upto;

	if (state->exists && !state->attached &&
		flake_lease_end(generator->sequence, slot->shard, function, &upto))
		flake_shard_heed_lease(&generator->layout, slot->image, upto, state);
}

void
flake_shard_take_back(Oid sequence, int32 shard, Oid function)
{
	GeneratorSlot slot;
	ShardState	state;

	(void) flake_shard_lock(sequence, shard, FLAKE_CHANGE_STATE, true);
	slot = *flake_generator_slot(flake_generator_look(sequence, function), shard);

	/*
	 * L3: the next owner of the shard, wherever it is, goes on after the
	 * lease.
	 */
	state = flake_shard_read_state(sequence, shard, function);
	end_lease(flake_generator_look(sequence, function), &slot, &state, function);
	state.attached = false;
	flake_shard_write_state(sequence, shard, &state, function);
}

/* B2 (see backfill.c): what was backfilled counts as minted, and nothing more is. */
void
flake_shard_end_backfill(ShardState *state)
{
	if (!state->has_backfilled)
		return;
	state->after = state->has_after ? Max(state->after, state->backfilled) : state->backfilled;
	state->has_after = true;
	state->has_backfilled = false;
}

/* B3: what was backfilled and undone may have been kept. */
static void
heed_backfilled(const FlakeLayout *layout, const GeneratorSlot *slot, ShardState *state)
{
	int64		backfilled = flake_slot_backfilled(slot->slot);
	int64		id;

	if (backfilled == FLAKE_PACKED_NONE)
		return;
	id = flake_layout_id(layout, backfilled, slot->image);
	state->after = state->has_after ? Max(state->after, id) : id;
	state->has_after = true;
}

/* The last id of a shard before the present; *id as it was if the clock may be wrong. */
static void
raise_to_present(const FlakeLayout *layout, int64 image, int64 *id)
{
	ClockMove	move = {.horizon = DT_NOBEGIN,.found = DT_NOBEGIN};
	int64		tick;

	flake_clock_guard_read(&move);
	if (!flake_clock_guard_allows(&move))
		return;
	tick = Min(flake_layout_tick_at(layout, move.wall), flake_layout_max_tick(layout)) - 1;
	if (tick >= flake_layout_first_tick(layout))
	{
		int64		last = flake_layout_pack(layout, tick, flake_layout_max_sequence(layout));

		*id = Max(*id, flake_layout_id(layout, last, image));
	}
}

/*
 * B1: lets a shard be backfilled that is detached before it is known to have been
 * minted.  The slot is closed.  B4: up to the bound, so this is raised.
 */
static void
allow_backfill(const FlakeLayout *layout, const GeneratorSlot *slot, ShardState *state)
{
	if (state->exists || state->others_detached || !flake_layout_has_time(layout) ||
		flake_layout_is_uuid(layout) ||
		flake_slot_last(slot->slot) != FLAKE_PACKED_NONE ||
		flake_slot_backfilled(slot->slot) != FLAKE_PACKED_NONE ||
		flake_citus_is_for_group(flake_citus_node(), layout, slot->shard))
		return;
	raise_to_present(layout, slot->image, &state->after);
	state->backfilled = flake_layout_id(layout, flake_layout_min_packed(layout), slot->image);
	state->has_backfilled = true;
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
	FlakeLayout layout;
	ShardState	state;
	int64		bound;

	slot = begin_change(sequence, shard, function, "flake_detach()", &generator);
	layout = generator->layout;
	state = flake_shard_read_state(sequence, shard, function);
	end_lease(generator, &slot, &state, function);
	bound = close_slot(flake_generator_look(sequence, function), &slot);

	/*
	 * B4: the bound that was returned first counts, as nothing was minted
	 * since.
	 */
	if (state.has_backfilled && state.has_after)
		bound = state.after;
	if (state.has_after)
		bound = Max(bound, state.after);
	state.after = bound;
	state.has_after = true;
	if (!state.has_backfilled)
		heed_backfilled(&layout, &slot, &state);
	state.attached = false;
	allow_backfill(&layout, &slot, &state);

	/* Also if it is already detached: a lease may have raised the bound. */
	flake_shard_write_state(sequence, shard, &state, function);
	PG_RETURN_INT64(state.after);
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
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", PG_ARGISNULL(0) ? "shard" : "generator"),
				 errhint("Only \"after\" can be null: then ids go on above what this server knows of.")));
	shard = PG_GETARG_INT32(0);
	sequence = PG_GETARG_OID(2);

	slot = begin_change(sequence, shard, function, "flake_attach()", &generator);
	flake_citus_check_attach(&generator->layout, shard);
	state = flake_shard_read_state(sequence, shard, function);
	end_lease(generator, &slot, &state, function);
	flake_shard_end_backfill(&state);
	heed_backfilled(&flake_generator_look(sequence, function)->layout, &slot, &state);
	if (!PG_ARGISNULL(1))
	{
		int64		after = PG_GETARG_INT64(1);

		generator = flake_generator_look(sequence, function);
		(void) flake_packed_to_exceed(&generator->layout, after, &slot.image, false,
									  "Check the clocks of both servers.");
		state.after = state.has_after ? Max(state.after, after) : after;
		state.has_after = true;
	}
	state.attached = true;
	flake_shard_write_state(sequence, shard, &state, function);

	/* What is opened next goes by the new state. */
	(void) flake_slot_close(slot.slot);
	PG_RETURN_VOID();
}

/*
 * _flake_lock_shard(ticket _flake_ticket, shard int, generator regclass) returns void
 *
 * Keeps others from changing the state of a shard until the end of the
 * transaction, so that it can be looked at before it is changed.  Should the
 * subtransaction be rolled back, nothing is kept, nor is the generator's sequence.
 */
Datum
flake_lock_shard(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(2);
	bool		was_locked = flake_generator_is_locked(sequence);
	Generator  *generator;

	PG_TRY();
	{
		(void) begin_change(sequence, PG_GETARG_INT32(1), fcinfo->flinfo->fn_oid,
							"flake_renumber()", &generator);
		if (!was_locked)
			LockRelationOid(sequence, RowExclusiveLock);
	}
	PG_FINALLY();
	{
		if (!was_locked)
			flake_generator_unlock(sequence);
	}
	PG_END_TRY();
	PG_RETURN_VOID();
}
