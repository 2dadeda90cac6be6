/*-------------------------------------------------------------------------
 *
 * property.c
 *	  The checks, for random layouts.
 *
 * A fuzzer finds odd texts; this makes layouts that are right and known, so
 * that it can also be checked that each is accepted and means what it should.
 * The random numbers are the same each time.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "check.h"
#include "layout/preset.h"

#define SEED		INT64CONST(1314220021721)
#define NLAYOUTS	20000
#define NIDS		20			/* of each layout */

#define MAX_SHARD_BITS	31

/* 0001-01-01 and 10000-01-01, in seconds from 1970-01-01 */
#define MIN_UNIX_S	INT64CONST(-62135596800)
#define END_UNIX_S	INT64CONST(253402300800)

/* 2000-01-01, where timestamptz begins, in microseconds from 1970-01-01 */
#define PG_EPOCH_UNIX_US	INT64CONST(946684800000000)

/* A layout's text while it is being made, and what should come of it. */
typedef struct Expected
{
	char		source[1024];
	FlakeLayout layout;
} Expected;

static uint64 random_state = SEED;

/* SplitMix64: Steele, Lea and Flood, 2014. */
static uint64
random_bits(void)
{
	uint64		z = random_state += UINT64CONST(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64CONST(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static int64
random_between(int64 min, int64 max)
{
	return (int64) ((uint64) min + random_bits() % ((uint64) max - min + 1));
}

static bool
one_in(int n)
{
	return random_between(1, n) == 1;
}

/* Small numbers and large ones, and more often than others the extremes. */
static int64
random_number(void)
{
	int64		number = (int64) (random_bits() >> random_between(0, 63));

	switch (random_between(0, 7))
	{
		case 0:
			return PG_INT64_MIN + random_between(0, 2);
		case 1:
			return PG_INT64_MAX - random_between(0, 2);
		case 2:
			return random_between(-2, 2);
		case 3:
		case 4:
			return -number;
		default:
			return number;
	}
}

static void
pg_attribute_printf(2, 3)
append(Expected *expected, const char *format,...)
{
	size_t		length = strlen(expected->source);
	va_list		args;

	va_start(args, format);
	vsnprintf(expected->source + length, sizeof(expected->source) - length,
			  format, args);
	va_end(args);
}

static void
append_blanks(Expected *expected)
{
	do
		append(expected, "%c", " \t\n\r\f\v"[one_in(4) ? random_between(0, 5) : 0]);
	while (one_in(8));
}

static void
add_field(Expected *expected, FlakeField *field, const char *name, int bits,
		  int *shift)
{
	strlcpy(field->name, name, sizeof(field->name));
	field->bits = (uint8) bits;
	*shift -= bits;
	field->shift = (uint8) *shift;
	append(expected, "%s:%d", name, bits);
	append_blanks(expected);
}

static void
add_fields(Expected *expected)
{
	FlakeLayout *layout = &expected->layout;
	bool		has_time = !one_in(4);
	int			nparts = (int) random_between(0, one_in(2) ? 2 : FLAKE_MAX_PARTS);
	int			total = 63 + has_time;
	int			before = (int) random_between(0, nparts);
	int			shard_bits = 0;
	int			part_bits[FLAKE_MAX_PARTS];
	int			time_bits;
	int			rest;
	int			shift;

	if (one_in(2))
		total = (int) random_between(nparts + 2, 63);
	shift = total;

	/* Each part has at least a bit, and leaves one to those that follow. */
	for (int i = 0; i < nparts; i++)
	{
		int			left = Min(MAX_SHARD_BITS, total - 2) - shard_bits;

		left -= nparts - 1 - i;
		part_bits[i] = (int) random_between(1, one_in(2) ? Min(left, 4) : left);
		shard_bits += part_bits[i];
	}
	rest = total - shard_bits;
	time_bits = has_time ? (int) random_between(Max(1, rest - 63), Min(63, rest - 1)) : 0;

	if (one_in(8))
		append_blanks(expected);
	if (has_time)
		add_field(expected, &layout->time, "ts", time_bits, &shift);
	else
		layout->time.shift = (uint8) total;
	layout->nparts = (uint8) nparts;
	for (int i = 0; i <= nparts; i++)
	{
		char		name[FLAKE_FIELD_NAME_LEN];

		if (i == before)
			add_field(expected, &layout->sequence, "seq", rest - time_bits, &shift);
		if (i == nparts)
			break;
		snprintf(name, sizeof(name), one_in(2) ? "part_%d" : "a%d_abcdefghijkl", i);
		add_field(expected, &layout->parts[i], name, part_bits[i], &shift);
	}
}

static void
add_epoch(Expected *expected)
{
	int64		unix_s = random_between(MIN_UNIX_S, END_UNIX_S - 1);
	int64		us = one_in(2) ? 0 : random_between(0, USECS_PER_SEC - 1);
	time_t		seconds = (time_t) unix_s;
	struct tm	tm;

	if (one_in(2))
	{
		int64		ms = unix_s * 1000 + us / 1000;

		us = us / 1000 * 1000;
		append(expected, "epoch=%lld", (long long) ms);
	}
	else
	{
		if (gmtime_r(&seconds, &tm) == NULL)
			abort();
		append(expected, "epoch=%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
			   tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
			   tm.tm_min, tm.tm_sec, (int) us);
	}
	append_blanks(expected);
	expected->layout.epoch = unix_s * USECS_PER_SEC + us - PG_EPOCH_UNIX_US;
}

static void
add_unit(Expected *expected)
{
	static const struct
	{
		const char *name;
		int64		us;
	}			units[] =

	{
		{"us", 1},
		{"ms", 1000},
		{"s", USECS_PER_SEC},
		{"min", USECS_PER_MINUTE},
		{"h", USECS_PER_HOUR},
		{"d", USECS_PER_DAY}
	};
	int			i = (int) random_between(0, lengthof(units) - 1);
	int64		number = 1;

	expected->layout.unit_us = 1000;
	if (one_in(4))
		return;
	if (one_in(2))
		number = random_between(1, USECS_PER_DAY / units[i].us);
	expected->layout.unit_us = number * units[i].us;
	append(expected, "unit=%lld%s", (long long) number, units[i].name);
	append_blanks(expected);
}

static void
add_start(Expected *expected)
{
	FlakeLayout *layout = &expected->layout;
	int64		max_sequence = flake_layout_max_sequence(layout);

	switch (random_between(0, 4))
	{
		case 0:
			return;
		case 1:
			append(expected, "start=continue");
			return;
		case 2:
			layout->start = FLAKE_START_ZERO;
			append(expected, "start=zero");
			return;
		case 3:
			layout->start = FLAKE_START_RANDOM;
			append(expected, "start=random");
			return;
		default:
			layout->start = FLAKE_START_RANDOM;
			layout->random_below = one_in(2) ? max_sequence
				: random_between(1, max_sequence);
			append(expected, "start=random:%lld",
				   (long long) layout->random_below);
			return;
	}
}

static void
add_block(Expected *expected)
{
	expected->layout.block = 10000;
	if (one_in(4))
		return;
	expected->layout.block = random_between(1, 1000000000);
	append(expected, "block=%lld", (long long) expected->layout.block);
}

static void
make_layout(Expected *expected)
{
	memset(expected, 0, sizeof(Expected));
	add_fields(expected);
	if (!flake_layout_has_time(&expected->layout))
		add_block(expected);
	else
	{
		add_epoch(expected);
		add_unit(expected);
		add_start(expected);
	}
}

/* "random:" may have as many numbers as there are, which is "random". */
static void
check_random_below(void)
{
	FlakeLayout all;
	FlakeLayout layout;

	for (int bits = 1; bits <= 62; bits++)
	{
		int64		count = INT64CONST(1) << bits;
		char		source[100];

		snprintf(source, sizeof(source),
				 "ts:1 seq:%d epoch=0 start=random", bits);
		CHECK(check_parse(source, &all));
		snprintf(source, sizeof(source),
				 "ts:1 seq:%d epoch=0 start=random:%lld", bits,
				 (long long) count);
		CHECK(check_parse(source, &layout));
		CHECK(memcmp(&layout, &all, sizeof(FlakeLayout)) == 0);
		snprintf(source, sizeof(source),
				 "ts:1 seq:%d epoch=0 start=random:%lld", bits,
				 (long long) count + 1);
		CHECK(!check_parse(source, &layout));
	}
}

/* One character more, less or changed: what it is now need not be a layout. */
static void
spoil(char *source)
{
	size_t		length = strlen(source);
	size_t		place = (size_t) random_between(0, (int64) length - 1);

	switch (random_between(0, 2))
	{
		case 0:
			source[place] = (char) random_between(1, 255);
			break;
		case 1:
			memmove(source + place, source + place + 1, length - place);
			break;
		default:
			memmove(source + place + 1, source + place, length - place + 1);
			break;
	}
}

int
main(void)
{
	FlakeLayout layout;
	int			spoiled = 0;

	for (const FlakePreset *preset = flake_presets; preset->name != NULL; preset++)
	{
		CHECK(check_parse(preset->text, &layout));
		for (int i = 0; i < NIDS; i++)
			check_ids(&layout, random_number(), random_number(), random_number());
	}

	check_random_below();

	for (int n = 0; n < NLAYOUTS; n++)
	{
		Expected	expected;

		make_layout(&expected);
		CHECK(check_parse(expected.source, &layout));
		CHECK(memcmp(&layout, &expected.layout, sizeof(FlakeLayout)) == 0);
		for (int i = 0; i < NIDS; i++)
			check_ids(&layout, random_number(), random_number(), random_number());

		spoil(expected.source);
		if (!check_parse(expected.source, &layout))
			spoiled++;
	}
	printf("seed %lld: %d layouts with %d ids each; %d texts were refused\n",
		   (long long) SEED, NLAYOUTS, NIDS, spoiled);
	return 0;
}
