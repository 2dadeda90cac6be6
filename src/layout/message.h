/*-------------------------------------------------------------------------
 *
 * message.h
 *	  What messages say of layouts and durations.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_MESSAGE_H
#define FLAKEID_MESSAGE_H

#include "compat.h"
#include "layout/layout.h"

#pragma GCC visibility push(hidden)

/*
 * What messages call a layout: its preset's name, or if it is no preset its
 * text; palloc'd.
 */
extern char *flake_layout_name(const FlakeLayout *layout);

/* ERROR 22023 if ids are UUIDs: no bigint has their shard. */
extern void flake_check_not_uuid(const FlakeLayout *layout);

/* A duration, to the millisecond; palloc'd. */
extern char *flake_duration(int64 us);

/* The same for one that may be of hours or days, roughly then. */
extern char *flake_long_duration(int64 us);

/* ERROR 22023 for a layout in which ids and times have nothing to do with each other. */
extern void flake_check_has_time(const FlakeLayout *layout);

/* Raises ERROR 22003, with a hint: an id cannot hold a time. */
pg_noreturn extern void flake_time_out_of_range(const FlakeLayout *layout, const char *hint);

/* Raises ERROR 22003: ids of a tick, or above it, would not fit the layout. */
pg_noreturn extern void flake_lifetime_is_over(const FlakeLayout *layout, int64 now_tick);

#pragma GCC visibility pop

#endif							/* FLAKEID_MESSAGE_H */
