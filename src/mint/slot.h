/*-------------------------------------------------------------------------
 *
 * slot.h
 *	  Claiming ids: the minting loop.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SLOT_H
#define FLAKEID_SLOT_H

#include "layout/layout.h"
#include "mint/horizon.h"
#include "mint/shmem.h"

#pragma GCC visibility push(hidden)

/*
 * Claims n successive packed values (n > 0) of a slot and sets *first to the
 * first; the last is n - 1 more.  They are the caller's alone, for ever.  False
 * if the slot is closed: nothing can be claimed until it has been opened.
 *
 * May wait for the clock, interruptibly, up to flakeid.max_wait.  Errors, all
 * of them before anything is claimed: 53400 if the clock is too far behind,
 * or n is more than the settings allow at once; 22003 if the layout's lifetime
 * is over; what flake_horizon_extend() raises.
 */
extern bool flake_slot_claim(Slot *slot, const FlakeLayout *layout,
							 HorizonRef *horizon, int64 n, int64 *first);

/*
 * Closes a slot: after this no claim succeeds, in any session, until it is
 * opened.  Returns a packed value that no claim so far has exceeded, or
 * FLAKE_PACKED_NONE if there was none since the server started.
 *
 * Who closes a slot to keep it closed holds a lock that conflicts with that of
 * who opens it (see shard.c).  To close it without one is always safe: it may be
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

/* Sets a slot back, and closes it; nobody mints from it meanwhile. */
extern void flake_slot_rewind(Slot *slot, int64 value);

/* The last value that was handed out, also of a closed slot. */
extern int64 flake_slot_last(Slot *slot);

/* Adds what this session has claimed since the last call to slot->issued. */
extern void flake_slot_flush_count(void);

/* Sets up that this happens at the end of each transaction; at library load. */
extern void flake_slot_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_SLOT_H */
