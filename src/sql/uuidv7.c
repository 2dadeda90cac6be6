/*-------------------------------------------------------------------------
 *
 * uuidv7.c
 *	  SQL functions for UUIDs of version 7 that carry a shard.
 *
 *	 0              48   52         64 66          79                    128
 *	 |  ms since 1970 |  7 | sequence | 2 |  shard  |       random       |
 *
 * The fields are those of RFC 9562, section 5.7.  What it leaves to us is rand_a,
 * which is the sequence (section 6.2, method 1), and rand_b, which begins with the
 * shard (section 6.4) and goes on with 49 random bits.
 *
 * Time and sequence are the head of a UUID.  Side by side, without the version, they
 * are the packed value that flake_claim() hands out, as of any other layout (see
 * layout/layout.h).  Hence the promise: of one shard no head comes twice, and
 * heads ascend in the order in which they are handed out, over all sessions and
 * whatever the clock does; and with a head, the UUID.  UUIDs of two shards differ
 * in the shard, and so do those of two servers that mint different shards.  None of
 * that rests on the random bits.  They are there so that nobody can guess an id from
 * the one before it, and they tell apart ids of databases that mint the same
 * shard by mistake.
 *
 * Heads take the place of ids wherever a bigint is wanted: bounds of shards,
 * flake_advance(), flake_rewind(), horizons.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/instant.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "shard/fence.h"
#include "sql/uuidv7.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(flake_uuidv7);
PG_FUNCTION_INFO_V1(flake_uuidv7_of_generator);
PG_FUNCTION_INFO_V1(flake_uuidv7_of_setting);
PG_FUNCTION_INFO_V1(flake_uuidv7s);
PG_FUNCTION_INFO_V1(flake_uuidv7_decode);
PG_FUNCTION_INFO_V1(flake_uuidv7_head);
PG_FUNCTION_INFO_V1(flake_uuidv7_bound);
PG_FUNCTION_INFO_V1(flake_uuidv7_lower);
PG_FUNCTION_INFO_V1(flake_uuidv7_upper);

#define SEQUENCE_BITS	FLAKE_UUIDV7_SEQUENCE_BITS
#define RANDOM_BITS		(62 - FLAKE_UUIDV7_SHARD_BITS)

#define VERSION_SHIFT	SEQUENCE_BITS
#define MS_SHIFT		(VERSION_SHIFT + 4)
#define VERSION_7		(UINT64CONST(7) << VERSION_SHIFT)
#define VARIANT			(UINT64CONST(2) << 62)

#define LOW_BITS(n)		((UINT64CONST(1) << (n)) - 1)

#define MAX_MS			((int64) LOW_BITS(FLAKE_UUIDV7_TIME_BITS))
#define MAX_HEAD		((int64) LOW_BITS(FLAKE_UUIDV7_TIME_BITS + SEQUENCE_BITS))

/* A UUID's two halves, as numbers. */
typedef struct Halves
{
	uint64		high;
	uint64		low;
} Halves;

StaticAssertDecl(sizeof(Halves) == UUID_LEN, "two halves are a UUID");

static Halves
read_uuid(const pg_uuid_t *uuid)
{
	Halves		halves;

	memcpy(&halves, uuid->data, UUID_LEN);
	halves.high = pg_ntoh64(halves.high);
	halves.low = pg_ntoh64(halves.low);
	return halves;
}

/* The UUID of a head, with a lower half. */
static pg_uuid_t *
make_uuid(int64 head, uint64 low)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	uint64		ms = (uint64) head >> SEQUENCE_BITS;
	Halves		halves;

	halves.high = pg_hton64(ms << MS_SHIFT | VERSION_7 |
							((uint64) head & LOW_BITS(SEQUENCE_BITS)));
	halves.low = pg_hton64(VARIANT | low);
	memcpy(uuid->data, &halves, UUID_LEN);
	return uuid;
}

/* The smallest and the largest UUID of a head. */
static pg_uuid_t *
first_uuid(int64 head)
{
	return make_uuid(head, 0);
}

pg_uuid_t *
flake_last_uuidv7(int64 head)
{
	return make_uuid(Min(Max(head, 0), MAX_HEAD), LOW_BITS(62));
}

bool
flake_uuidv7_read(const pg_uuid_t *uuid, int64 *head, int32 *shard)
{
	Halves		halves = read_uuid(uuid);

	if ((halves.high >> VERSION_SHIFT & LOW_BITS(4)) != 7 || halves.low >> 62 != 2)
		return false;
	*head = (int64) (halves.high >> MS_SHIFT << SEQUENCE_BITS |
					 (halves.high & LOW_BITS(SEQUENCE_BITS)));
	*shard = (int32) (halves.low >> RANDOM_BITS & LOW_BITS(FLAKE_UUIDV7_SHARD_BITS));
	return true;
}

int64
flake_uuidv7_first_head(const pg_uuid_t *uuid)
{
	Halves		halves = read_uuid(uuid);
	int64		head = (int64) (halves.high >> MS_SHIFT << SEQUENCE_BITS);
	int			version = (int) (halves.high >> VERSION_SHIFT & LOW_BITS(4));

	if (version < 7)
		return head;
	if (version > 7)
		return head + (INT64CONST(1) << SEQUENCE_BITS);
	return (head | (int64) (halves.high & LOW_BITS(SEQUENCE_BITS))) +
		(halves.low > VARIANT ? 1 : 0);
}

/*
 * Random numbers, from the operating system as gen_random_uuid() has them, but of
 * many ids at once: most of the price is that of asking.
 *
 * They are as secret as what is not handed out yet.  So each is used once, and wiped
 * then.  A process that was forked has its parent's memory, and so begins anew.
 */
#define RANDOM_NUMBERS	512

static uint64 *random_numbers = NULL;
static int	random_left = 0;
static int	random_pid = 0;

static pg_noinline void
refill_random(void)
{
	random_left = 0;
	/* An array here would be a page more to map when the library is loaded. */
	if (random_numbers == NULL)
		random_numbers = MemoryContextAlloc(TopMemoryContext, RANDOM_NUMBERS * sizeof(uint64));
	if (!pg_strong_random(random_numbers, RANDOM_NUMBERS * sizeof(uint64)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	random_left = RANDOM_NUMBERS;
	random_pid = MyProcPid;
}

static inline uint64
draw_random(void)
{
	uint64		number;

	if (unlikely(random_left == 0 || random_pid != MyProcPid))
		refill_random();
	number = random_numbers[--random_left];
	random_numbers[random_left] = 0;
	return number & LOW_BITS(RANDOM_BITS);
}

/*
 * A clock before 1970 has led to ids that no UUID can hold.  That is found after the
 * claim, and not in it, where all others would have to pay for it.
 */
static inline void
check_head(const Generator *generator, int64 head)
{
	if (unlikely(head < 0))
		flake_lifetime_is_over(&generator->layout,
							   flake_layout_first_tick(&generator->layout) - 1);
}

/* ERROR where nextval() would be one, too. */
static inline void
check_may_write(const char *function_name)
{
	if (unlikely(XactReadOnly))
		PreventCommandIfReadOnly(function_name);
}

/* Mints one UUID.  The random number comes first: it is what may not be there. */
static inline Datum
mint(Generator *generator, int32 shard, Oid function)
{
	uint64		random = draw_random();
	int64		head = flake_shard_claim(generator, flake_generator_slot(generator, shard),
										 1, function);

	check_head(generator, head);
	PG_RETURN_UUID_P(make_uuid(head, (uint64) shard << RANDOM_BITS | random));
}

/* flake_uuidv7(shard int) returns uuid */
Datum
flake_uuidv7(PG_FUNCTION_ARGS)
{
	check_may_write("flake_uuidv7()");
	return mint(flake_generator_builtin(FLAKE_UUIDV7, fcinfo->flinfo->fn_oid),
				PG_GETARG_INT32(0), fcinfo->flinfo->fn_oid);
}

/* flake_uuidv7(shard int, generator regclass) returns uuid */
Datum
flake_uuidv7_of_generator(PG_FUNCTION_ARGS)
{
	check_may_write("flake_uuidv7()");
	return mint(flake_generator_get_uuid(PG_GETARG_OID(1), fcinfo->flinfo->fn_oid),
				PG_GETARG_INT32(0), fcinfo->flinfo->fn_oid);
}

/* flake_uuidv7() returns uuid */
Datum
flake_uuidv7_of_setting(PG_FUNCTION_ARGS)
{
	Generator  *generator;

	check_may_write("flake_uuidv7()");

	/* First: to get it ready brings news of what tells the shard. */
	generator = flake_generator_builtin(FLAKE_UUIDV7, fcinfo->flinfo->fn_oid);
	return mint(generator, flake_shard_of_server(&generator->layout),
				fcinfo->flinfo->fn_oid);
}

/* What flake_uuidv7s() has claimed and goes on returning. */
typedef struct HeadRange
{
	int64		first;
	uint64		shard_image;
} HeadRange;

/*
 * flake_uuidv7s(shard int, count int, generator regclass) returns setof uuid
 *
 * Should the operating system have no random numbers any more in the midst of it,
 * the rest of what was claimed is not used.
 */
Datum
flake_uuidv7s(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	HeadRange  *range;

	if (SRF_IS_FIRSTCALL())
	{
		int32		shard = PG_GETARG_INT32(0);
		int32		count = PG_GETARG_INT32(1);
		Generator  *generator;
		const GeneratorSlot *slot;

		check_may_write("flake_uuidv7s()");
		if (count < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("number of ids must not be negative"),
					 errdetail("The number given is %d.", count),
					 errhint("Ask for 0 or more ids.")));

		context = SRF_FIRSTCALL_INIT();
		range = MemoryContextAlloc(context->multi_call_memory_ctx, sizeof(HeadRange));
		context->user_fctx = range;
		context->max_calls = count;

		generator = flake_generator_get_uuid(PG_GETARG_OID(2), fcinfo->flinfo->fn_oid);
		slot = flake_generator_slot(generator, shard);
		range->shard_image = (uint64) shard << RANDOM_BITS;
		if (count > 0)
		{
			range->first = flake_shard_claim(generator, slot, count,
											 fcinfo->flinfo->fn_oid);
			check_head(generator, range->first);
		}
	}

	context = SRF_PERCALL_SETUP();
	range = context->user_fctx;
	if (context->call_cntr < context->max_calls)
	{
		/* Before the macro counts. */
		pg_uuid_t  *uuid = make_uuid(range->first + (int64) context->call_cntr,
									 range->shard_image | draw_random());

		SRF_RETURN_NEXT(context, UUIDPGetDatum(uuid));
	}
	SRF_RETURN_DONE(context);
}

/* ERROR: a UUID is not of version 7. */
pg_noreturn static void
wrong_version(const pg_uuid_t *uuid)
{
	Halves		halves = read_uuid(uuid);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("UUID is not of version 7"),
			 halves.low >> 62 == 2
			 ? errdetail("It is of version %d.",
						 (int) (halves.high >> VERSION_SHIFT & LOW_BITS(4)))
			 : errdetail("Its variant is not that of RFC 9562."),
			 errhint("Give UUIDs that flake_uuidv7() has minted.")));
}

/*
 * flake_uuidv7_decode(id uuid) returns record (ts timestamptz, shard int,
 *	sequence int)
 */
Datum
flake_uuidv7_decode(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *uuid = PG_GETARG_UUID_P(0);
	int64		head;
	int32		shard;
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!flake_uuidv7_read(uuid, &head, &shard))
		wrong_version(uuid);
	values[0] = TimestampTzGetDatum(FLAKE_UNIX_EPOCH +
									(head >> SEQUENCE_BITS) * FLAKE_UUIDV7_UNIT_US);
	values[1] = Int32GetDatum(shard);
	values[2] = Int32GetDatum((int32) (head & LOW_BITS(SEQUENCE_BITS)));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* flake_uuidv7_head(id uuid) returns bigint */
Datum
flake_uuidv7_head(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *uuid = PG_GETARG_UUID_P(0);
	int64		head;
	int32		shard;

	if (!flake_uuidv7_read(uuid, &head, &shard))
		wrong_version(uuid);
	PG_RETURN_INT64(head);
}

/* _flake_uuidv7_bound(bound uuid) returns bigint */
Datum
flake_uuidv7_bound(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(flake_uuidv7_first_head(PG_GETARG_UUID_P(0)));
}

/*
 * The millisecond that contains ts, also for infinite ts; outside of what a UUID can
 * hold, the one next to that.
 */
static int64
ms_at(TimestampTz ts)
{
	int64		us;
	int64		ms;

	if (TIMESTAMP_IS_NOEND(ts) || pg_sub_s64_overflow(ts, FLAKE_UNIX_EPOCH, &us))
		return MAX_MS + 1;
	if (TIMESTAMP_IS_NOBEGIN(ts) || us < 0)
		return -1;
	ms = us / FLAKE_UUIDV7_UNIT_US;
	return Min(ms, MAX_MS + 1);
}

/*
 * flake_uuidv7_lower(ts timestamptz) returns uuid: the smallest UUID whose time is
 * ts or later; RFC 9562's largest one of all, if there is none
 */
Datum
flake_uuidv7_lower(PG_FUNCTION_ARGS)
{
	TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
	int64		ms = ms_at(TIMESTAMP_NOT_FINITE(ts) ? ts : ts - 1) + 1;
	pg_uuid_t  *uuid;

	/* Minus infinity is before them all. */
	if (ms <= MAX_MS)
		PG_RETURN_UUID_P(first_uuid(ms << SEQUENCE_BITS));
	uuid = palloc(sizeof(pg_uuid_t));
	memset(uuid, 0xff, sizeof(pg_uuid_t));
	PG_RETURN_UUID_P(uuid);
}

/*
 * flake_uuidv7_upper(ts timestamptz) returns uuid: the largest UUID whose time is ts
 * or earlier; RFC 9562's smallest one of all, if there is none
 */
Datum
flake_uuidv7_upper(PG_FUNCTION_ARGS)
{
	int64		ms = ms_at(PG_GETARG_TIMESTAMPTZ(0));

	if (ms < 0)
		PG_RETURN_UUID_P(palloc0(sizeof(pg_uuid_t)));
	ms = Min(ms, MAX_MS);
	PG_RETURN_UUID_P(flake_last_uuidv7((ms << SEQUENCE_BITS) |
									   (int64) LOW_BITS(SEQUENCE_BITS)));
}
