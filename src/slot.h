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

#include "horizon.h"
#include "layout.h"

#pragma GCC visibility push(hidden)

/*
 * Claims n successive packed values (n > 0) of a slot and returns the first;
 * the last is n - 1 more.  They are the caller's alone, for ever.
 *
 * May wait for the clock, interruptibly, up to flakeid.max_wait.  Errors, all
 * of them before anything is claimed: 53400 if the clock is too far behind,
 * or n is more than the settings allow at once; 22003 if the layout's lifetime
 * is over; what flake_horizon_extend() raises.
 */
extern int64 flake_slot_claim(Slot *slot, const FlakeLayout *layout,
							  HorizonRef *horizon, int64 n);

/* Adds what this session has claimed since the last call to slot->issued. */
extern void flake_slot_flush_count(void);

/* Sets up that this happens at the end of each transaction; at library load. */
extern void flake_slot_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_SLOT_H */
