/*-------------------------------------------------------------------------
 *
 * advance.c
 *	  SQL functions that make ids exceed one, and say whether they do.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/exceed.h"
#include "mint/generator.h"
#include "mint/horizon.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "mint/unlock.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_advance);
PG_FUNCTION_INFO_V1(flake_would_exceed);

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

	PreventCommandIfReadOnly("flake_advance()");
	PreventCommandIfParallelMode("flake_advance()");
	generator = flake_generator_look(sequence, fcinfo->flinfo->fn_oid);
	flake_generator_check_privilege(sequence, ACL_UPDATE);
	check_not_wide(generator);

	/* That it is far ahead already is no reason to refuse. */
	advance.generator = generator->key;
	advance.above = flake_layout_packed_up_to(&generator->layout, above);
	if (advance.above > flake_horizon_floor(&generator->horizon))
		advance.above = flake_packed_to_exceed(&generator->layout, above, NULL, true,
											   flake_layout_is_uuid(&generator->layout)
											   ? "Wait until that time has come."
											   : "Use a generator whose layout is flake_layout_above(layout, id).");
	if (advance.above == FLAKE_PACKED_NONE)
		PG_RETURN_VOID();

	/* The floor is raised before slots are looked at. */
	flake_generator_raise(generator, advance.above);
	flake_shmem_each_slot(advance_slot, &advance);
	PG_RETURN_VOID();
}

/*
 * Whether the next id of a shard exceeds one, and all that come after it.  What
 * is read here only ever goes up, so that in doubt the answer is false.  Only
 * the clock may be set back; and who is in the midst of a claim has read it
 * earlier.  flake_advance() rules out both.
 *
 * Inlined, its variables would be between setjmp() and longjmp(), of which gcc warns
 * on i386.
 */
static pg_noinline bool
would_exceed(Oid sequence, int32 shard, int64 id, Oid function)
{
	Generator  *generator = flake_generator_look(sequence, function);
	const FlakeLayout *layout;
	GeneratorSlot slot;
	int64		above;			/* packed */
	int64		next;

	check_not_wide(generator);
	layout = &generator->layout;
	slot = *flake_generator_slot(generator, shard);

	above = Max(flake_slot_last(slot.slot),
				flake_horizon_floor(&generator->horizon));
	if (above >= flake_layout_max_packed(layout))
		return false;			/* there is no next one */
	next = Max(above + 1, flake_layout_min_packed(layout));
	if (flake_layout_has_time(layout))
	{
		int64		tick = flake_layout_tick_at(layout, GetCurrentTimestamp());

		if (tick < flake_layout_min_tick(layout) ||
			tick > flake_layout_max_tick(layout))
			return false;
		next = Max(next, flake_layout_pack(layout, tick, 0));
	}
	return flake_layout_id(layout, next, slot.image) > id;
}

/*
 * flake_would_exceed(generator regclass, shard int, id bigint) returns boolean
 *
 * As nothing is minted, the generator is let go again.
 */
Datum
flake_would_exceed(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	bool		was_locked = flake_generator_is_locked(sequence);
	volatile bool result = false;

	/* A standby does not know what its primary hands out. */
	PreventCommandDuringRecovery("flake_would_exceed()");
	PG_TRY();
	{
		result = would_exceed(sequence, PG_GETARG_INT32(1), PG_GETARG_INT64(2),
							  fcinfo->flinfo->fn_oid);
	}
	PG_FINALLY();
	{
		if (!was_locked)
			flake_generator_unlock(sequence);
	}
	PG_END_TRY();
	PG_RETURN_BOOL(result);
}
