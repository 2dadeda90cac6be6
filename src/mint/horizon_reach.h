/*-------------------------------------------------------------------------
 *
 * horizon_reach.h
 *	  How far a horizon goes, and where it begins.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_HORIZON_REACH_H
#define FLAKEID_HORIZON_REACH_H

#include "layout/layout.h"

#pragma GCC visibility push(hidden)

/* How far ahead of what was handed out to move the horizon, in packed units. */
extern int64 flake_horizon_window(const FlakeLayout *layout);

/* H4: what may be claimed at an instant, and the slack; for layouts with time. */
extern int64 flake_horizon_claimable_up_to(const FlakeLayout *layout, TimestampTz now);

/*
 * The floor of a generator that has not handed out anything: the present, not the
 * epoch.  Should the clock be set back later, ids do not go back into the time
 * before the generator.
 */
extern int64 flake_horizon_first_floor(const FlakeLayout *layout, TimestampTz now);

/* A packed value before the present tick; FLAKE_PACKED_NONE if there is none. */
extern int64 flake_horizon_last_tick(const FlakeLayout *layout, TimestampTz now);

/*
 * WARNING if a horizon that was found at the server's start is further ahead
 * than H4 lets it go, or some setting of before.
 */
extern void flake_horizon_warn_if_ahead(const FlakeLayout *layout, Oid sequence,
										int64 found);

#pragma GCC visibility pop

#endif							/* FLAKEID_HORIZON_REACH_H */
