/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  Which bits of an id mean what.
 *
 * A layout is a value: a list of bit fields from the most significant one
 * down, an epoch, the length of a tick, and where the sequence starts in a
 * new tick.  All knowledge of bit positions is in this folder; every
 * other file asks.
 *
 * Two representations of an id occur:
 *
 *	id		what users store: every field at its place in the layout.
 *	packed	tick << sequence bits | sequence.  The shard is left out, so that
 *			"the next id of this shard" is "one more", and the carry out of
 *			the sequence goes into the tick.  Minting works on packed values.
 *
 * A layout of form=uuidv7 is one of UUIDs, and describes the time and the
 * sequence at their beginning: the head of a UUID, which is also its packed
 * value.  The shard comes behind that, outside of the 64 bits.  So for such a
 * layout "id" is to be read as "head" throughout; its image of a shard is 0.
 *
 * A layout may do without time.  Then its time field has no bits, the only
 * tick is 0, and packed values are numbers that count up.
 *
 * Nothing here needs a running server: no memory contexts, no ereport().
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LAYOUT_H
#define FLAKEID_LAYOUT_H

#include "common/int.h"
#include "datatype/timestamp.h"

#pragma GCC visibility push(hidden)

#define FLAKE_MAX_PARTS			8
#define FLAKE_MAX_FIELDS		(FLAKE_MAX_PARTS + 2)
#define FLAKE_FIELD_NAME_LEN	16	/* including the terminating zero */

typedef struct FlakeField
{
	char		name[FLAKE_FIELD_NAME_LEN];
	uint8		bits;			/* width */
	uint8		shift;			/* position of the lowest bit in the id */
} FlakeField;

/* The first sequence number of a tick in which no id was minted yet. */
typedef enum FlakeStart
{
	FLAKE_START_CONTINUE,		/* the one after the last used, modulo */
	FLAKE_START_ZERO,
	FLAKE_START_RANDOM			/* below random_below */
} FlakeStart;

/*
 * This is also how values of the SQL type flake_layout are stored.  All bytes
 * are determined by the value, unused ones are zero: equal layouts are equal
 * bytes.
 */
typedef struct FlakeLayout
{
	TimestampTz epoch;			/* start of tick 0 */
	int64		unit_us;		/* length of a tick; 0 without time */
	int64		random_below;	/* if start is FLAKE_START_RANDOM, else 0 */
	int64		block;			/* without time: numbers reserved at once */
	uint8		start;			/* FlakeStart */
	uint8		nparts;
	FlakeField	time;			/* always at the top */
	FlakeField	sequence;
	FlakeField	parts[FLAKE_MAX_PARTS]; /* of the shard number, the most
										 * significant first */
	uint8		uuid_shard_bits;	/* form=uuidv7: of the shard, which is not
									 * among the parts; else 0 */
	uint8		zeros[1];
} FlakeLayout;

StaticAssertDecl(sizeof(FlakeLayout) == 216,
				 "the size is as in CREATE TYPE flake_layout, without padding");

/* form=uuidv7: how many bits of a UUID are what; sql/uuidv7.c says where. */
#define FLAKE_UUIDV7_TIME_BITS		48
#define FLAKE_UUIDV7_SEQUENCE_BITS	12
#define FLAKE_UUIDV7_SHARD_BITS		13
#define FLAKE_UUIDV7_UNIT_US		1000

/* Below every packed value: none was handed out, or nothing is known yet. */
#define FLAKE_PACKED_NONE	PG_INT64_MIN

/*
 * The largest packed value whose id of shard 0 is not above an id, so that
 * every id of a later packed value is, whatever its shard.  FLAKE_PACKED_NONE
 * if all ids of the layout are above it.
 */
extern int64 flake_layout_packed_up_to(const FlakeLayout *layout, int64 id);

/*
 * The same for the ids of one shard, whose image is given: the very packed value
 * of an id of that shard.
 */
extern int64 flake_layout_shard_packed_up_to(const FlakeLayout *layout, int64 id,
											 int64 image);

/* The largest id of a packed value and of all before, whatever its shard. */
extern int64 flake_layout_last_id(const FlakeLayout *layout, int64 packed);

/* The largest shard number; the smallest is 0. */
extern int32 flake_layout_max_shard(const FlakeLayout *layout);

/*
 * The instant at which a tick starts; false, with *ts as it was, if timestamptz
 * cannot hold it, or if from the epoch to it there are 2^63 us or more.
 */
extern bool flake_layout_tick_start(const FlakeLayout *layout, int64 tick,
									TimestampTz *ts);

/* The parts of an id.  Any bigint has all of them. */
extern int64 flake_layout_tick(const FlakeLayout *layout, int64 id);
extern int32 flake_layout_shard(const FlakeLayout *layout, int64 id);
extern int64 flake_layout_sequence(const FlakeLayout *layout, int64 id);
extern int64 flake_layout_field(const FlakeField *field, int64 id);

/* Lists all fields, the most significant first; returns how many. */
extern int	flake_layout_fields(const FlakeLayout *layout,
								const FlakeField *fields[FLAKE_MAX_FIELDS]);

/*
 * The shard number's bits at their places in an id.  It is constant for a
 * slot, so that minting computes it once per session.
 */
extern int64 flake_layout_shard_image(const FlakeLayout *layout, int32 shard);

/* Whether ids tell the time. */
static inline bool
flake_layout_has_time(const FlakeLayout *layout)
{
	return layout->time.bits > 0;
}

/* Whether ids are UUIDs, of which a bigint can only be the head. */
static inline bool
flake_layout_is_uuid(const FlakeLayout *layout)
{
	return layout->uuid_shard_bits > 0;
}

/* The largest sequence number; the smallest is 0. */
static inline int64
flake_layout_max_sequence(const FlakeLayout *layout)
{
	return (int64) ((UINT64CONST(1) << layout->sequence.bits) - 1);
}

/*
 * The range of ticks that an id can hold.  The time field is at the top and
 * shares its highest bit with the sign where a layout has all 64 bits.
 */
static inline int64
flake_layout_max_tick(const FlakeLayout *layout)
{
	return (INT64CONST(1) << Min(layout->time.bits, 63 - layout->time.shift)) - 1;
}

static inline int64
flake_layout_min_tick(const FlakeLayout *layout)
{
	return flake_layout_has_time(layout) ? -flake_layout_max_tick(layout) - 1 : 0;
}

/*
 * The first tick of the layout's lifetime: that of a UUID has no sign, though its
 * head has room for one.
 */
static inline int64
flake_layout_first_tick(const FlakeLayout *layout)
{
	return flake_layout_is_uuid(layout) ? 0 : flake_layout_min_tick(layout);
}

/*
 * The tick that contains a finite instant, for a layout with time.  It may be
 * outside of the range above, and is as far outside as can be if from the
 * epoch to the instant there are 2^63 us or more.
 */
static inline int64
flake_layout_tick_at(const FlakeLayout *layout, TimestampTz ts)
{
	int64		elapsed_us;
	int64		tick;

	if (pg_sub_s64_overflow(ts, layout->epoch, &elapsed_us))
		return ts < layout->epoch ? PG_INT64_MIN : PG_INT64_MAX;

	/* Division by a constant is a multiplication. */
	tick = layout->unit_us == 1000 ? elapsed_us / 1000
		: elapsed_us / layout->unit_us;

	/* Division truncates towards zero; before the epoch, go down instead. */
	if (unlikely(elapsed_us < 0) && tick * layout->unit_us != elapsed_us)
		tick--;
	return tick;
}

/* tick << sequence bits | sequence, also for ticks before the epoch. */
static inline int64
flake_layout_pack(const FlakeLayout *layout, int64 tick, int64 sequence)
{
	return (int64) ((uint64) tick << layout->sequence.bits) |
		sequence;
}

static inline int64
flake_layout_packed_tick(const FlakeLayout *layout, int64 packed)
{
	return packed >> layout->sequence.bits;
}

/* The first and the last packed value of the layout's lifetime. */
static inline int64
flake_layout_min_packed(const FlakeLayout *layout)
{
	return flake_layout_pack(layout, flake_layout_min_tick(layout), 0);
}

static inline int64
flake_layout_max_packed(const FlakeLayout *layout)
{
	return flake_layout_pack(layout, flake_layout_max_tick(layout),
							 flake_layout_max_sequence(layout));
}

/* The id of a packed value and a shard's image. */
static inline int64
flake_layout_id(const FlakeLayout *layout, int64 packed, int64 shard_image)
{
	uint64		tick = (uint64) flake_layout_packed_tick(layout, packed);
	uint64		sequence = (uint64) packed & flake_layout_max_sequence(layout);

	return (int64) (tick << layout->time.shift |
					sequence << layout->sequence.shift) | shard_image;
}

#pragma GCC visibility pop

#endif							/* FLAKEID_LAYOUT_H */
