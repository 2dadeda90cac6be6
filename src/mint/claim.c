/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Claiming ids: the minting loop.
 *
 * A slot (see slot.c) holds the last packed value, tick << sequence bits |
 * sequence, that was handed out for a shard.  To claim ids is to
 * compare-and-swap it to a greater one, by these rules:
 *
 *	M1	Every claim begins above the slot's last value.
 *	M2	Every claim begins above the horizon that the server started with.
 *	M3	No claim ends beyond the durable horizon (see horizon.c).
 *	M4	No claim ends more than flakeid.max_ahead ahead of the clock.
 *
 * M1 makes ids unique and ordered whatever the clock does; the clock only
 * decides how far to jump ahead.  M2 and M3 carry that over crashes.  M4 keeps
 * the ids honest about time.  docs/internals/design.md argues with these rules,
 * and those of the other files, and model/ checks them.
 *
 * More ids than a tick has sequence numbers, or a clock that was set back,
 * lead to the same thing: the value runs ahead of the clock.  Adding one to a
 * packed value carries from the sequence into the tick, so nothing special
 * happens until the distance reaches flakeid.max_ahead.
 *
 * A layout without time has no M4, and every claim begins one above the last.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/xact.h"
#include "common/pg_prng.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "mint/claim.h"
#include "mint/entry.h"
#include "mint/horizon.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "settings.h"
#include "storage/latch.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/*
 * Waits shorter than this sleep by the microsecond.  WaitLatch() counts in
 * milliseconds, which would waste part of every tick of a session that mints
 * as fast as its layout allows.
 */
#define SHORT_WAIT_US		1500

/* Look at the clock at least this often: it may be set while we wait. */
#define LONGEST_SLEEP_US	1000000

/*
 * A clock behind an earlier reading by less than this is not counted as a
 * step back: sessions read it, are preempted and compare, in any order.
 */
#define STEP_BACK_US		10000

/*
 * CLOCK_REALTIME_COARSE is behind the clock by up to one tick of the kernel's
 * timer, 10 ms at the most; take it to be twice that.
 */
#define ROUGH_LAG_US		INT64CONST(20000)

/* What to show in pg_stat_activity while waiting for the clock. */
static uint32
clock_wait_event(void)
{
#if PG_VERSION_NUM >= 170000
	static uint32 event = 0;

	if (event == 0)
		event = WaitEventExtensionNew("FlakeidClock");
	return event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

/*
 * How many ids this session has taken from which slot without having added
 * them to slot->issued.  Only with another slot's turn, and at the end of the
 * transaction, are they added: a second atomic operation on each id would
 * cost a twentieth of the whole.
 */
static Slot *counted_slot = NULL;
static uint64 counted_ids = 0;

void
flake_claim_flush_count(void)
{
	if (counted_ids > 0)
		pg_atomic_fetch_add_u64(&counted_slot->issued, (int64) counted_ids);
	counted_ids = 0;
	counted_slot = NULL;
}

static inline void
count_issued(Slot *slot, int64 n)
{
	if (unlikely(slot != counted_slot))
	{
		flake_claim_flush_count();
		counted_slot = slot;
	}
	counted_ids += n;
}

static void
transaction_ends(XactEvent event, void *arg)
{
	flake_claim_flush_count();
}

/*
 * With a subtransaction that is undone the generator may go that counted_slot is
 * of, and its slots with the next look-up.
 */
static void
subtransaction_ends(SubXactEvent event, SubTransactionId subid,
					SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		flake_claim_flush_count();
}

void
flake_claim_init(void)
{
	RegisterSubXactCallback(subtransaction_ends, NULL);
	RegisterXactCallback(transaction_ends, NULL);
}

static int64
microseconds_since(instr_time started)
{
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, started);
	return (int64) INSTR_TIME_GET_MICROSEC(elapsed);
}

/* How long so many ticks last; as long as int64 can say if that is too long. */
static int64
ticks_us(const FlakeLayout *layout, int64 ticks)
{
	int64		us;

	if (pg_mul_s64_overflow(ticks, layout->unit_us, &us))
		return PG_INT64_MAX;
	return us;
}

/* Sleeps about us microseconds, and not much longer than 1 s. */
static void
sleep_for_clock(int64 us)
{
	if (us <= SHORT_WAIT_US)
	{
		pgstat_report_wait_start(clock_wait_event());
		pg_usleep((long) us);
		pgstat_report_wait_end();
	}
	else if (WaitLatch(MyLatch,
					   WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					   (long) (Min(us, LONGEST_SLEEP_US) / 1000),
					   clock_wait_event()) & WL_LATCH_SET)
		ResetLatch(MyLatch);
}

/*
 * Waits until a claim from first to end, packed values, might respect M4, or
 * as long as one sleep lasts.  *waiting_since is zero on the first call for a
 * claim, and kept from call to call.  ERROR if the claim could not respect M4
 * within flakeid.max_wait.
 */
static void
wait_for_clock(Slot *slot, const FlakeLayout *layout, int64 first, int64 end,
			   TimestampTz now, instr_time *waiting_since)
{
	int64		now_tick = flake_layout_tick_at(layout, now);
	int64		end_tick = flake_layout_packed_tick(layout, end);
	int64		ahead_us = ticks_us(layout, end_tick - now_tick);
	int64		n = end - first + 1;
	int64		span_us = ticks_us(layout, flake_layout_packed_tick(layout, n - 1));
	int64		waited_us = 0;
	int64		excess_us;
	instr_time	sleep_started;

	/* M4 counts whole ticks.  Of the present one a part is over. */
	excess_us = ahead_us - flake_max_ahead_us / layout->unit_us * layout->unit_us -
		(now - layout->epoch - now_tick * layout->unit_us);

	/* From the start of a tick they would end in so much later a tick. */
	if (span_us > flake_max_ahead_us)
	{
		pg_atomic_fetch_add_u64(&slot->refused, 1);
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("cannot claim %lld ids at once",
						(long long) n),
				 errdetail("They would take up %s of the layout's time, and \"flakeid.max_ahead\" allows %s.",
						   flake_duration(span_us), flake_duration(flake_max_ahead_us)),
				 errhint("Ask for fewer ids at once, or for ids of several shards.")));
	}

	INSTR_TIME_SET_CURRENT(sleep_started);
	if (!INSTR_TIME_IS_ZERO(*waiting_since))
		waited_us = microseconds_since(*waiting_since);
	if (excess_us > flake_max_wait_us - waited_us)
	{
		pg_atomic_fetch_add_u64(&slot->refused, 1);
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 n == 1
				 ? errmsg("the clock is %s behind the next id of shard %d",
						  flake_duration(ahead_us), slot->key.shard)
				 : errmsg("the clock is %s behind the last of %lld ids of shard %d",
						  flake_duration(ahead_us), (long long) n, slot->key.shard),
				 errdetail("An id may be %s ahead of the clock (\"flakeid.max_ahead\"), and waiting another %s for the clock would exceed %s (\"flakeid.max_wait\").",
						   flake_duration(flake_max_ahead_us), flake_duration(excess_us),
						   flake_duration(flake_max_wait_us)),
				 errhint("If the clock was set back, correct it, or wait until it has caught up. If it is right and far behind, it was ahead when ids were minted: see flake_rewind(). Else more ids are wanted than one shard has; use more shards.")));
	}

	if (INSTR_TIME_IS_ZERO(*waiting_since))
	{
		*waiting_since = sleep_started;
		pg_atomic_fetch_add_u64(&slot->waits, 1);
	}
	sleep_for_clock(excess_us);
	pg_atomic_fetch_add_u64(&slot->wait_us, microseconds_since(sleep_started));
	CHECK_FOR_INTERRUPTS();
}

/*
 * Counts the clock being behind what a session has seen before.  The reading
 * that led here may merely be old, so take a new one: it is later than the
 * one in the slot unless the clock was set back.  Whoever swaps that one for
 * the new reading counts, so that a step is counted once.  (Twice, if a session
 * that has just claimed ids is stopped before it notes an older reading.)
 */
static void
note_clock_behind(Slot *slot)
{
	uint64		seen = pg_atomic_read_u64(&slot->seen);

	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();

		if (now >= (TimestampTz) seen - STEP_BACK_US)
			break;
		if (pg_atomic_compare_exchange_u64(&slot->seen, &seen, (uint64) now))
		{
			pg_atomic_fetch_add_u64(&slot->clock_steps_back, 1);
			break;
		}
	}
}

/* The first sequence number of a tick under start=random. */
static int64
random_start(const FlakeLayout *layout)
{
	uint64		largest = layout->random_below > 0
	? (uint64) layout->random_below - 1
	: (uint64) flake_layout_max_sequence(layout);

	return (int64) pg_prng_uint64_range(&pg_global_prng_state, 0, largest);
}

/* The packed value that a claim of n begins with, by M1 and the clock. */
static inline int64
first_after(const FlakeLayout *layout, int64 last, int64 now_tick, int64 n)
{
	int64		sequence = 0;

	if (now_tick <= flake_layout_packed_tick(layout, last))
		return last + 1;

	/*
	 * A new tick.  Where its sequence starts is the layout's choice, unless
	 * that would make the claim run into the next tick.
	 */
	if (layout->start == FLAKE_START_CONTINUE)
		sequence = (last + 1) & flake_layout_max_sequence(layout);
	else if (layout->start == FLAKE_START_RANDOM)
		sequence = random_start(layout);
	if ((uint64) sequence + (uint64) (n - 1) > (uint64) flake_layout_max_sequence(layout))
		sequence = 0;
	return flake_layout_pack(layout, now_tick, sequence);
}

int64
flake_claim_next(const FlakeLayout *layout, int64 last, int64 tick)
{
	return first_after(layout, last, tick, 1);
}

/*
 * Reads the clock for a claim above a packed value.
 *
 * While a slot runs ahead of the clock, the claim will begin one above that
 * value whatever the time is, and only M4 needs the time, which an older
 * reading makes stricter.  So a rough one will do, at a fifth of the cost.
 * Should it be older than expected, the ids' time is a little in the past.
 */
static bool running_ahead = false;

static inline TimestampTz
read_clock(const FlakeLayout *layout, int64 above)
{
#ifdef CLOCK_REALTIME_COARSE
	if (running_ahead)
	{
		struct timespec rough;
		TimestampTz now;

		clock_gettime(CLOCK_REALTIME_COARSE, &rough);
		now = rough.tv_sec * USECS_PER_SEC + rough.tv_nsec / 1000 -
			(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
		if (flake_layout_packed_tick(layout, above) >
			flake_layout_tick_at(layout, now + ROUGH_LAG_US))
			return now;
		running_ahead = false;
	}
#endif
	return GetCurrentTimestamp();
}

/* What one attempt to claim came to. */
typedef enum Attempt
{
	CLAIMED,
	CLOSED,						/* the shard may be fenced: see shard/fence.c */
	AGAIN,						/* another session or the clock moved */
	TOO_FAR_AHEAD				/* the clock must come nearer first */
} Attempt;

/*
 * The rules of the clock: chooses where a claim of n above a packed value
 * begins.  CLAIMED means that as far as the clock goes the claim may be made.
 */
static pg_attribute_always_inline Attempt
choose_by_clock(Slot *slot, const FlakeLayout *layout, int64 above, int64 n,
				int64 *first, TimestampTz *now)
{
	int64		max_packed = flake_layout_max_packed(layout);
	int64		now_tick,
				end,
				ahead;

	*now = read_clock(layout, above);
	now_tick = flake_layout_tick_at(layout, *now);
	if (unlikely(*now < (TimestampTz) pg_atomic_read_u64(&slot->seen) - STEP_BACK_US))
		note_clock_behind(slot);

	if (unlikely(now_tick > flake_layout_max_tick(layout) ||
				 now_tick < flake_layout_min_tick(layout) ||
				 above >= max_packed))
		flake_lifetime_is_over(layout, now_tick);
	*first = first_after(layout, above, now_tick, n);

	/*
	 * max_packed may be the largest int64, so n - 1 is compared with what is
	 * left: first is not above max_packed, and the distance fits a uint64.
	 */
	if (unlikely((uint64) max_packed - (uint64) *first < (uint64) (n - 1)))
		flake_lifetime_is_over(layout, now_tick);
	end = *first + (n - 1);

	/* M4 */
	ahead = flake_layout_packed_tick(layout, end) - now_tick;
	if (unlikely(ahead > 0))
	{
		int64		ahead_us = ticks_us(layout, ahead);

		if (ahead_us > flake_max_ahead_us)
		{
			if (!running_ahead)
				return TOO_FAR_AHEAD;
			running_ahead = false;	/* look at the exact clock first */
			return AGAIN;
		}
		running_ahead = ahead_us > 2 * ROUGH_LAG_US;
	}
	return CLAIMED;
}

/*
 * Tries once to claim n packed values.  Sets *first to the first of them, and
 * if the clock is in the way *first and *now for wait_for_clock().
 */
static pg_attribute_always_inline Attempt
try_claim(Slot *slot, const FlakeLayout *layout, HorizonRef *horizon, int64 n,
		  int64 *first, TimestampTz *now)
{
	uint64		last = pg_atomic_read_u64(&slot->last);
	int64		above;
	int64		end,
				margin;

	if (unlikely((int64) last == FLAKE_PACKED_NONE))
		return CLOSED;

	/* A slot that has just been opened is raised by nothing but the floor. */
	pg_read_barrier();
	above = Max((int64) last, flake_horizon_floor(horizon));

	/* M1, M2 */
	*now = 0;
	if (likely(flake_layout_has_time(layout)))
	{
		Attempt		attempt = choose_by_clock(slot, layout, above, n, first, now);

		if (unlikely(attempt != CLAIMED))
			return attempt;
	}
	else
	{
		/* A floor below all ids is somebody's setval(). */
		if (unlikely(above < flake_layout_min_packed(layout)))
			above = flake_layout_min_packed(layout) - 1;
		if (above > flake_layout_max_packed(layout) - n)
			flake_lifetime_is_over(layout, 0);
		*first = above + 1;
	}
	end = *first + (n - 1);

	/*
	 * M3.  With little of the window left, extend it if that needs no waiting
	 * for others, who are probably doing the same.
	 */
	margin = flake_horizon_margin(horizon, end);
	if (unlikely(margin < horizon->reserve) &&
		flake_horizon_extend(horizon, end, slot))
		return AGAIN;

	/* M1: if another session was faster, its value is the new last. */
	if (unlikely(!pg_atomic_compare_exchange_u64(&slot->last, &last, (uint64) end)))
		return AGAIN;

	/* The ids are ours, and nothing can fail any more. */
	pg_atomic_write_u64(&slot->seen, (uint64) *now);
	count_issued(slot, n);
	return CLAIMED;
}

/* Tries until it works.  Apart from the usual case, to keep that one short. */
static pg_noinline bool
claim_patiently(Slot *slot, const FlakeLayout *layout, HorizonRef *horizon,
				int64 n, int64 *first)
{
	instr_time	waiting_since;	/* monotonic: the clock is what we wait for */
	TimestampTz now;

	INSTR_TIME_SET_ZERO(waiting_since);
	for (;;)
	{
		switch (try_claim(slot, layout, horizon, n, first, &now))
		{
			case CLAIMED:
				return true;
			case CLOSED:
				return false;
			case AGAIN:
				CHECK_FOR_INTERRUPTS();
				break;
			case TOO_FAR_AHEAD:
				wait_for_clock(slot, layout, *first, *first + (n - 1), now,
							   &waiting_since);
				break;
		}
	}
}

bool
flake_claim(Slot *slot, const FlakeLayout *layout, HorizonRef *horizon,
			int64 n, int64 *first)
{
	TimestampTz now;

	Assert(n > 0);
	if (likely(try_claim(slot, layout, horizon, n, first, &now) == CLAIMED))
		return true;
	return claim_patiently(slot, layout, horizon, n, first);
}
