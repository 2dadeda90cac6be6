/*-------------------------------------------------------------------------
 *
 * health.c
 *	  What the view flake_health looks at, but for partitions.
 *
 * It is for people who want to know what is wrong, and so it must not fail nor
 * hang because something is: an object that was dropped meanwhile is left out, and
 * a lock that another session may keep is not waited for.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/generator.h"
#include "mint/horizon_page.h"
#include "mint/version.h"
#include "miscadmin.h"
#include "settings.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_health_settings);
PG_FUNCTION_INFO_V1(flake_health_horizon);

/* The row of a function that returns a record. */
static Datum
make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/*
 * _flake_health_settings(OUT max_ahead interval, OUT require_attach boolean,
 *	OUT library_version text)
 *
 * Settings as they are, whether or not this session has loaded the library before,
 * and the version of the SQL objects that the library is for.
 */
Datum
flake_health_settings(PG_FUNCTION_ARGS)
{
	Interval   *max_ahead = palloc0(sizeof(Interval));
	Datum		values[3];
	bool		nulls[3] = {false};

	max_ahead->time = flake_max_ahead_us;
	values[0] = IntervalPGetDatum(max_ahead);
	values[1] = BoolGetDatum(flake_require_attach);
	values[2] = CStringGetTextDatum(FLAKE_VERSION);
	return make_row(fcinfo, values, nulls);
}

/*
 * _flake_health_horizon(generator regclass, OUT horizon_time timestamptz,
 *	OUT hidden text)
 *
 * The time in a generator's horizon, or why it cannot be seen: 'privilege' or
 * 'lock'.  Both are null for what is no generator (any more), and if there is no
 * horizon yet.  The time is infinity where timestamptz cannot hold it: a layout begins
 * where it can.
 */
Datum
flake_health_horizon(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	FlakeLayout layout;
	int64		packed;
	TimestampTz ts = 0;
	const char *hidden = NULL;
	bool		found = false;
	Datum		values[2] = {0};
	bool		nulls[2];

	if (!ConditionalLockRelationOid(sequence, RowExclusiveLock))
		hidden = "lock";
	else
	{
		if (flake_generator_layout(sequence, fcinfo->flinfo->fn_oid, true, &layout) &&
			flake_layout_has_time(&layout))
		{
			if (pg_class_aclcheck(sequence, GetUserId(), FLAKE_READ_PRIVILEGES) != ACLCHECK_OK)
				hidden = "privilege";
			else if (!flake_horizon_try_read(sequence, PAGE_BRIEFLY, &packed))
				hidden = "lock";
			else if (packed != FLAKE_PACKED_NONE)
			{
				/* setval() allows more than the layout does. */
				packed = Max(packed, flake_layout_min_packed(&layout));
				packed = Min(packed, flake_layout_max_packed(&layout));
				found = true;
				if (!flake_layout_tick_start(&layout,
											 flake_layout_packed_tick(&layout, packed), &ts))
					TIMESTAMP_NOEND(ts);
			}
		}
		UnlockRelationOid(sequence, RowExclusiveLock);
	}

	nulls[0] = !found;
	values[0] = TimestampTzGetDatum(ts);
	nulls[1] = hidden == NULL;
	if (hidden != NULL)
		values[1] = CStringGetTextDatum(hidden);
	return make_row(fcinfo, values, nulls);
}
