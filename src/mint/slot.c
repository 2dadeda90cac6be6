/*-------------------------------------------------------------------------
 *
 * slot.c
 *	  Slots: opening, closing, raising and setting them back.
 *
 * A slot holds the last packed value that was handed out for a shard, and goes up
 * with each claim (see claim.c).  A closed slot holds FLAKE_PACKED_NONE instead:
 * nothing can be claimed from it, and the value to go on from is kept beside it, in
 * slot->resume.  While the slot is open that says what it was opened at or raised to:
 * only a last value above was handed out.  What was before is kept for statistics.
 * The rules F1 and F3 are those of shard/fence.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/slot.h"

/* Raises slot->resume to at least a packed value; slot->lock must be held. */
static void
raise_resume(Slot *slot, int64 value)
{
	if ((int64) pg_atomic_read_u64(&slot->resume) < value)
		pg_atomic_write_u64(&slot->resume, (uint64) value);
}

/*
 * Notes that a last value, which is about to be raised or to go, was handed out, if it
 * was: above what the slot was opened at or raised to.  slot->lock must be held.
 */
static void
note_minted(Slot *slot, int64 last, int64 resume)
{
	if (last <= resume)
		return;
	pg_atomic_write_u64(&slot->minted, (uint64) last);
	pg_write_barrier();			/* before what flake_slot_minted() reads first */
}

/*
 * Opening and closing exclude each other.  Otherwise a slot could be opened,
 * minted from and closed by others after resume was read in flake_slot_open(),
 * and be set back there to what had been read.  Claims take no part in this:
 * they find the slot open, or not.
 */
int64
flake_slot_close(Slot *slot)
{
	uint64		last;
	int64		resume;

	LWLockAcquire(&slot->lock, LW_EXCLUSIVE);

	/*
	 * F1.  The value to go on from is noted first: whoever finds the slot
	 * closed finds it there.
	 */
	last = pg_atomic_read_u64(&slot->last);
	while ((int64) last != FLAKE_PACKED_NONE)
	{
		note_minted(slot, (int64) last, (int64) pg_atomic_read_u64(&slot->resume));
		raise_resume(slot, (int64) last);
		if (pg_atomic_compare_exchange_u64(&slot->last, &last,
										   (uint64) FLAKE_PACKED_NONE))
			break;
	}
	resume = (int64) pg_atomic_read_u64(&slot->resume);
	LWLockRelease(&slot->lock);
	return resume;
}

void
flake_slot_open(Slot *slot, int64 above)
{
	LWLockAcquire(&slot->lock, LW_EXCLUSIVE);

	/* F3.  An open slot has some value. */
	raise_resume(slot, Max(above, FLAKE_PACKED_NONE + 1));
	raise_resume(slot, flake_slot_backfilled(slot));
	if ((int64) pg_atomic_read_u64(&slot->last) == FLAKE_PACKED_NONE)
		pg_atomic_write_u64(&slot->last, pg_atomic_read_u64(&slot->resume));
	LWLockRelease(&slot->lock);
}

/*
 * A closed slot takes part, and one that may be closed again: who has begun a
 * claim before finds last as it was if it is opened at an old resume, and
 * ends below.  Only where nothing was ever claimed has nobody begun.
 */
void
flake_slot_advance(Slot *slot, int64 value)
{
	uint64		last;
	int64		resume;

	LWLockAcquire(&slot->lock, LW_EXCLUSIVE);
	resume = (int64) pg_atomic_read_u64(&slot->resume);
	last = pg_atomic_read_u64(&slot->last);
	note_minted(slot, (int64) last, resume);
	if (flake_slot_last(slot) != FLAKE_PACKED_NONE)
		raise_resume(slot, value);
	while ((int64) last != FLAKE_PACKED_NONE && (int64) last < value &&
		   !pg_atomic_compare_exchange_u64(&slot->last, &last, (uint64) value))
		note_minted(slot, (int64) last, resume);
	LWLockRelease(&slot->lock);
}

void
flake_slot_note_backfilled(Slot *slot, int64 value)
{
	LWLockAcquire(&slot->lock, LW_EXCLUSIVE);
	if (flake_slot_backfilled(slot) < value)
		pg_atomic_write_u64(&slot->backfilled, (uint64) value);
	LWLockRelease(&slot->lock);
}

void
flake_slot_rewind(Slot *slot, int64 value)
{
	LWLockAcquire(&slot->lock, LW_EXCLUSIVE);

	/* The stores will do: only statistics look at the slot in between. */
	if (flake_slot_minted(slot) > value)
		pg_atomic_write_u64(&slot->minted, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&slot->resume, (uint64) value);
	pg_atomic_write_u64(&slot->last, (uint64) FLAKE_PACKED_NONE);
	LWLockRelease(&slot->lock);
}

void
flake_slot_reset_counts(Slot *slot)
{
	pg_atomic_write_u64(&slot->issued, 0);
	pg_atomic_write_u64(&slot->waits, 0);
	pg_atomic_write_u64(&slot->wait_us, 0);
	pg_atomic_write_u64(&slot->refused, 0);
	pg_atomic_write_u64(&slot->clock_steps_back, 0);
}

int64
flake_slot_last(Slot *slot)
{
	int64		last = (int64) pg_atomic_read_u64(&slot->last);

	if (last != FLAKE_PACKED_NONE)
		return last;

	/* Whoever closes it writes them in the other order. */
	pg_read_barrier();
	return (int64) pg_atomic_read_u64(&slot->resume);
}

int64
flake_slot_minted(Slot *slot)
{
	int64		last = (int64) pg_atomic_read_u64(&slot->last);

	/* Whoever raises it, or closes it, writes them in the other order. */
	pg_read_barrier();
	if (last > (int64) pg_atomic_read_u64(&slot->resume))
		return last;
	pg_read_barrier();
	return (int64) pg_atomic_read_u64(&slot->minted);
}
