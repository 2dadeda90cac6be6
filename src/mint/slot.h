/*-------------------------------------------------------------------------
 *
 * slot.h
 *	  Slots: opening, closing, raising and setting them back.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SLOT_H
#define FLAKEID_SLOT_H

#include "mint/entry.h"

#pragma GCC visibility push(hidden)

/*
 * Closes a slot: after this no claim succeeds, in any session, until it is
 * opened.  Returns a packed value that no claim so far has exceeded, or
 * FLAKE_PACKED_NONE if there was none since the server started.
 *
 * Whoever closes a slot to keep it closed holds a lock that conflicts with that of
 * whoever opens it (see shard/state.c).  To close it without one is always safe: it may be
 * opened again at once, but only above all that was handed out.
 */
extern int64 flake_slot_close(Slot *slot);

/*
 * Opens a slot, if it is closed, for claims above what was claimed before and
 * above a packed value.  Others may open or close it at the same time.
 */
extern void flake_slot_open(Slot *slot, int64 above);

/*
 * Raises a slot's last value to at least a packed value, also if it is closed:
 * no claim that has begun before, with an older floor, ends below after this.
 */
extern void flake_slot_advance(Slot *slot, int64 value);

/*
 * Notes that a shard was backfilled up to a packed value: a slot that is opened after
 * this goes on above.  Raises no ERROR.
 */
extern void flake_slot_note_backfilled(Slot *slot, int64 value);

/* The greatest of those; FLAKE_PACKED_NONE if there are none. */
static inline int64
flake_slot_backfilled(Slot *slot)
{
	return (int64) pg_atomic_read_u64(&slot->backfilled);
}

/* Sets a slot back, and closes it; nobody mints from it meanwhile. */
extern void flake_slot_rewind(Slot *slot, int64 value);

/* Sets what only statistics have to zero. */
extern void flake_slot_reset_counts(Slot *slot);

/*
 * What claims begin above, also of a closed slot: the last value that was handed out, or
 * a later one that the slot was opened at or raised to.
 */
extern int64 flake_slot_last(Slot *slot);

/*
 * The last value that was handed out, for statistics; FLAKE_PACKED_NONE if there was none
 * since the server started, or since the slot was set back below.
 */
extern int64 flake_slot_minted(Slot *slot);

#pragma GCC visibility pop

#endif							/* FLAKEID_SLOT_H */
