/*-------------------------------------------------------------------------
 *
 * mint.c
 *	  SQL functions that mint ids.  The work is done in mint/claim.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "miscadmin.h"
#include "settings.h"
#include "shard/fence.h"
#include "tcop/utility.h"

PG_FUNCTION_INFO_V1(flake_id);
PG_FUNCTION_INFO_V1(flake_id_of_generator);
PG_FUNCTION_INFO_V1(flake_id_of_setting);
PG_FUNCTION_INFO_V1(flake_ids);
PG_FUNCTION_INFO_V1(flake_sibling);
PG_FUNCTION_INFO_V1(flake_last_id);

/* The last id that this session minted, for flake_last_id(). */
static int64 last_id;
static bool has_last_id = false;

/* ERROR where nextval() would be one, too. */
static inline void
check_may_write(const char *function_name)
{
	if (unlikely(XactReadOnly))
		PreventCommandIfReadOnly(function_name);
}

/* Mints one id. */
static inline int64
mint(Generator *generator, int32 shard, Oid function)
{
	const GeneratorSlot *slot = flake_generator_slot(generator, shard);
	int64		packed = flake_shard_claim(generator, slot, 1, function);

	last_id = flake_layout_id(&generator->layout, packed, slot->image);
	has_last_id = true;
	return last_id;
}

/* flake_id(shard int) returns bigint */
Datum
flake_id(PG_FUNCTION_ARGS)
{
	check_may_write("flake_id()");
	PG_RETURN_INT64(mint(flake_generator_builtin(FLAKE_DEFAULT,
												 fcinfo->flinfo->fn_oid),
						 PG_GETARG_INT32(0), fcinfo->flinfo->fn_oid));
}

/* flake_id(shard int, generator regclass) returns bigint */
Datum
flake_id_of_generator(PG_FUNCTION_ARGS)
{
	check_may_write("flake_id()");
	PG_RETURN_INT64(mint(flake_generator_get(PG_GETARG_OID(1),
											 fcinfo->flinfo->fn_oid),
						 PG_GETARG_INT32(0), fcinfo->flinfo->fn_oid));
}

/* flake_id() returns bigint */
Datum
flake_id_of_setting(PG_FUNCTION_ARGS)
{
	Generator  *generator;

	check_may_write("flake_id()");

	/* First: to get it ready brings news of what tells the shard. */
	generator = flake_generator_builtin(FLAKE_DEFAULT, fcinfo->flinfo->fn_oid);
	PG_RETURN_INT64(mint(generator, flake_shard_of_server(&generator->layout),
						 fcinfo->flinfo->fn_oid));
}

/* flake_sibling(id bigint, generator regclass) returns bigint */
Datum
flake_sibling(PG_FUNCTION_ARGS)
{
	Generator  *generator;

	check_may_write("flake_sibling()");
	generator = flake_generator_get(PG_GETARG_OID(1), fcinfo->flinfo->fn_oid);
	PG_RETURN_INT64(mint(generator,
						 flake_layout_shard(&generator->layout,
											PG_GETARG_INT64(0)),
						 fcinfo->flinfo->fn_oid));
}

/* What flake_ids() has claimed and goes on returning. */
typedef struct IdRange
{
	FlakeLayout layout;
	int64		first;			/* packed */
	int64		image;
} IdRange;

/* flake_ids(shard int, count int, generator regclass) returns setof bigint */
Datum
flake_ids(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	IdRange    *range;

	if (SRF_IS_FIRSTCALL())
	{
		int32		count = PG_GETARG_INT32(1);
		Generator  *generator;
		const GeneratorSlot *slot;

		check_may_write("flake_ids()");
		if (count < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("number of ids must not be negative"),
					 errdetail("The number given is %d.", count),
					 errhint("Ask for 0 or more ids.")));

		context = SRF_FIRSTCALL_INIT();
		range = MemoryContextAlloc(context->multi_call_memory_ctx,
								   sizeof(IdRange));
		context->user_fctx = range;
		context->max_calls = count;

		generator = flake_generator_get(PG_GETARG_OID(2),
										fcinfo->flinfo->fn_oid);
		slot = flake_generator_slot(generator, PG_GETARG_INT32(0));
		range->layout = generator->layout;
		range->image = slot->image;
		if (count > 0)
		{
			range->first = flake_shard_claim(generator, slot, count,
											 fcinfo->flinfo->fn_oid);
			last_id = flake_layout_id(&range->layout, range->first + (count - 1),
									  range->image);
			has_last_id = true;
		}
	}

	context = SRF_PERCALL_SETUP();
	range = context->user_fctx;
	if (context->call_cntr < context->max_calls)
	{
		int64		id = flake_layout_id(&range->layout,
										 range->first + (int64) context->call_cntr,
										 range->image);

		SRF_RETURN_NEXT(context, Int64GetDatum(id));
	}
	SRF_RETURN_DONE(context);
}

/* flake_last_id() returns bigint */
Datum
flake_last_id(PG_FUNCTION_ARGS)
{
	if (!has_last_id)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("flake_last_id is not yet defined in this session"),
				 errdetail("No id has been minted in it."),
				 errhint("Call flake_id() first.")));
	PG_RETURN_INT64(last_id);
}
