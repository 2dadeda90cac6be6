/*-------------------------------------------------------------------------
 *
 * internal.h
 *	  What the files of the core share: layouts as src/layout/ of the extension has
 *	  them, and which process this is.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_INTERNAL_H
#define FLAKEID_INTERNAL_H

#include "postgres.h"

#include <time.h>

#include "fail.h"
#include "layout/instant.h"
#include "layout/layout.h"

#pragma GCC visibility push(hidden)

_Static_assert(sizeof(FlakeLayout) == sizeof(flakeid_layout), "the same bytes");

/* Copied, as the caller's memory has another type. */
static inline FlakeLayout
flakeid_layout_value(const flakeid_layout *layout)
{
	FlakeLayout value;

	memcpy(&value, layout, sizeof(value));
	return value;
}

/* Room for what flakeid_time_text() writes. */
#define TIME_TEXT_LEN	FLAKE_INSTANT_LEN

/* A time since 1970, for messages: in UTC, or in microseconds if the year has no four digits. */
extern void flakeid_time_text(int64 time_us, char text[TIME_TEXT_LEN]);

/* Where flakeid_process() is, or 0 in a process that has not asked for it yet. */
extern const uint32 *flakeid_generation_word;

/* What flakeid_steady_ns() reads. */
extern clockid_t flakeid_steady_clock;

/* A clock, in nanoseconds; -1 if there is none. */
static inline int64
flakeid_read_ns(clockid_t clock)
{
	struct timespec now;

	if (unlikely(clock_gettime(clock, &now) != 0))
		return -1;
	return (int64) now.tv_sec * 1000000000 + now.tv_nsec;
}

#pragma GCC visibility pop

#endif							/* FLAKEID_INTERNAL_H */
