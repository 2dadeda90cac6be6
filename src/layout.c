/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  Bit arithmetic on ids.  See layout.h for the concepts.
 *
 * An id is a signed 64-bit number.  The time field comes first and is read
 * with its sign, so ids before the epoch are negative and the order of ids
 * is the order of their ticks on both sides of it.  A layout of 64 bits
 * gives one bit of its time field to the sign: 41 bits of milliseconds reach
 * 2^40 ms, 34.8 years, to either side of the epoch.  A layout of 63 bits or
 * less leaves the sign outside and reaches the full 2^41 ms to either side.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "layout.h"

/* Milliseconds since 1970-01-01 00:00 UTC, the form in which epochs are published. */
#define UNIX_MS(ms) \
	(INT64CONST(ms) * 1000 - \
	 (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/*
 * Bits and epoch as Instagram published them ("Sharding & IDs at Instagram",
 * Instagram Engineering, 2011).  Its sequence is nextval() % 1024, which goes
 * on from tick to tick: start=continue.
 */
const FlakeLayout flake_layout_instagram = {
	.name = "instagram",
	.epoch = UNIX_MS(1314220021721),	/* 2011-08-24 21:07:01.721 UTC */
	.unit_us = 1000,
	.start = FLAKE_START_CONTINUE,
	.time = {.name = "ts",.bits = 41,.shift = 23},
	.sequence = {.name = "seq",.bits = 10,.shift = 0},
	.nparts = 1,
	.parts = {{.name = "shard",.bits = 13,.shift = 10}},
};

static inline uint64
low_bits(int bits)
{
	return (UINT64CONST(1) << bits) - 1;
}

int32
flake_layout_max_shard(const FlakeLayout *layout)
{
	int			bits = 0;

	for (int i = 0; i < layout->nparts; i++)
		bits += layout->parts[i].bits;
	return (int32) low_bits(bits);
}

bool
flake_layout_tick_start(const FlakeLayout *layout, int64 tick,
						TimestampTz *ts)
{
	int64		elapsed_us;

	return !pg_mul_s64_overflow(tick, layout->unit_us, &elapsed_us) &&
		!pg_add_s64_overflow(layout->epoch, elapsed_us, ts) &&
		IS_VALID_TIMESTAMP(*ts);
}

int64
flake_layout_tick(const FlakeLayout *layout, int64 id)
{
	return id >> layout->time.shift;
}

int64
flake_layout_sequence(const FlakeLayout *layout, int64 id)
{
	return flake_layout_field(&layout->sequence, id);
}

int32
flake_layout_shard(const FlakeLayout *layout, int64 id)
{
	int64		shard = 0;

	for (int i = 0; i < layout->nparts; i++)
		shard = shard << layout->parts[i].bits |
			flake_layout_field(&layout->parts[i], id);
	return (int32) shard;
}

/* The number in one bit field, unsigned: the time field without its sign. */
int64
flake_layout_field(const FlakeField *field, int64 id)
{
	return (int64) ((uint64) id >> field->shift & low_bits(field->bits));
}

int64
flake_layout_shard_image(const FlakeLayout *layout, int32 shard)
{
	uint64		image = 0;
	uint64		rest = (uint64) shard;

	for (int i = layout->nparts - 1; i >= 0; i--)
	{
		const FlakeField *part = &layout->parts[i];

		image |= (rest & low_bits(part->bits)) << part->shift;
		rest >>= part->bits;
	}
	return (int64) image;
}

int
flake_layout_fields(const FlakeLayout *layout,
					const FlakeField *fields[FLAKE_MAX_FIELDS])
{
	int			n = 0;
	int			part = 0;

	fields[n++] = &layout->time;
	while (part < layout->nparts &&
		   layout->parts[part].shift > layout->sequence.shift)
		fields[n++] = &layout->parts[part++];
	fields[n++] = &layout->sequence;
	while (part < layout->nparts)
		fields[n++] = &layout->parts[part++];
	return n;
}
