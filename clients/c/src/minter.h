/*-------------------------------------------------------------------------
 *
 * minter.h
 *	  What those who mint and those who change the lease have in common: see minter.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_MINTER_H
#define FLAKEID_MINTER_H

#include "internal.h"

/* In the place of a packed value, which has 63 bits at most, as it has no shard */
#define NONE		PG_INT64_MIN	/* no lease: minter->code says why */
#define CHANGING	(PG_INT64_MIN + 1)	/* there is one in a moment */

#define READ(word)			__atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define WRITE(word, value)	__atomic_store_n(&(word), (value), __ATOMIC_RELEASE)

/* The wall clock, since 1970.  The kernel keeps it below the year 2263. */
static inline int64
read_us(clockid_t clock)
{
	struct timespec now;

	if (unlikely(clock_gettime(clock, &now) != 0))
		return 0;
	return (int64) now.tv_sec * USECS_PER_SEC + now.tv_nsec / 1000;
}

static inline int64
pack(const flakeid_minter *minter, int64 tick, int64 sequence)
{
	return (int64) ((uint64) tick << minter->sequence_bits) | sequence;
}

static inline int64
packed_tick(const flakeid_minter *minter, int64 packed)
{
	return packed >> minter->sequence_bits;
}

static inline bool
is_forked(const flakeid_minter *minter)
{
	return __atomic_load_n(flakeid_generation_word, __ATOMIC_RELAXED) != minter->generation;
}

static inline flakeid_code
forked(flakeid_error *error)
{
	return fail(error, FLAKEID_FORKED, NO_RETRY,
				"the minter belongs to the parent process: make one for this process");
}

static inline flakeid_code
closed(flakeid_error *error)
{
	return fail(error, FLAKEID_CLOSED, NO_RETRY, "the minter was closed");
}

/* Why there is no lease. */
__attribute__((cold))
static inline flakeid_code
no_lease(const flakeid_minter *minter, flakeid_error *error)
{
	flakeid_code code = (flakeid_code) READ(minter->code);

	if (code == FLAKEID_CLOSED)
		return closed(error);
	return fail(error, code, NO_RETRY, "%s", code == FLAKEID_NOT_CONNECTED
				? "there is no lease yet" : "the lease is over, and there is no new one");
}

/*
 * A number that depends on all bits of another one (the finalizer of SplitMix64).  It
 * spreads ids; it is not meant to be hard to guess.
 */
static inline uint64
scatter(uint64 x)
{
	x += UINT64CONST(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64CONST(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64CONST(0x94d049bb133111eb);
	return x ^ x >> 31;
}

#endif							/* FLAKEID_MINTER_H */
