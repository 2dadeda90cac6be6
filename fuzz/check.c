/*-------------------------------------------------------------------------
 *
 * check.c
 *	  What must hold for every layout, and for every id of it.
 *
 * As far as possible the expected result is computed in another way than
 * layout.c does it: by division where that multiplies, or by trying the
 * neighbours.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check.h"
#include "common/int.h"
#include "layout/instant.h"
#include "mb/pg_wchar.h"

/* The instants that the text form can name, in timestamptz. */
#define MIN_EPOCH	INT64CONST(-63082281600000000)	/* 0001-01-01 */
#define END_EPOCH	INT64CONST(252455616000000000)	/* 10000-01-01 */

#define MAX_SHARD_BITS	31
#define MAX_BLOCK		1000000000

/* What is being checked, for the message if that fails. */
static char subject[1024];

void
check_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\nof: %s\n", file, line,
			condition, subject);
	abort();
}

static uint64
mask(int bits)
{
	return bits == 64 ? PG_UINT64_MAX : (UINT64CONST(1) << bits) - 1;
}

static bool
is_zero(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
	{
		if (((const char *) bytes)[i] != 0)
			return false;
	}
	return true;
}

static bool
is_utf8(const char *string)
{
	int			length = (int) strlen(string);

	return pg_encoding_verifymbstr(PG_UTF8, string, length) == length;
}

/* All bits that a layout's fields take. */
static int
total_bits(const FlakeLayout *layout)
{
	return layout->time.shift + layout->time.bits;
}

static bool
is_sentence(const char *string)
{
	size_t		length = strlen(string);

	return length > 1 && string[length - 1] == '.';
}

static void
check_error(const char *source, const FlakeLayoutError *error)
{
	CHECK(memchr(error->detail, '\0', sizeof(error->detail)) != NULL);
	CHECK(is_sentence(error->detail));
	CHECK(error->hint == NULL || is_sentence(error->hint));
	CHECK(!is_utf8(source) || is_utf8(error->detail));
}

bool
check_parse(const char *source, FlakeLayout *layout)
{
	/* On the heap, for AddressSanitizer to notice a byte too much. */
	FlakeLayout *other = malloc(sizeof(FlakeLayout));
	FlakeLayoutError *error = malloc(sizeof(FlakeLayoutError));
	char	   *printed = malloc(FLAKE_LAYOUT_TEXT_LEN);
	char	   *reprinted = malloc(FLAKE_LAYOUT_TEXT_LEN);
	bool		parsed;

	if (other == NULL || error == NULL || printed == NULL || reprinted == NULL)
		abort();
	snprintf(subject, sizeof(subject), "parsing \"%s\"", source);

	/* What is left as it was shows in the comparison. */
	memset(layout, 0x00, sizeof(FlakeLayout));
	memset(other, 0xff, sizeof(FlakeLayout));
	memset(error, 0xff, sizeof(FlakeLayoutError));
	parsed = flake_layout_parse(source, layout, error);
	if (!parsed)
		check_error(source, error);
	CHECK(flake_layout_parse(source, other, error) == parsed);

	if (parsed)
	{
		CHECK(memcmp(layout, other, sizeof(FlakeLayout)) == 0);
		check_layout(layout);

		flake_layout_print(layout, printed);
		snprintf(subject, sizeof(subject), "parsing \"%s\", printed as \"%s\"",
				 source, printed);
		CHECK(strlen(printed) < FLAKE_LAYOUT_TEXT_LEN - 1);
		memset(other, 0xff, sizeof(FlakeLayout));
		CHECK(flake_layout_parse(printed, other, error));
		CHECK(memcmp(layout, other, sizeof(FlakeLayout)) == 0);
		flake_layout_print(other, reprinted);
		CHECK(strcmp(printed, reprinted) == 0);
	}

	free(other);
	free(error);
	free(printed);
	free(reprinted);
	return parsed;
}

static void
check_field(const FlakeField *field)
{
	size_t		length = strnlen(field->name, FLAKE_FIELD_NAME_LEN);

	CHECK(length > 0 && length < FLAKE_FIELD_NAME_LEN);
	CHECK(is_zero(field->name + length, FLAKE_FIELD_NAME_LEN - length));
	CHECK(field->bits >= 1 && field->bits <= 63);
}

/* Without gaps, from the top down to bit 0, the shard's parts in order. */
static void
check_fields(const FlakeLayout *layout)
{
	const FlakeField *fields[FLAKE_MAX_FIELDS];
	int			nfields;
	int			next_part = 0;
	int			end = total_bits(layout);

	CHECK(layout->nparts <= FLAKE_MAX_PARTS);
	nfields = flake_layout_fields(layout, fields);
	CHECK(nfields == flake_layout_has_time(layout) + 1 + layout->nparts);
	CHECK(end <= (flake_layout_has_time(layout) ? 64 : 63));
	CHECK((fields[0] == &layout->time) == flake_layout_has_time(layout));

	for (int i = 0; i < nfields; i++)
	{
		check_field(fields[i]);
		CHECK(fields[i]->shift + fields[i]->bits == end);
		end = fields[i]->shift;
		if (fields[i] == &layout->time)
			CHECK(strcmp(fields[i]->name, "ts") == 0);
		else if (fields[i] == &layout->sequence)
			CHECK(strcmp(fields[i]->name, "seq") == 0);
		else
			CHECK(fields[i] == &layout->parts[next_part++]);
		for (int j = 0; j < i; j++)
			CHECK(strcmp(fields[i]->name, fields[j]->name) != 0);
	}
	CHECK(end == 0);
	CHECK(next_part == layout->nparts);
	CHECK(is_zero(&layout->parts[layout->nparts],
				  sizeof(FlakeField) * (FLAKE_MAX_PARTS - layout->nparts)));
}

static void
check_shards(const FlakeLayout *layout)
{
	int			bits = layout->time.shift - layout->sequence.bits;

	CHECK(bits <= MAX_SHARD_BITS);
	CHECK(flake_layout_shard_image(layout, 0) == 0);

	/* The shard of UUIDs is outside of the 64 bits. */
	if (flake_layout_is_uuid(layout))
	{
		CHECK(bits == 0 && layout->nparts == 0);
		CHECK(flake_layout_max_shard(layout) == 8191);
		CHECK(flake_layout_shard_image(layout, 8191) == 0);
		return;
	}
	CHECK((uint64) flake_layout_max_shard(layout) == mask(bits));
	CHECK(flake_layout_shard(layout, -1) == flake_layout_max_shard(layout));
}

static void
check_range(const FlakeLayout *layout)
{
	int64		min_tick = flake_layout_min_tick(layout);
	int64		max_tick = flake_layout_max_tick(layout);
	int			total = total_bits(layout);

	CHECK((uint64) flake_layout_max_sequence(layout) == mask(layout->sequence.bits));
	CHECK(flake_layout_packed_tick(layout, flake_layout_min_packed(layout)) == min_tick);
	CHECK(flake_layout_packed_tick(layout, flake_layout_max_packed(layout)) == max_tick);

	/* All bits of the number, or all of the fields and a sign of its own. */
	if (!flake_layout_has_time(layout))
		CHECK(min_tick == 0 && max_tick == 0);
	else if (total == 64)
	{
		CHECK(min_tick == flake_layout_tick(layout, PG_INT64_MIN));
		CHECK(max_tick == flake_layout_tick(layout, PG_INT64_MAX));
	}
	else
	{
		CHECK(min_tick == -max_tick - 1);
		CHECK(max_tick == flake_layout_tick(layout, mask(total)));
	}
}

static void
check_options(const FlakeLayout *layout)
{
	CHECK(is_zero(layout->zeros, sizeof(layout->zeros)));
	if (!flake_layout_has_time(layout))
	{
		CHECK(is_zero(layout->time.name, FLAKE_FIELD_NAME_LEN));
		CHECK(layout->uuid_shard_bits == 0);
		CHECK(layout->epoch == 0 && layout->unit_us == 0 &&
			  layout->start == 0 && layout->random_below == 0);
		CHECK(layout->block >= 1 && layout->block <= MAX_BLOCK);
		return;
	}
	if (flake_layout_is_uuid(layout))
		CHECK(layout->uuid_shard_bits == 13 && layout->time.bits == 48 &&
			  layout->sequence.bits == 12 && layout->unit_us == 1000 &&
			  layout->epoch == FLAKE_UNIX_EPOCH);
	else
		CHECK(layout->uuid_shard_bits == 0);
	CHECK(layout->epoch >= MIN_EPOCH && layout->epoch < END_EPOCH);
	CHECK(layout->unit_us >= 1 && layout->unit_us <= USECS_PER_DAY);
	CHECK(layout->block == 0);
	CHECK(layout->start <= FLAKE_START_RANDOM);
	CHECK(layout->random_below >= 0 &&
		  layout->random_below <= flake_layout_max_sequence(layout));
	CHECK(layout->random_below == 0 || layout->start == FLAKE_START_RANDOM);
}

/* A number cannot be shifted by all of its bits. */
static void
check_shifts(const FlakeLayout *layout)
{
	CHECK(layout->time.shift < 64);
	CHECK(layout->sequence.bits < 64);
	CHECK(layout->sequence.shift < 64);
}

void
check_layout(const FlakeLayout *layout)
{
	check_shifts(layout);
	check_fields(layout);
	check_shards(layout);
	check_range(layout);
	check_options(layout);
}

/* A number of the range from min to max: the given one if it is. */
static int64
bring_into(int64 number, int64 min, int64 max)
{
	uint64		size = (uint64) max - (uint64) min + 1;

	if (number >= min && number <= max)
		return number;
	return (int64) ((uint64) min + (uint64) number % size);
}

/* What goes into an id comes out of it again. */
static void
check_id(const FlakeLayout *layout, int64 packed, int32 shard)
{
	const FlakeField *fields[FLAKE_MAX_FIELDS];
	int			nfields = flake_layout_fields(layout, fields);
	int64		image = flake_layout_shard_image(layout, shard);
	int64		id = flake_layout_id(layout, packed, image);
	int64		tick = flake_layout_tick(layout, id);
	int64		sequence = flake_layout_sequence(layout, id);
	uint64		together = 0;

	if (!flake_layout_is_uuid(layout))
	{
		CHECK(flake_layout_shard(layout, image) == shard);
		CHECK(flake_layout_shard(layout, id) == shard);
	}
	CHECK(flake_layout_sequence(layout, image) == 0);
	CHECK(flake_layout_tick(layout, image) == 0);
	CHECK(tick >= flake_layout_min_tick(layout) &&
		  tick <= flake_layout_max_tick(layout));
	CHECK(tick == flake_layout_packed_tick(layout, packed));
	CHECK(sequence >= 0 && sequence <= flake_layout_max_sequence(layout));
	CHECK(flake_layout_pack(layout, tick, sequence) == packed);

	for (int i = 0; i < nfields; i++)
	{
		uint64		value = (uint64) flake_layout_field(fields[i], id);

		CHECK(value <= mask(fields[i]->bits));
		together |= value << fields[i]->shift;
	}
	CHECK(together == ((uint64) id & mask(total_bits(layout))));
	CHECK(flake_layout_has_time(layout) || together == (uint64) id);
}

/* Ids are in the order of their packed values. */
static void
check_order(const FlakeLayout *layout, int64 packed, int64 other, int32 shard)
{
	int64		image = flake_layout_shard_image(layout, shard);
	int64		id = flake_layout_id(layout, packed, image);
	int64		other_id = flake_layout_id(layout, other, image);

	CHECK((packed < other) == (id < other_id));
	CHECK((packed == other) == (id == other_id));

	CHECK(flake_layout_last_id(layout, packed) >= id);
	if (!flake_layout_is_uuid(layout))
		CHECK(flake_layout_shard(layout, flake_layout_last_id(layout, packed)) ==
			  flake_layout_max_shard(layout));
	if (other < packed)
		CHECK(flake_layout_last_id(layout, packed) > other_id);

	/* With a time on top, an earlier tick is earlier on any two shards. */
	if (flake_layout_packed_tick(layout, packed) <
		flake_layout_packed_tick(layout, other))
		CHECK(flake_layout_last_id(layout, packed) <
			  flake_layout_id(layout, other, 0));
}

static void
check_packed_up_to(const FlakeLayout *layout, int64 id, int32 shard)
{
	int64		min = flake_layout_min_packed(layout);
	int64		max = flake_layout_max_packed(layout);
	int64		packed = flake_layout_packed_up_to(layout, id);

	/*
	 * A layout of 64 bits without a shard has FLAKE_PACKED_NONE for its first
	 * packed value, which is then the same as none.
	 */
	if (packed == FLAKE_PACKED_NONE)
	{
		CHECK(min == FLAKE_PACKED_NONE ? id == PG_INT64_MIN
			  : flake_layout_id(layout, min, 0) > id);
		return;
	}
	CHECK(packed >= min && packed <= max);
	CHECK(flake_layout_id(layout, packed, 0) <= id);
	if (packed < max)
	{
		int64		image = flake_layout_shard_image(layout, shard);

		CHECK(flake_layout_id(layout, packed + 1, 0) > id);
		CHECK(flake_layout_id(layout, packed + 1, image) > id);
	}
}

/* The start of a tick, and the tick of an instant, are each other's inverse. */
static void
check_time(const FlakeLayout *layout, int64 tick, TimestampTz instant)
{
	int64		unit_us = layout->unit_us;
	int64		elapsed_us;
	TimestampTz start;

	/*
	 * An instant 2^63 us or more after the epoch is as good as none.  That
	 * can be one from the year 292278 on.
	 */
	if (flake_layout_tick_start(layout, tick, &start))
	{
		CHECK(!pg_sub_s64_overflow(start, layout->epoch, &elapsed_us));
		CHECK(elapsed_us % unit_us == 0 && elapsed_us / unit_us == tick);
		CHECK(flake_layout_tick_at(layout, start) == tick);
		CHECK(flake_layout_tick_at(layout, start - 1) == tick - 1);
		if (IS_VALID_TIMESTAMP(start + unit_us) && elapsed_us <= PG_INT64_MAX - unit_us)
		{
			CHECK(flake_layout_tick_at(layout, start + unit_us - 1) == tick);
			CHECK(flake_layout_tick_at(layout, start + unit_us) == tick + 1);
		}
	}
	else
	{
		/*
		 * Not one of the ticks that begin at a timestamp.  Both divisions
		 * round inwards.
		 */
		if (pg_sub_s64_overflow(END_TIMESTAMP - 1, layout->epoch, &elapsed_us))
			elapsed_us = PG_INT64_MAX;
		CHECK(tick < (MIN_TIMESTAMP - layout->epoch) / unit_us ||
			  tick > elapsed_us / unit_us);
	}

	if (!IS_VALID_TIMESTAMP(instant))
		return;
	tick = flake_layout_tick_at(layout, instant);
	if (pg_sub_s64_overflow(instant, layout->epoch, &elapsed_us))
		CHECK(tick == PG_INT64_MAX);
	else
		CHECK(elapsed_us >= 0 ? tick == elapsed_us / unit_us
			  : tick == -(-elapsed_us / unit_us) - (-elapsed_us % unit_us != 0));
}

void
check_ids(const FlakeLayout *layout, int64 packed, int64 shard, int64 id)
{
	int64		max_shard = flake_layout_max_shard(layout);
	int32		own_shard = (int32) bring_into(shard, 0, max_shard);
	char		printed[FLAKE_LAYOUT_TEXT_LEN];
	int64		min;
	int64		max;
	int64		own_id;

	check_shifts(layout);
	min = flake_layout_min_packed(layout);
	max = flake_layout_max_packed(layout);
	packed = bring_into(packed, min, max);
	flake_layout_print(layout, printed);
	snprintf(subject, sizeof(subject), "%s\n%lld %d %lld", printed,
			 (long long) packed, own_shard, (long long) id);

	check_id(layout, packed, own_shard);
	check_order(layout, packed, bring_into(id, min, max), own_shard);
	if (packed < max)
		check_order(layout, packed, packed + 1, own_shard);
	if (packed > min)
		check_order(layout, packed, packed - 1, own_shard);

	own_id = flake_layout_id(layout, packed,
							 flake_layout_shard_image(layout, own_shard));
	check_packed_up_to(layout, id, own_shard);
	check_packed_up_to(layout, own_id, own_shard);
	if (own_id > PG_INT64_MIN)
		check_packed_up_to(layout, own_id - 1, own_shard);
	CHECK(flake_layout_packed_up_to(layout, flake_layout_id(layout, packed, 0)) == packed);

	if (flake_layout_has_time(layout))
		check_time(layout, flake_layout_packed_tick(layout, packed), id);
}
