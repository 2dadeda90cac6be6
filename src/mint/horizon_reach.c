/*-------------------------------------------------------------------------
 *
 * horizon_reach.c
 *	  How far a horizon goes, and where it begins.
 *
 * H4 (see horizon.c) is kept here.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "mint/horizon_page.h"
#include "mint/horizon_reach.h"
#include "settings.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

/* How far ahead of what was handed out the horizon of a layout with time is. */
#define HORIZON_WINDOW_US	(5 * USECS_PER_SEC)

/*
 * H4: how far the horizon may be past what can be claimed.  Three quarters of it
 * are used up between two flushes of a shard that is held at its limit: that
 * makes 5.3 in a second.  With less there would be more.
 */
#define HORIZON_SLACK_US	(250 * INT64CONST(1000))

/* That and a tick are not longer than this, or it is a tick and no slack. */
#define RESTART_WAIT_US		(300 * INT64CONST(1000))

int64
flake_horizon_window(const FlakeLayout *layout)
{
	int64		ticks;

	if (!flake_layout_has_time(layout))
		return layout->block;

	/* Of a long tick a part is enough. */
	if (layout->unit_us > HORIZON_WINDOW_US)
		return Max(flake_layout_max_sequence(layout) /
				   (layout->unit_us / HORIZON_WINDOW_US), 1);

	/* Of a layout that cannot hold as much, a tenth. */
	ticks = Min(HORIZON_WINDOW_US / layout->unit_us,
				flake_layout_max_tick(layout) / 10);
	return Max(flake_layout_pack(layout, ticks, 0), 1);
}

int64
flake_horizon_claimable_up_to(const FlakeLayout *layout, TimestampTz now)
{
	int64		slack_us = Min(HORIZON_SLACK_US, RESTART_WAIT_US - layout->unit_us);
	int64		tick = flake_layout_tick_at(layout, now);

	if (tick < flake_layout_min_tick(layout))
		return FLAKE_PACKED_NONE;
	if (pg_add_s64_overflow(tick, flake_max_ahead_us / layout->unit_us +
							Max(slack_us, 0) / layout->unit_us, &tick) ||
		tick > flake_layout_max_tick(layout))
		return flake_layout_max_packed(layout);
	return flake_layout_pack(layout, tick, flake_layout_max_sequence(layout));
}

int64
flake_horizon_first_floor(const FlakeLayout *layout, TimestampTz now)
{
	int64		min;
	int64		max;
	int64		tick;

	flake_horizon_bounds(layout, &min, &max);
	if (!flake_layout_has_time(layout))
		return min - 1;
	tick = flake_layout_tick_at(layout, now);
	if (tick < flake_layout_min_tick(layout) ||
		tick > flake_layout_max_tick(layout))
		return min - 1;
	return Max(flake_layout_pack(layout, tick, 0), min) - 1;
}

int64
flake_horizon_last_tick(const FlakeLayout *layout, TimestampTz now)
{
	int64		tick = flake_layout_tick_at(layout, now);

	if (tick < flake_layout_min_tick(layout))
		return FLAKE_PACKED_NONE;
	if (tick > flake_layout_max_tick(layout))
		return flake_layout_max_packed(layout);
	return flake_layout_pack(layout, tick, 0) - 1;
}

void
flake_horizon_warn_if_ahead(const FlakeLayout *layout, Oid sequence, int64 found)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz ahead;

	if (!flake_layout_has_time(layout) || found <= flake_horizon_claimable_up_to(layout, now) ||
		!flake_layout_tick_start(layout, flake_layout_packed_tick(layout, found), &ahead))
		return;
	ereport(WARNING,
			(errmsg("the horizon of generator \"%s\" is %s ahead of the clock",
					get_rel_name(sequence), flake_long_duration(ahead - now)),
			 errdetail("Ids go on above it, and may be %s ahead of the clock (\"flakeid.max_ahead\").",
					   flake_duration(flake_max_ahead_us)),
			 errhint("If the clock is behind, correct it. If it is right, it was ahead when ids were minted: see flake_rewind().")));
}
