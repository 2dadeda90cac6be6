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
#include "layout/layout.h"

static inline uint64
low_bits(int bits)
{
	return (UINT64CONST(1) << bits) - 1;
}

int32
flake_layout_max_shard(const FlakeLayout *layout)
{
	int			bits = layout->uuid_shard_bits;

	for (int i = 0; i < layout->nparts; i++)
		bits += layout->parts[i].bits;
	return (int32) low_bits(bits);
}

bool
flake_layout_tick_start(const FlakeLayout *layout, int64 tick,
						TimestampTz *ts)
{
	int64		elapsed_us;
	TimestampTz start;

	if (pg_mul_s64_overflow(tick, layout->unit_us, &elapsed_us) ||
		pg_add_s64_overflow(layout->epoch, elapsed_us, &start) ||
		!IS_VALID_TIMESTAMP(start))
		return false;
	*ts = start;
	return true;
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
	int			nparts = Min(layout->nparts, FLAKE_MAX_PARTS);
	int			n = 0;
	int			part = 0;

	if (flake_layout_has_time(layout))
		fields[n++] = &layout->time;
	while (part < nparts &&
		   layout->parts[part].shift > layout->sequence.shift)
		fields[n++] = &layout->parts[part++];
	fields[n++] = &layout->sequence;
	while (part < nparts)
		fields[n++] = &layout->parts[part++];
	return n;
}

int64
flake_layout_packed_up_to(const FlakeLayout *layout, int64 id)
{
	int			sequence_end = layout->sequence.shift + layout->sequence.bits;
	int64		tick = flake_layout_tick(layout, id);
	int64		sequence = flake_layout_sequence(layout, id);

	if (tick < flake_layout_min_tick(layout))
		return FLAKE_PACKED_NONE;
	if (tick > flake_layout_max_tick(layout))
		return flake_layout_max_packed(layout);

	/* Is there anything between the time and the sequence? */
	if (((uint64) id >> sequence_end & low_bits(layout->time.shift - sequence_end)) != 0)
		sequence = flake_layout_max_sequence(layout);
	return flake_layout_pack(layout, tick, sequence);
}

int64
flake_layout_shard_packed_up_to(const FlakeLayout *layout, int64 id, int64 image)
{
	int64		tick = flake_layout_tick(layout, id);

	if (tick >= flake_layout_min_tick(layout) && tick <= flake_layout_max_tick(layout))
	{
		int64		packed = flake_layout_pack(layout, tick, flake_layout_sequence(layout, id));

		if (flake_layout_id(layout, packed, image) == id)
			return packed;
	}
	return flake_layout_packed_up_to(layout, id);
}

int64
flake_layout_last_id(const FlakeLayout *layout, int64 packed)
{
	return flake_layout_id(layout, packed,
						   flake_layout_shard_image(layout,
													flake_layout_max_shard(layout)));
}
