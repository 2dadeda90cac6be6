/*-------------------------------------------------------------------------
 *
 * exceed.c
 *	  What ids must be above to exceed an id.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "layout/layout.h"
#include "layout/message.h"
#include "mint/exceed.h"
#include "mint/generator.h"
#include "mint/horizon.h"
#include "mint/horizon_page.h"
#include "settings.h"
#include "utils/timestamp.h"

int64
flake_packed_to_exceed(const FlakeLayout *layout, int64 id, const int64 *image,
					   bool at_once, const char *hint)
{
	int64		packed = image != NULL
	? flake_layout_shard_packed_up_to(layout, id, *image)
	: flake_layout_packed_up_to(layout, id);
	TimestampTz reached = DT_NOEND;
	TimestampTz reachable;

	if (packed == flake_layout_max_packed(layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("not every shard of layout \"%s\" has ids above %lld",
						flake_layout_name(layout), (long long) id),
				 errhint("Use a layout with more bits in front of the shard number.")));
	if (!flake_layout_has_time(layout) || packed == FLAKE_PACKED_NONE)
		return packed;

	reachable = GetCurrentTimestamp() + flake_max_ahead_us + flake_max_wait_us;
	if (!flake_layout_tick_start(layout,
								 flake_layout_packed_tick(layout, at_once ? packed + 1 : packed),
								 &reached) ||
		reached > reachable)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of layout \"%s\" do not exceed %lld at present",
						flake_layout_name(layout), (long long) id),
				 at_once
				 ? errdetail("In this layout an id above it is of %s or later.",
							 timestamptz_to_str(reached))
				 : errdetail("In this layout it is an id of %s.",
							 timestamptz_to_str(reached)),
				 errhint("%s", hint)));
	return packed;
}

void
flake_generator_raise(Generator *generator, int64 above)
{
	int64		min;
	int64		max;

	flake_horizon_bounds(&generator->layout, &min, &max);
	if (above >= min)
		flake_horizon_raise(&generator->horizon, above);
}
