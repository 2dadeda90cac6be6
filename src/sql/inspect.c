/*-------------------------------------------------------------------------
 *
 * inspect.c
 *	  SQL functions that look inside ids and compose them.  All of them are
 *	  immutable: they depend on nothing but their arguments.
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
#include "layout/layout_type.h"
#include "layout/message.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_timestamp);
PG_FUNCTION_INFO_V1(flake_shard_of);
PG_FUNCTION_INFO_V1(flake_sequence);
PG_FUNCTION_INFO_V1(flake_decode);
PG_FUNCTION_INFO_V1(flake_fields);
PG_FUNCTION_INFO_V1(flake_explain);
PG_FUNCTION_INFO_V1(flake_make);
PG_FUNCTION_INFO_V1(flake_floor);
PG_FUNCTION_INFO_V1(flake_lower);
PG_FUNCTION_INFO_V1(flake_upper);
PG_FUNCTION_INFO_V1(flake_width);

/* The instant at which an id's tick starts; the layout has time. */
static TimestampTz
id_timestamp(const FlakeLayout *layout, int64 id)
{
	TimestampTz ts;

	if (!flake_layout_tick_start(layout, flake_layout_tick(layout, id), &ts))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	return ts;
}

/*
 * flake_timestamp(id bigint, layout flake_layout) returns timestamptz
 *
 * NULL if the layout has no time.
 */
Datum
flake_timestamp(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);

	if (!flake_layout_has_time(layout))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(id_timestamp(layout, PG_GETARG_INT64(0)));
}

/* flake_shard(id bigint, layout flake_layout) returns int */
Datum
flake_shard_of(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);

	flake_check_not_uuid(layout);
	PG_RETURN_INT32(flake_layout_shard(layout, PG_GETARG_INT64(0)));
}

/* flake_sequence(id bigint, layout flake_layout) returns bigint */
Datum
flake_sequence(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(flake_layout_sequence(FLAKE_GETARG_LAYOUT(1),
										  PG_GETARG_INT64(0)));
}

/*
 * flake_decode(id bigint, layout flake_layout)
 *	returns record (ts, shard, sequence)
 *
 * ts is NULL if the layout has no time.
 */
Datum
flake_decode(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	flake_check_not_uuid(layout);
	if (flake_layout_has_time(layout))
		values[0] = TimestampTzGetDatum(id_timestamp(layout, id));
	else
		nulls[0] = true;
	values[1] = Int32GetDatum(flake_layout_shard(layout, id));
	values[2] = Int64GetDatum(flake_layout_sequence(layout, id));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* An id's field as a number: the time with its sign. */
static int64
field_number(const FlakeLayout *layout, const FlakeField *field, int64 id)
{
	return field == &layout->time ? flake_layout_tick(layout, id)
		: flake_layout_field(field, id);
}

/*
 * Appends an instant in ISO format and UTC, with T between date and time or a
 * blank, and the name of the zone: what is immutable must not depend on
 * settings.  A year BC is one where timestamptz's input looks for that: last.
 */
static void
append_utc(StringInfo text, TimestampTz ts, int style, const char *zone)
{
	static const char bc[] = " BC";
	struct pg_tm tm;
	fsec_t		fsec;
	char		utc[MAXDATELEN + 1];
	bool		is_bc;

	if (timestamp2tm(ts, NULL, &tm, &fsec, NULL, NULL) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	EncodeDateTime(&tm, fsec, false, 0, NULL, style, utc);
	is_bc = tm.tm_year <= 0;
	if (is_bc)
		utc[strlen(utc) - strlen(bc)] = '\0';
	appendStringInfo(text, "%s%s%s", utc, zone, is_bc ? bc : "");
}

/*
 * flake_fields(id bigint, layout flake_layout) returns jsonb
 *
 * Each field under its name, and if there is time, "timestamp".
 */
Datum
flake_fields(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	const FlakeField *fields[FLAKE_MAX_FIELDS];
	int			nfields = flake_layout_fields(layout, fields);
	StringInfoData json;

	flake_check_not_uuid(layout);

	/* The names of fields need no escapes. */
	initStringInfo(&json);
	for (int i = 0; i < nfields; i++)
		appendStringInfo(&json, "%s\"%s\": " INT64_FORMAT,
						 i == 0 ? "{" : ", ", fields[i]->name,
						 field_number(layout, fields[i], id));
	if (flake_layout_has_time(layout))
	{
		appendStringInfoString(&json, ", \"timestamp\": \"");
		append_utc(&json, id_timestamp(layout, id), USE_XSD_DATES, "Z");
		appendStringInfoChar(&json, '"');
	}
	appendStringInfoChar(&json, '}');
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}

/* Appends text, and blanks to make it width characters and a separator. */
static void
append_column(StringInfo line, const char *text, int width)
{
	appendStringInfo(line, "%-*s ", width, text);
}

static void
strip_trailing_blanks(StringInfo line)
{
	while (line->len > 0 && line->data[line->len - 1] == ' ')
		line->data[--line->len] = '\0';
}

/*
 * flake_explain(id bigint, layout flake_layout) returns text
 *
 * Three lines with a column for each field: its name and width, its bits, and
 * its number; then the time, if there is one, in UTC.
 */
Datum
flake_explain(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	const FlakeField *fields[FLAKE_MAX_FIELDS];
	int			nfields;
	StringInfoData names,
				bits,
				numbers;

	flake_check_not_uuid(layout);
	initStringInfo(&names);
	initStringInfo(&bits);
	initStringInfo(&numbers);

	nfields = flake_layout_fields(layout, fields);
	for (int i = 0; i < nfields; i++)
	{
		const FlakeField *field = fields[i];
		char	   *name_text = psprintf("%s:%d", field->name, field->bits);
		char	   *number_text = psprintf(INT64_FORMAT,
										   field_number(layout, field, id));
		char		bit_text[65];
		int			width;

		for (int bit = 0; bit < field->bits; bit++)
			bit_text[bit] = (uint64) id >> (field->shift + field->bits - 1 - bit) & 1
				? '1' : '0';
		bit_text[field->bits] = '\0';

		width = Max(field->bits, (int) strlen(name_text));
		width = Max(width, (int) strlen(number_text));
		append_column(&names, name_text, width);
		append_column(&bits, bit_text, width);
		append_column(&numbers, number_text, width);
	}
	strip_trailing_blanks(&names);
	strip_trailing_blanks(&bits);
	strip_trailing_blanks(&numbers);
	appendStringInfo(&names, "\n%s\n%s", bits.data, numbers.data);

	if (flake_layout_has_time(layout))
	{
		appendStringInfoChar(&names, '\n');
		append_utc(&names, id_timestamp(layout, id), USE_ISO_DATES, " UTC");
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(names.data, names.len));
}

/* ERROR for a part that an id cannot hold. */
static void
check_part(const FlakeLayout *layout, const char *part, int64 value, int64 max)
{
	if (value < 0 || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s %lld is out of range", part, (long long) value),
				 errdetail("Layout \"%s\" has %s numbers 0 to %lld.",
						   flake_layout_name(layout), part, (long long) max),
				 errhint("Pass a number in this range.")));
}

/* ERROR: an id cannot hold this time. */
pg_noreturn static void
time_out_of_range(const FlakeLayout *layout)
{
	flake_time_out_of_range(layout,
							"For the bounds of a range of ids use flake_lower() and flake_upper(), which accept any timestamp.");
}

/*
 * flake_make(ts timestamptz, shard int, sequence bigint, layout flake_layout)
 *	returns bigint
 */
Datum
flake_make(PG_FUNCTION_ARGS)
{
	TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
	int32		shard = PG_GETARG_INT32(1);
	int64		sequence = PG_GETARG_INT64(2);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(3);
	int64		tick;

	flake_check_not_uuid(layout);
	flake_check_has_time(layout);
	if (TIMESTAMP_NOT_FINITE(ts))
		time_out_of_range(layout);
	tick = flake_layout_tick_at(layout, ts);
	if (tick < flake_layout_first_tick(layout) ||
		tick > flake_layout_max_tick(layout))
		time_out_of_range(layout);
	check_part(layout, "shard", shard, flake_layout_max_shard(layout));
	check_part(layout, "sequence", sequence, flake_layout_max_sequence(layout));

	PG_RETURN_INT64(flake_layout_id(layout,
									flake_layout_pack(layout, tick, sequence),
									flake_layout_shard_image(layout, shard)));
}

/* The smallest id of a tick of the layout's lifetime. */
static int64
first_id(const FlakeLayout *layout, int64 tick)
{
	return flake_layout_id(layout, flake_layout_pack(layout, tick, 0), 0);
}

/* The largest id of all. */
static int64
last_id(const FlakeLayout *layout)
{
	return flake_layout_last_id(layout, flake_layout_max_packed(layout));
}

/*
 * The tick that contains ts, also for infinite ts; outside of the lifetime, the
 * tick next to it.
 */
static int64
tick_at(const FlakeLayout *layout, TimestampTz ts)
{
	int64		before = flake_layout_first_tick(layout) - 1;
	int64		after = flake_layout_max_tick(layout) + 1;
	int64		tick;

	if (TIMESTAMP_IS_NOBEGIN(ts))
		return before;
	if (TIMESTAMP_IS_NOEND(ts))
		return after;
	tick = flake_layout_tick_at(layout, ts);
	return Min(Max(tick, before), after);
}

/*
 * _flake_floor(ts timestamptz, layout flake_layout) returns bigint: the smallest
 * id of the tick that contains ts, of which ids can be minted then
 */
Datum
flake_floor(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	int64		tick;

	flake_check_has_time(layout);
	tick = tick_at(layout, PG_GETARG_TIMESTAMPTZ(0));
	if (tick > flake_layout_max_tick(layout))
		PG_RETURN_INT64(last_id(layout));
	PG_RETURN_INT64(first_id(layout, Max(tick, flake_layout_first_tick(layout))));
}

/*
 * flake_lower(ts timestamptz, layout flake_layout) returns bigint: the smallest
 * id whose time is ts or later
 */
Datum
flake_lower(PG_FUNCTION_ARGS)
{
	TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	int64		tick;

	flake_check_has_time(layout);

	/* The tick after the last one that starts before ts. */
	tick = tick_at(layout, TIMESTAMP_NOT_FINITE(ts) ? ts : ts - 1) + 1;

	/* After the layout's lifetime there is no id. */
	if (tick > flake_layout_max_tick(layout))
		PG_RETURN_INT64(last_id(layout) < PG_INT64_MAX ? last_id(layout) + 1
						: PG_INT64_MAX);
	PG_RETURN_INT64(first_id(layout, tick));
}

/*
 * flake_upper(ts timestamptz, layout flake_layout) returns bigint: the largest
 * id whose time is ts or earlier
 */
Datum
flake_upper(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	int64		tick;

	flake_check_has_time(layout);
	tick = tick_at(layout, PG_GETARG_TIMESTAMPTZ(0));

	/* Before the layout's lifetime there is no id. */
	if (tick < flake_layout_first_tick(layout))
		PG_RETURN_INT64(PG_INT64_MIN);
	if (tick >= flake_layout_max_tick(layout))
		PG_RETURN_INT64(last_id(layout));

	/* All bits below the tick are set just before the next one begins. */
	PG_RETURN_INT64(first_id(layout, tick + 1) - 1);
}

/* An interval, for messages. */
static char *
interval_text(Interval *interval)
{
	return DatumGetCString(DirectFunctionCall1(interval_out,
											   IntervalPGetDatum(interval)));
}

/*
 * flake_width(duration interval, layout flake_layout) returns bigint: from the
 * smallest id of a tick, the smallest one of the tick that is this much later
 */
Datum
flake_width(PG_FUNCTION_ARGS)
{
	Interval   *duration = PG_GETARG_INTERVAL_P(0);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	int64		max_ticks;
	int64		length_us;

	flake_check_has_time(layout);
	max_ticks = PG_INT64_MAX >> layout->time.shift;

	/* Infinite intervals have months, too. */
	if (duration->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("interval \"%s\" has no fixed length",
						interval_text(duration)),
				 errdetail("Months and years are of different lengths."),
				 errhint("Pass a number of weeks, days or hours.")));
	if (pg_mul_s64_overflow(duration->day, USECS_PER_DAY, &length_us) ||
		pg_add_s64_overflow(length_us, duration->time, &length_us) ||
		length_us / layout->unit_us > max_ticks)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("interval \"%s\" is out of range for layout \"%s\"",
						interval_text(duration), flake_layout_name(layout)),
				 errdetail("A bigint is at most %lld ticks of %lld microseconds wide.",
						   (long long) max_ticks, (long long) layout->unit_us),
				 errhint("Pass a shorter interval.")));
	if (length_us < layout->unit_us)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("interval \"%s\" is shorter than a tick of layout \"%s\"",
						interval_text(duration), flake_layout_name(layout)),
				 errdetail("A tick is %lld microseconds long.",
						   (long long) layout->unit_us),
				 errhint("Pass an interval of a tick or more.")));

	PG_RETURN_INT64(length_us / layout->unit_us << layout->time.shift);
}
