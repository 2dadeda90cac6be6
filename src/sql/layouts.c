/*-------------------------------------------------------------------------
 *
 * layouts.c
 *	  SQL functions about layouts: the list of presets, what a layout holds,
 *	  one with an earlier epoch, and shard numbers out of their parts.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/layout_type.h"
#include "layout/message.h"
#include "layout/preset.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_layout_preset_list);
PG_FUNCTION_INFO_V1(flake_layout_info);
PG_FUNCTION_INFO_V1(flake_layout_above);
PG_FUNCTION_INFO_V1(flake_shard_number);

#define INFO_COLUMNS	5
#define PRESET_COLUMNS	3

/*
 * _flake_layout_preset_list()
 *	returns setof record (name text, layout flake_layout, origin text)
 */
Datum
flake_layout_preset_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (const FlakePreset *preset = flake_presets; preset->name != NULL; preset++)
	{
		FlakeLayout layout = flake_preset_layout(preset);
		Datum		values[PRESET_COLUMNS];
		bool		nulls[PRESET_COLUMNS] = {false};

		values[0] = CStringGetTextDatum(preset->name);
		values[1] = PointerGetDatum(&layout);
		values[2] = CStringGetTextDatum(preset->origin);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static Datum
numeric_datum(int64 number)
{
	return NumericGetDatum(int64_to_numeric(number));
}

/* 1 to 2^63, one more than a bigint can be. */
static Datum
ids_per_tick(const FlakeLayout *layout)
{
	return DirectFunctionCall2(numeric_add,
							   numeric_datum(flake_layout_max_sequence(layout)),
							   numeric_datum(1));
}

/* Exact to some digits, and without zeros at the end. */
static Datum
ids_per_second(const FlakeLayout *layout)
{
	Datum		product = DirectFunctionCall2(numeric_mul, ids_per_tick(layout),
											  numeric_datum(USECS_PER_SEC));
	Datum		quotient = DirectFunctionCall2(numeric_div, product,
											   numeric_datum(layout->unit_us));

	return DirectFunctionCall1(numeric_trim_scale, quotient);
}

/*
 * flake_layout_info(layout flake_layout)
 *	returns record (shards bigint, ids_per_tick numeric,
 *	ids_per_second numeric, starts timestamptz, ends timestamptz)
 *
 * Of a layout without time all but shards are NULL.
 */
Datum
flake_layout_info(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(0);
	TupleDesc	desc;
	Datum		values[INFO_COLUMNS];
	bool		nulls[INFO_COLUMNS] = {false, true, true, true, true};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	values[0] = Int64GetDatum((int64) flake_layout_max_shard(layout) + 1);
	if (flake_layout_has_time(layout))
	{
		TimestampTz starts = DT_NOBEGIN;
		TimestampTz ends = DT_NOEND;

		(void) flake_layout_tick_start(layout, flake_layout_first_tick(layout),
									   &starts);
		(void) flake_layout_tick_start(layout, flake_layout_max_tick(layout) + 1,
									   &ends);
		values[1] = ids_per_tick(layout);
		values[2] = ids_per_second(layout);
		values[3] = TimestampTzGetDatum(starts);
		values[4] = TimestampTzGetDatum(ends);
		memset(nulls, false, sizeof(nulls));
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/*
 * flake_layout_above(layout flake_layout, id bigint, reserve interval)
 *	returns flake_layout
 *
 * Moves the epoch, so that the present's tick is greater than that of id by the
 * reserve, unless it is already and the present is in the layout's lifetime.
 */
Datum
flake_layout_above(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(0);
	int64		id = PG_GETARG_INT64(1);
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz reserved = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
																   TimestampTzGetDatum(now),
																   PG_GETARG_DATUM(2)));
	FlakeLayout *above = palloc(sizeof(FlakeLayout));
	char		text[FLAKE_LAYOUT_TEXT_LEN];
	FlakeLayoutError error;
	int64		reserve_us;
	int64		wanted_tick;
	int64		now_tick;
	int64		elapsed_us;

	if (!flake_layout_has_time(layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("layout \"%s\" has no time", flake_layout_name(layout)),
				 errhint("Let a generator begin above an id with flake_create_generator(name, layout, after).")));
	if (flake_layout_is_uuid(layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epoch of layout \"%s\" cannot be moved",
						flake_layout_name(layout)),
				 errdetail("The time of UUIDs counts from 1970."),
				 errhint("Let a generator begin above an id with flake_create_generator(name, layout, after).")));
	if (TIMESTAMP_NOT_FINITE(reserved) || reserved < now)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("reserve must be finite and not negative")));

	/* In the tick after that of id, every id is greater. */
	if (pg_sub_s64_overflow(reserved, now, &reserve_us) ||
		pg_add_s64_overflow(reserve_us, layout->unit_us - 1, &reserve_us) ||
		pg_add_s64_overflow(flake_layout_tick(layout, id) + 1,
							reserve_us / layout->unit_us, &wanted_tick))
		wanted_tick = PG_INT64_MAX; /* no layout has it */
	wanted_tick = Max(wanted_tick, flake_layout_min_tick(layout));
	now_tick = flake_layout_tick_at(layout, now);
	*above = *layout;
	if (now_tick < wanted_tick || now_tick > flake_layout_max_tick(layout))
	{
		/* Whole milliseconds are easier to read; an earlier epoch is as good. */
		if (wanted_tick > flake_layout_max_tick(layout) ||
			pg_mul_s64_overflow(wanted_tick, layout->unit_us, &elapsed_us) ||
			pg_sub_s64_overflow(now, elapsed_us, &above->epoch) ||
			pg_sub_s64_overflow(above->epoch, (above->epoch % 1000 + 1000) % 1000,
								&above->epoch))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("no epoch makes ids of layout \"%s\" exceed %lld by the reserve",
							flake_layout_name(layout), (long long) id),
					 errdetail("Its %d bits of time have no room above it.",
							   layout->time.bits),
					 errhint("Use a layout with more bits of time, or a longer unit.")));
	}

	/* There are epochs that cannot be written. */
	flake_layout_print(above, text);
	if (!flake_layout_parse(text, above, &error))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("epoch is out of range")));
	FLAKE_RETURN_LAYOUT(above);
}

/* The names of the parts of the shard number, for messages. */
static char *
part_names(const FlakeLayout *layout)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < layout->nparts; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", layout->parts[i].name);
	return names.data;
}

/* flake_shard_number(layout flake_layout, VARIADIC parts int[]) returns int */
Datum
flake_shard_number(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(0);
	Datum	   *numbers;
	bool	   *nulls;
	int			count;
	int64		shard = 0;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT4OID, sizeof(int32), true,
					  TYPALIGN_INT, &numbers, &nulls, &count);
	if (count != layout->nparts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("wrong number of parts of the shard number: %d", count),
				 errdetail("Layout \"%s\" has these: %s.",
						   flake_layout_name(layout),
						   layout->nparts > 0 ? part_names(layout) : "none")));

	for (int i = 0; i < count; i++)
	{
		const FlakeField *part = &layout->parts[i];
		int64		max = (INT64CONST(1) << part->bits) - 1;
		int32		number = DatumGetInt32(numbers[i]);

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", part->name)));
		if (number < 0 || number > max)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("%s %d is out of range", part->name, number),
					 errdetail("Layout \"%s\" has %s numbers 0 to %lld.",
							   flake_layout_name(layout), part->name,
							   (long long) max)));
		shard = shard << part->bits | number;
	}
	PG_RETURN_INT32((int32) shard);
}
