/*-------------------------------------------------------------------------
 *
 * minter.c
 *	  Minting by a lease: the rules P1 to P4 and P6 of docs/clients.md.  What changes
 *	  the lease is in lease.c.
 *
 * A packed value is tick << sequence bits | sequence.  minter->last is the one that
 * was minted last.  To mint is to compare-and-swap it to a greater one, which any
 * number of threads can do at once, while another one changes the lease:
 *
 *	1. It takes the value away: last becomes CHANGING.
 *	2. It writes the words of the new lease.
 *	3. It stores a value that is greater than all that last ever was.
 *
 * So last, apart from its two marks, only grows.  A thread reads last first, then the
 * words, and swaps at the end.  If that succeeds, last was the same all the time, and
 * the words are of one lease: had it read a word of step 2, step 1 would have come
 * before its swap (they are stored with release and read with acquire), which then
 * would have failed.  To renew a lease is to let two words grow, in any order; if one of
 * them has to shrink, that is done as with a new lease.
 *
 * Reading two clocks is most of the price of an id.  While the minter runs ahead of the
 * clock, as in a burst, the next id is one more than the last whatever the time is, and
 * only P4 needs the time, which an older reading makes stricter.  Then a rough
 * reading of the wall clock will do, at a tenth of the price.  The deadline is always
 * looked at exactly.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "minter.h"

#include <sched.h>

/*
 * CLOCK_REALTIME_COARSE is behind the clock by up to one tick of the kernel's timer, 10
 * ms at the most; take it to be twice that.
 */
#define ROUGH_LAG_US	INT64CONST(20000)

static inline int64
tick_at(const flakeid_minter *minter, int64 time_us)
{
	int64		elapsed_us = time_us - minter->epoch_us;
	int64		tick;

	/* Division by a constant is a multiplication. */
	tick = minter->unit_us == 1000 ? elapsed_us / 1000 : elapsed_us / minter->unit_us;

	/* Division truncates towards zero; before the epoch, go down instead. */
	if (unlikely(elapsed_us < 0) && tick * minter->unit_us != elapsed_us)
		tick--;
	return tick;
}

static inline int64
max_sequence(const flakeid_minter *minter)
{
	return (int64) ((UINT64CONST(1) << minter->sequence_bits) - 1);
}

static inline int64
id_of(const flakeid_minter *minter, int64 packed, int64 image)
{
	uint64		tick = (uint64) packed_tick(minter, packed);
	uint64		sequence = (uint64) packed & (uint64) max_sequence(minter);

	return (int64) (tick << minter->time_shift | sequence << minter->sequence_shift) | image;
}

bool
flakeid_minter_is_forked(const flakeid_minter *minter)
{
	return is_forked(minter);
}

/* The first sequence number of a new tick, for a claim of n. */
static inline int64
first_sequence(const flakeid_minter *minter, int64 last, int64 clock_us, int64 n)
{
	int64		sequence = 0;

	if (minter->start == FLAKE_START_CONTINUE)
		sequence = (last + 1) & max_sequence(minter);
	else if (minter->start == FLAKE_START_RANDOM)
	{
		uint64		number = scatter(minter->seed ^ scatter((uint64) last ^ scatter((uint64) clock_us)));
		uint64		largest = minter->random_below > 0
		? (uint64) minter->random_below - 1 : (uint64) max_sequence(minter);

		sequence = (int64) (largest == UINT64_MAX ? number : number % (largest + 1));
	}
	/* It must not run into the next tick because of that. */
	if ((uint64) sequence + (uint64) (n - 1) > (uint64) max_sequence(minter))
		sequence = 0;
	return sequence;
}

/* What an error says, of one attempt to mint */
typedef struct Attempt
{
	int64		clock_us;
	int64		first_tick;		/* of the lease */
	int64		end_tick;
	int64		image;
	int64		tick;			/* of the last id that was wanted */
} Attempt;

/* Microseconds until the clock's tick is at least that one. */
static int64
until_tick(const flakeid_minter *minter, int64 tick, int64 clock_us)
{
	int64		start_us;
	int64		wait_us;

	if (pg_mul_s64_overflow(tick, minter->unit_us, &start_us) ||
		pg_add_s64_overflow(start_us, minter->epoch_us, &start_us) ||
		pg_sub_s64_overflow(start_us, clock_us, &wait_us))
		return PG_INT64_MAX;
	return Max(wait_us, 0);
}

static double
seconds(int64 us)
{
	return (double) us / (double) USECS_PER_SEC;
}

/* Says what is wrong.  Apart from the usual case, to keep that one short. */
__attribute__((noinline, cold))
static flakeid_code
refuse(const flakeid_minter *minter, flakeid_code code, const Attempt *attempt,
	   flakeid_error *error)
{
	FlakeLayout layout;
	int64		wait_us;
	int			shard;

	if (error == NULL)
		return code;
	layout = flakeid_layout_value(&minter->layout);
	shard = flake_layout_shard(&layout, attempt->image);
	switch (code)
	{
		case FLAKEID_NOT_YET:
			wait_us = until_tick(minter, attempt->first_tick - minter->max_ahead_ticks,
								 attempt->clock_us);
			return fail(error, code, wait_us,
						"the lease of shard %d begins later by this machine's clock: its first id can be minted in %.3f s",
						shard, seconds(wait_us));
		case FLAKEID_TOO_FAR_AHEAD:
			wait_us = until_tick(minter, attempt->tick - minter->max_ahead_ticks,
								 attempt->clock_us);
			return fail(error, code, wait_us,
						"the next id of shard %d would be more than %.3f s ahead of this machine's clock: try again in %.3f s, or take a generator with more ids per tick",
						shard, seconds(minter->max_ahead_ticks * minter->unit_us),
						seconds(wait_us));
		case FLAKEID_LIFETIME_OVER:
			return fail(error, code, NO_RETRY,
						"the lifetime of the layout is over: if this machine's clock is right, use a layout with a later epoch");
		default:
			wait_us = until_tick(minter, attempt->end_tick, attempt->clock_us);
			if (attempt->clock_us != 0 && wait_us == 0)
				return fail(error, code, NO_RETRY,
							"the lease of shard %d is over: this machine's clock is %.3f s past its end",
							shard, seconds(attempt->clock_us - minter->epoch_us -
										   attempt->end_tick * minter->unit_us));
			return fail(error, code, NO_RETRY, attempt->clock_us == 0
						? "the lease of shard %d is over"
						: "the ids of shard %d are used up to the end of the lease", shard);
	}
}

/*
 * Mints n packed values, of which it returns the first one and the shard's bits.
 * Inlined twice: for one id it is shorter.
 */
__attribute__((always_inline))
static inline flakeid_code
claim(flakeid_minter *minter, int64 n, int64 *first, int64 *image, flakeid_error *error)
{
	for (;;)
	{
		Attempt		attempt = {0};
		int64		last;
		int64		deadline_ns;
		int64		clock_tick;
		int64		end;
		int64		ahead;
		bool		is_rough = false;

		/* P3 */
		if (unlikely(is_forked(minter)))
			return forked(error);

		last = READ(minter->last);
		if (unlikely(last <= CHANGING))
		{
			if (last == NONE)
				return no_lease(minter, error);
			(void) sched_yield();
			continue;
		}
		attempt.first_tick = READ(minter->first_tick);
		attempt.end_tick = READ(minter->end_tick);
		attempt.image = READ(minter->image);
		deadline_ns = READ(minter->deadline_ns);

		/* P6 */
		if (unlikely(flakeid_read_ns(flakeid_steady_clock) >= deadline_ns))
			return refuse(minter, FLAKEID_LEASE_EXPIRED, &attempt, error);

#ifdef CLOCK_REALTIME_COARSE
		if (__atomic_load_n(&minter->ahead, __ATOMIC_RELAXED))
		{
			attempt.clock_us = read_us(CLOCK_REALTIME_COARSE);
			is_rough = packed_tick(minter, last) >
				tick_at(minter, attempt.clock_us + ROUGH_LAG_US);
		}
#endif
		if (!is_rough)
			attempt.clock_us = read_us(CLOCK_REALTIME);
		clock_tick = tick_at(minter, attempt.clock_us);

		/* P2 */
		*first = clock_tick <= packed_tick(minter, last) ? last + 1
			: pack(minter, clock_tick, first_sequence(minter, last, attempt.clock_us, n));
		if (unlikely(clock_tick > minter->max_tick ||
					 pg_add_s64_overflow(*first, n - 1, &end) ||
					 packed_tick(minter, end) > minter->max_tick))
			return refuse(minter, FLAKEID_LIFETIME_OVER, &attempt, error);
		attempt.tick = packed_tick(minter, end);

		/* P4 */
		ahead = attempt.tick - clock_tick;
		if (unlikely(ahead > minter->max_ahead_ticks))
		{
			if (is_rough)
			{
				/* Look at the exact clock first. */
				__atomic_store_n(&minter->ahead, 0, __ATOMIC_RELAXED);
				continue;
			}
			return refuse(minter, clock_tick < attempt.first_tick - minter->max_ahead_ticks
						  ? FLAKEID_NOT_YET : FLAKEID_TOO_FAR_AHEAD, &attempt, error);
		}

		/* P1 */
		if (unlikely(attempt.tick >= attempt.end_tick))
			return refuse(minter, FLAKEID_LEASE_EXPIRED, &attempt, error);

		if (likely(__atomic_compare_exchange_n(&minter->last, &last, end, false,
											   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)))
		{
			uint32		is_ahead = ahead > 0 && ahead * minter->unit_us > 2 * ROUGH_LAG_US;

			if (unlikely(is_ahead != __atomic_load_n(&minter->ahead, __ATOMIC_RELAXED)))
				__atomic_store_n(&minter->ahead, is_ahead, __ATOMIC_RELAXED);
			*image = attempt.image;
			return FLAKEID_OK;
		}
	}
}

flakeid_code
flakeid_next(flakeid_minter *minter, int64_t *id, flakeid_error *error)
{
	int64		first = 0;
	int64		image = 0;
	flakeid_code code = claim(minter, 1, &first, &image, error);

	if (likely(code == FLAKEID_OK))
		*id = id_of(minter, first, image);
	return code;
}

flakeid_code
flakeid_next_n(flakeid_minter *minter, int64_t *ids, size_t n, flakeid_error *error)
{
	int64		first = 0;
	int64		image = 0;
	flakeid_code code;

	/* From the start of a tick they would end in so much later a tick. */
	if (n == 0 || n > (size_t) PG_INT64_MAX ||
		(int64) (n - 1) >> minter->sequence_bits > minter->max_ahead_ticks)
		return fail_argument(error,
							 "cannot mint %zu ids at once: 1 to %lld fit into the time that they may be ahead of the clock",
							 n, (long long) (minter->max_ahead_ticks >= PG_INT64_MAX >> minter->sequence_bits
											 ? PG_INT64_MAX
											 : (minter->max_ahead_ticks + 1) << minter->sequence_bits));
	code = claim(minter, (int64) n, &first, &image, error);
	if (code != FLAKEID_OK)
		return code;
	for (size_t i = 0; i < n; i++)
		ids[i] = id_of(minter, first + (int64) i, image);
	return FLAKEID_OK;
}
