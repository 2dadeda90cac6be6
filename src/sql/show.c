/*-------------------------------------------------------------------------
 *
 * show.c
 *	  SQL functions that show the layout and the horizon of a generator.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "layout/layout.h"
#include "layout/layout_type.h"
#include "mint/definition.h"
#include "mint/horizon_page.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_layout_of);
PG_FUNCTION_INFO_V1(flake_horizon);
PG_FUNCTION_INFO_V1(flake_horizon_time);

/* flake_layout_of(generator regclass) returns flake_layout */
Datum
flake_layout_of(PG_FUNCTION_ARGS)
{
	FlakeLayout *layout = palloc(sizeof(FlakeLayout));

	(void) flake_generator_layout(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid,
								  false, layout);
	FLAKE_RETURN_LAYOUT(layout);
}

/*
 * The largest id that a generator may have handed out, in its layout.  False if
 * there is none yet, if the user may not see it, and if there is no such
 * generator any more: views ask for all that they find.
 */
static bool
get_horizon(Oid sequence, Oid function, FlakeLayout *layout, int64 *id)
{
	int64		packed;
	bool		found;

	LockRelationOid(sequence, RowExclusiveLock);
	found = flake_generator_layout(sequence, function, true, layout) &&
		pg_class_aclcheck(sequence, GetUserId(), FLAKE_READ_PRIVILEGES) == ACLCHECK_OK &&
		flake_horizon_read(sequence, &packed);
	UnlockRelationOid(sequence, RowExclusiveLock);
	if (!found)
		return false;

	/* setval() allows more than the layout does. */
	packed = Max(packed, flake_layout_min_packed(layout));
	packed = Min(packed, flake_layout_max_packed(layout));
	*id = flake_layout_last_id(layout, packed);
	return true;
}

/* flake_horizon(generator regclass) returns bigint */
Datum
flake_horizon(PG_FUNCTION_ARGS)
{
	FlakeLayout layout;
	int64		id;

	if (!get_horizon(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid, &layout, &id))
		PG_RETURN_NULL();
	PG_RETURN_INT64(id);
}

/* flake_horizon_time(generator regclass) returns timestamptz */
Datum
flake_horizon_time(PG_FUNCTION_ARGS)
{
	FlakeLayout layout;
	int64		id;
	TimestampTz ts;

	if (!get_horizon(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid, &layout, &id) ||
		!flake_layout_has_time(&layout) ||
		!flake_layout_tick_start(&layout, flake_layout_tick(&layout, id), &ts))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(ts);
}
