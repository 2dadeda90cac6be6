/*-------------------------------------------------------------------------
 *
 * exceed.h
 *	  What ids must be above to exceed an id.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_EXCEED_H
#define FLAKEID_EXCEED_H

#include "layout/layout.h"
#include "mint/generator.h"

#pragma GCC visibility push(hidden)

/*
 * The packed value that ids must be above to exceed an id: those of the shard that
 * has an image, or with NULL those of every shard.  ERROR if none can.
 * ERROR, with a hint what to do, if the id is of a time that is further ahead
 * than a caller may have to wait for; with at_once, if the next id is.  That can
 * be in the tick after the id's.
 */
extern int64 flake_packed_to_exceed(const FlakeLayout *layout, int64 id,
									const int64 *image, bool at_once,
									const char *hint);

/*
 * Makes sure, durably, that every new id is above a packed value.
 *
 * The floor may be above it without that: before the first id it is where the
 * clock was, and is on no disk.
 */
extern void flake_generator_raise(Generator *generator, int64 above);

#pragma GCC visibility pop

#endif							/* FLAKEID_EXCEED_H */
