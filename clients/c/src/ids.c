/*-------------------------------------------------------------------------
 *
 * ids.c
 *	  Layouts as values, and what ids of them say.
 *
 * The arithmetic is that of the server, in src/layout/.  Here are its conditions and
 * limits: what src/sql/inspect.c, layouts.c and uuidv7.c refuse.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "internal.h"

#include "layout/layout_text.h"
#include "layout/preset.h"

_Static_assert(FLAKEID_LAYOUT_TEXT_LEN == FLAKE_LAYOUT_TEXT_LEN, "as the server has it");
_Static_assert(FLAKEID_MAX_FIELDS == FLAKE_MAX_FIELDS, "as the server has it");
_Static_assert(sizeof(((flakeid_field *) 0)->name) == FLAKE_FIELD_NAME_LEN,
			   "as the server has it");

flakeid_code
flakeid_layout_parse(const char *text, flakeid_layout *layout, flakeid_error *error)
{
	FlakeLayout value;
	FlakeLayoutError wrong;

	if (*text != '\0' && strpbrk(text, ":= \t\n\r\f\v") == NULL)
	{
		const FlakePreset *preset = flake_preset_find(text);

		if (preset == NULL)
			return fail_argument(error, "invalid layout \"%.100s\": there is no preset of this name",
								 text);
		value = flake_preset_layout(preset);
	}
	else if (!flake_layout_parse(text, &value, &wrong))
		return fail_argument(error, "invalid layout \"%.100s\": %s%s%s", text, wrong.detail,
							 wrong.hint != NULL ? " " : "",
							 wrong.hint != NULL ? wrong.hint : "");
	memcpy(layout, &value, sizeof(value));
	return FLAKEID_OK;
}

void
flakeid_layout_text(const flakeid_layout *layout, char text[FLAKEID_LAYOUT_TEXT_LEN])
{
	FlakeLayout value = flakeid_layout_value(layout);

	flake_layout_print(&value, text);
}

bool
flakeid_layout_has_time(const flakeid_layout *layout)
{
	FlakeLayout value = flakeid_layout_value(layout);

	return flake_layout_has_time(&value);
}

int32_t
flakeid_layout_max_shard(const flakeid_layout *layout)
{
	FlakeLayout value = flakeid_layout_value(layout);

	return flake_layout_max_shard(&value);
}

uint64_t
flakeid_layout_ids_per_tick(const flakeid_layout *layout)
{
	FlakeLayout value = flakeid_layout_value(layout);

	return flake_layout_has_time(&value)
		? (uint64) flake_layout_max_sequence(&value) + 1 : 0;
}

int64_t
flakeid_layout_unit_us(const flakeid_layout *layout)
{
	FlakeLayout value = flakeid_layout_value(layout);

	return value.unit_us;
}

/* When a tick starts, since 1970. */
static bool
tick_start(const FlakeLayout *layout, int64 tick, int64 *time_us)
{
	TimestampTz ts;

	return flake_layout_tick_start(layout, tick, &ts) &&
		!pg_sub_s64_overflow(ts, FLAKE_UNIX_EPOCH, time_us);
}

bool
flakeid_layout_starts(const flakeid_layout *layout, int64_t *time_us)
{
	FlakeLayout value = flakeid_layout_value(layout);

	return flake_layout_has_time(&value) &&
		tick_start(&value, flake_layout_first_tick(&value), time_us);
}

bool
flakeid_layout_ends(const flakeid_layout *layout, int64_t *time_us)
{
	FlakeLayout value = flakeid_layout_value(layout);

	return flake_layout_has_time(&value) &&
		tick_start(&value, flake_layout_max_tick(&value) + 1, time_us);
}

static flakeid_code
check_not_uuid(const FlakeLayout *layout, flakeid_error *error)
{
	if (flake_layout_is_uuid(layout))
		return fail_argument(error, "ids of this layout are UUIDs: use flakeid_uuidv7_decode()");
	return FLAKEID_OK;
}

static flakeid_code
check_has_time(const FlakeLayout *layout, flakeid_error *error)
{
	if (!flake_layout_has_time(layout))
		return fail_argument(error, "the layout has no time");
	return FLAKEID_OK;
}

static flakeid_code
id_time(const FlakeLayout *layout, int64 id, int64 *time_us, flakeid_error *error)
{
	if (!tick_start(layout, flake_layout_tick(layout, id), time_us))
		return fail_argument(error, "the time of id %lld is out of range", (long long) id);
	return FLAKEID_OK;
}

flakeid_code
flakeid_timestamp(const flakeid_layout *layout, int64_t id, int64_t *time_us,
				  flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);
	flakeid_code code = check_has_time(&value, error);

	return code != FLAKEID_OK ? code : id_time(&value, id, time_us, error);
}

flakeid_code
flakeid_shard(const flakeid_layout *layout, int64_t id, int32_t *shard,
			  flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);
	flakeid_code code = check_not_uuid(&value, error);

	if (code == FLAKEID_OK)
		*shard = flake_layout_shard(&value, id);
	return code;
}

int64_t
flakeid_sequence(const flakeid_layout *layout, int64_t id)
{
	FlakeLayout value = flakeid_layout_value(layout);

	return flake_layout_sequence(&value, id);
}

flakeid_code
flakeid_decode(const flakeid_layout *layout, int64_t id, flakeid_parts *parts,
			   flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);
	flakeid_code code = check_not_uuid(&value, error);
	int64		time_us = 0;

	if (code == FLAKEID_OK && flake_layout_has_time(&value))
		code = id_time(&value, id, &time_us, error);
	if (code != FLAKEID_OK)
		return code;
	parts->has_time = flake_layout_has_time(&value);
	parts->time_us = time_us;
	parts->shard = flake_layout_shard(&value, id);
	parts->sequence = flake_layout_sequence(&value, id);
	return FLAKEID_OK;
}

flakeid_code
flakeid_fields(const flakeid_layout *layout, int64_t id,
			   flakeid_field fields[FLAKEID_MAX_FIELDS], int *count,
			   flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);
	const FlakeField *in_order[FLAKE_MAX_FIELDS];
	flakeid_code code = check_not_uuid(&value, error);
	int64		time_us;

	if (code != FLAKEID_OK)
		return code;
	if (flake_layout_has_time(&value) &&
		(code = id_time(&value, id, &time_us, error)) != FLAKEID_OK)
		return code;
	*count = flake_layout_fields(&value, in_order);
	for (int i = 0; i < *count; i++)
	{
		strlcpy(fields[i].name, in_order[i]->name, sizeof(fields[i].name));
		fields[i].value = in_order[i] == &value.time ? flake_layout_tick(&value, id)
			: flake_layout_field(in_order[i], id);
	}
	return FLAKEID_OK;
}

/* The tick that contains a time; next to the lifetime for one outside of it. */
static int64
tick_at(const FlakeLayout *layout, int64 time_us)
{
	int64		before = flake_layout_first_tick(layout) - 1;
	int64		after = flake_layout_max_tick(layout) + 1;
	TimestampTz ts;
	int64		tick;

	if (time_us == PG_INT64_MAX)
		return after;
	if (pg_add_s64_overflow(time_us, FLAKE_UNIX_EPOCH, &ts))
		return before;
	tick = flake_layout_tick_at(layout, ts);
	return Min(Max(tick, before), after);
}

/* Whether a timestamptz can hold a time. */
static bool
is_timestamp(int64 time_us)
{
	TimestampTz ts;

	return !pg_add_s64_overflow(time_us, FLAKE_UNIX_EPOCH, &ts) && IS_VALID_TIMESTAMP(ts);
}

static flakeid_code
check_part(const char *part, int64 value, int64 max, flakeid_error *error)
{
	if (value < 0 || value > max)
		return fail_argument(error, "%s %lld is out of range: the layout has 0 to %lld",
							 part, (long long) value, (long long) max);
	return FLAKEID_OK;
}

flakeid_code
flakeid_encode(const flakeid_layout *layout, int64_t time_us, int32_t shard,
			   int64_t sequence, int64_t *id, flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);
	flakeid_code code;
	int64		tick;

	if ((code = check_not_uuid(&value, error)) != FLAKEID_OK ||
		(code = check_has_time(&value, error)) != FLAKEID_OK)
		return code;
	tick = tick_at(&value, time_us);
	if (tick < flake_layout_first_tick(&value) || tick > flake_layout_max_tick(&value) ||
		!is_timestamp(time_us))
	{
		char		text[TIME_TEXT_LEN];

		flakeid_time_text(time_us, text);
		return fail_argument(error, "time %s is out of range for the layout", text);
	}
	if ((code = check_part("shard", shard, flake_layout_max_shard(&value),
						   error)) != FLAKEID_OK ||
		(code = check_part("sequence", sequence, flake_layout_max_sequence(&value),
						   error)) != FLAKEID_OK)
		return code;
	*id = flake_layout_id(&value, flake_layout_pack(&value, tick, sequence),
						  flake_layout_shard_image(&value, shard));
	return FLAKEID_OK;
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

flakeid_code
flakeid_lower(const flakeid_layout *layout, int64_t time_us, int64_t *id,
			  flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);
	flakeid_code code = check_has_time(&value, error);
	bool		is_infinite = time_us == PG_INT64_MIN || time_us == PG_INT64_MAX;
	int64		tick;

	if (code != FLAKEID_OK)
		return code;

	/* The tick after the last one that starts before the time */
	tick = tick_at(&value, is_infinite ? time_us : time_us - 1) + 1;
	if (tick <= flake_layout_max_tick(&value))
		*id = first_id(&value, tick);
	else
		*id = last_id(&value) < PG_INT64_MAX ? last_id(&value) + 1 : PG_INT64_MAX;
	return FLAKEID_OK;
}

flakeid_code
flakeid_upper(const flakeid_layout *layout, int64_t time_us, int64_t *id,
			  flakeid_error *error)
{
	FlakeLayout value = flakeid_layout_value(layout);
	flakeid_code code = check_has_time(&value, error);
	int64		tick;

	if (code != FLAKEID_OK)
		return code;
	tick = tick_at(&value, time_us);
	if (tick < flake_layout_first_tick(&value))
		*id = PG_INT64_MIN;
	else if (tick >= flake_layout_max_tick(&value))
		*id = last_id(&value);
	else
		*id = first_id(&value, tick + 1) - 1;
	return FLAKEID_OK;
}

/* So many bytes as a number, the first one the most significant. */
static uint64
number_of(const uint8_t *bytes, int length)
{
	uint64		number = 0;

	for (int i = 0; i < length; i++)
		number = number << 8 | bytes[i];
	return number;
}

flakeid_code
flakeid_uuidv7_decode(const uint8_t uuid[16], flakeid_parts *parts, flakeid_error *error)
{
	/* RFC 9562, section 5.7; the shard is at the beginning of rand_b. */
	int			version = uuid[6] >> 4;

	if (uuid[8] >> 6 != 2)
		return fail_argument(error, "UUID is not of version 7: its variant is not that of RFC 9562");
	if (version != 7)
		return fail_argument(error, "UUID is not of version 7, but of version %d", version);
	parts->has_time = true;
	parts->time_us = (int64) number_of(uuid, 6) * FLAKE_UUIDV7_UNIT_US;
	parts->sequence = (uuid[6] & 0x0f) << 8 | uuid[7];
	parts->shard = (int32) (number_of(uuid + 8, 2) >> 1 & ((1 << FLAKE_UUIDV7_SHARD_BITS) - 1));
	return FLAKEID_OK;
}
