/*-------------------------------------------------------------------------
 *
 * message.c
 *	  What messages say of layouts and durations.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/message.h"
#include "layout/preset.h"
#include "utils/timestamp.h"

char *
flake_layout_name(const FlakeLayout *layout)
{
	char	   *name = palloc(FLAKE_LAYOUT_TEXT_LEN);
	const char *preset = flake_preset_name(layout);

	if (preset != NULL)
		strlcpy(name, preset, FLAKE_LAYOUT_TEXT_LEN);
	else
		flake_layout_print(layout, name);
	return name;
}

void
flake_check_not_uuid(const FlakeLayout *layout)
{
	if (flake_layout_is_uuid(layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of layout \"%s\" are not of type bigint",
						flake_layout_name(layout)),
				 errdetail("They are UUIDs, and their shard is in no bigint."),
				 errhint("Use flake_uuidv7_decode().")));
}

char *
flake_duration(int64 us)
{
	return psprintf("%lld.%03d s", (long long) (us / USECS_PER_SEC),
					(int) (us % USECS_PER_SEC / 1000));
}

char *
flake_long_duration(int64 us)
{
	if (us < 2 * USECS_PER_HOUR)
		return flake_duration(us);
	if (us < 2 * USECS_PER_DAY)
		return psprintf("%.1f hours", (double) us / USECS_PER_HOUR);
	return psprintf("%.1f days", (double) us / USECS_PER_DAY);
}

void
flake_check_has_time(const FlakeLayout *layout)
{
	if (!flake_layout_has_time(layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("layout \"%s\" has no time", flake_layout_name(layout))));
}

void
flake_time_out_of_range(const FlakeLayout *layout, const char *hint)
{
	TimestampTz starts = DT_NOBEGIN;
	TimestampTz ends = DT_NOEND;

	(void) flake_layout_tick_start(layout, flake_layout_first_tick(layout),
								   &starts);
	(void) flake_layout_tick_start(layout, flake_layout_max_tick(layout) + 1,
								   &ends);
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("timestamp is out of range for layout \"%s\"",
					flake_layout_name(layout)),
			 errdetail("Its %d bits of time reach from %s to before %s.",
					   layout->time.bits,
					   pstrdup(timestamptz_to_str(starts)),
					   pstrdup(timestamptz_to_str(ends))),
			 errhint("%s", hint)));
}

void
flake_lifetime_is_over(const FlakeLayout *layout, int64 now_tick)
{
	const char *name = flake_layout_name(layout);
	TimestampTz start = DT_NOBEGIN;
	TimestampTz end = DT_NOEND;

	if (!flake_layout_has_time(layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the numbers of layout \"%s\" are used up", name),
				 errdetail("Its sequence ends at %lld.",
						   (long long) flake_layout_max_sequence(layout)),
				 errhint("If fewer were used, the generator's sequence was set too high, with setval().")));

	(void) flake_layout_tick_start(layout, flake_layout_first_tick(layout), &start);
	(void) flake_layout_tick_start(layout, flake_layout_max_tick(layout) + 1, &end);
	if (now_tick < flake_layout_first_tick(layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the lifetime of layout \"%s\" has not begun", name),
				 errdetail("Its %d bits of time begin at %s.",
						   layout->time.bits, timestamptz_to_str(start)),
				 errhint("Check the server's clock. If it is right, ids must come from a layout with an earlier epoch.")));
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("the lifetime of layout \"%s\" is over", name),
			 now_tick > flake_layout_max_tick(layout)
			 ? errdetail("Its %d bits of time end at %s.",
						 layout->time.bits, timestamptz_to_str(end))
			 : errdetail("Its %d bits of time end at %s, and although the clock is before that, ids are used up to there.",
						 layout->time.bits, timestamptz_to_str(end)),
			 now_tick > flake_layout_max_tick(layout)
			 ? errhint("Check the server's clock. If it is right, ids must come from a layout with a later epoch.")
			 : errhint("Either the clock was wrong, or the generator's sequence was set too high, with setval().")));
}
