/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Numbers in bases up to 62, at a fixed width, and SQL functions for ids as
 *	  such.
 *
 * A number is limbs of 32 bits here, so that the same lines serve 64 and 128
 * bits on any compiler.  It is written and read by chunks of as many digits as
 * fit into 32 bits.  The functions are compiled once for each base: where the
 * divisor is a constant, the compiler multiplies.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "sql/text.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(flake_to_text);
PG_FUNCTION_INFO_V1(flake_from_text);

/* The largest number has 128 bits. */
#define MAX_LIMBS	4

typedef struct Base
{
	uint32		base;
	const char *digits;			/* in the order of values, and of C collation */
	int			chunk_digits;
	uint32		chunk;			/* base to the power of chunk_digits */
	int			width_64;		/* digits of the largest number of 64 bits */
	int			width_128;
	uint8	   *values;			/* of each byte: 1 more than its value as a
								 * digit, 0 for none; filled at the first use */
} Base;

static uint8 values_16[256];
static uint8 values_32[256];
static uint8 values_58[256];
static uint8 values_62[256];

/* Base 32 is Douglas Crockford's, 58 Bitcoin's, 62 that of Boundary's flake. */
static const Base base_16 = {
	16, "0123456789abcdef",
	7, 16 * 16 * 16 * 16 * 16 * 16 * 16, 16, 32, values_16
};
static const Base base_32 = {
	32, "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
	6, 32 * 32 * 32 * 32 * 32 * 32, 13, 26, values_32
};
static const Base base_58 = {
	58, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
	5, 58 * 58 * 58 * 58 * 58, 11, 22, values_58
};
static const Base base_62 = {
	62, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	5, 62 * 62 * 62 * 62 * 62, 11, 22, values_62
};

pg_noreturn static void
unsupported_base(int base)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("base %d is not supported", base),
			 errhint("Bases are 16, 32, 58 and 62.")));
}

static pg_attribute_always_inline text *
encode(const uint8 *bytes, int length, const Base *base)
{
	int			nlimbs = length / (int) sizeof(uint32);
	uint32		limbs[MAX_LIMBS];
	int			width = length == sizeof(uint64) ? base->width_64 : base->width_128;
	text	   *result = palloc(VARHDRSZ + width);
	char	   *start = VARDATA(result);
	char	   *digit = start + width;

	Assert(nlimbs == 2 || nlimbs == MAX_LIMBS);
	memcpy(limbs, bytes, length);
	for (int i = 0; i < nlimbs; i++)
		limbs[i] = pg_ntoh32(limbs[i]);

	while (digit > start)
	{
		uint64		remainder = 0;
		uint32		chunk;

		for (int i = 0; i < nlimbs; i++)
		{
			uint64		dividend = remainder << 32 | limbs[i];

			limbs[i] = (uint32) (dividend / base->chunk);
			remainder = dividend % base->chunk;
		}
		chunk = (uint32) remainder;
		for (int i = 0; i < base->chunk_digits && digit > start; i++)
		{
			*--digit = base->digits[chunk % base->base];
			chunk /= base->base;
		}
	}
	SET_VARSIZE(result, VARHDRSZ + width);
	return result;
}

text *
flake_text_encode(const uint8 *bytes, int length, int base)
{
	switch (base)
	{
		case 16:
			return encode(bytes, length, &base_16);
		case 32:
			return encode(bytes, length, &base_32);
		case 58:
			return encode(bytes, length, &base_58);
		case 62:
			return encode(bytes, length, &base_62);
	}
	unsupported_base(base);
}

static void
fill_values(const Base *base)
{
	for (uint32 i = 0; i < base->base; i++)
		base->values[(uint8) base->digits[i]] = (uint8) (i + 1);
	if (base == &base_32)
	{
		/* Crockford: either case, and letters that look like digits. */
		base->values['O'] = base->values['0'];
		base->values['I'] = base->values['L'] = base->values['1'];
		for (int letter = 'A'; letter <= 'Z'; letter++)
			base->values[pg_ascii_tolower((unsigned char) letter)] =
				base->values[(unsigned char) letter];
	}
}

static pg_attribute_always_inline void
decode(const text * number, const Base *base, const char *type,
	   uint8 *bytes, int length)
{
	const char *digit = VARDATA_ANY(number);
	const char *end = digit + VARSIZE_ANY_EXHDR(number);
	int			nlimbs = length / (int) sizeof(uint32);
	uint32		limbs[MAX_LIMBS] = {0};

	Assert(nlimbs == 2 || nlimbs == MAX_LIMBS);
	if (base->values[(uint8) base->digits[0]] == 0)
		fill_values(base);
	if (digit == end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid text form of type %s: \"%s\"", type, ""),
				 errdetail("It is empty.")));
	while (digit < end)
	{
		uint32		chunk = 0;
		uint32		factor = 1;
		uint64		carry;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < base->chunk_digits && digit < end; i++)
		{
			int			value = base->values[(uint8) *digit++] - 1;

			if (value < 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
						 errmsg("invalid text form of type %s: \"%s\"", type,
								text_to_cstring(number)),
						 errdetail("Base %d has the digits %s.", (int) base->base,
								   base->digits)));
			chunk = chunk * base->base + (uint32) value;
			factor *= base->base;
		}

		/* number * factor + chunk */
		carry = chunk;
		for (int i = nlimbs - 1; i >= 0; i--)
		{
			carry += (uint64) limbs[i] * factor;
			limbs[i] = (uint32) carry;
			carry >>= 32;
		}
		if (carry != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid text form of type %s: \"%s\"", type,
							text_to_cstring(number)),
					 errdetail("It is larger than %d bits can hold.",
							   length * 8)));
	}
	for (int i = 0; i < nlimbs; i++)
		limbs[i] = pg_hton32(limbs[i]);
	memcpy(bytes, limbs, length);
}

void
flake_text_decode(const text * number, int base, const char *type,
				  uint8 *bytes, int length)
{
	switch (base)
	{
		case 16:
			decode(number, &base_16, type, bytes, length);
			break;
		case 32:
			decode(number, &base_32, type, bytes, length);
			break;
		case 58:
			decode(number, &base_58, type, bytes, length);
			break;
		case 62:
			decode(number, &base_62, type, bytes, length);
			break;
		default:
			unsupported_base(base);
	}
}

/*
 * flake_to_text(id bigint, base int) returns text
 *
 * Negative ids, from before the epoch, are the numbers from 2^63 on.
 */
Datum
flake_to_text(PG_FUNCTION_ARGS)
{
	uint64		id = pg_hton64((uint64) PG_GETARG_INT64(0));

	PG_RETURN_TEXT_P(flake_text_encode((uint8 *) &id, sizeof(id),
									   PG_GETARG_INT32(1)));
}

/* flake_from_text(id text, base int) returns bigint */
Datum
flake_from_text(PG_FUNCTION_ARGS)
{
	uint64		id;

	flake_text_decode(PG_GETARG_TEXT_PP(0), PG_GETARG_INT32(1), "bigint",
					  (uint8 *) &id, sizeof(id));
	PG_RETURN_INT64((int64) pg_ntoh64(id));
}
