/*-------------------------------------------------------------------------
 *
 * claim.h
 *	  Claiming ids: the minting loop.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_CLAIM_H
#define FLAKEID_CLAIM_H

#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/horizon.h"

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
extern bool flake_claim(Slot *slot, const FlakeLayout *layout,
						HorizonRef *horizon, int64 n, int64 *first);

/*
 * The packed value that comes after one in a tick, or by M1 in a later one: where a
 * claim of one would begin.
 */
extern int64 flake_claim_next(const FlakeLayout *layout, int64 last, int64 tick);

/* Adds what this session has claimed since the last call to slot->issued. */
extern void flake_claim_flush_count(void);

/* Sets up that this happens at the end of each transaction; at library load. */
extern void flake_claim_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_CLAIM_H */
