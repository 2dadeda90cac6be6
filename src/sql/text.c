/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Numbers in bases up to 62, at a fixed width, and SQL functions for ids as
 *	  such.
 *
 * Numbers are strings of bytes here, so that the same lines serve 64 and 128
 * bits on any compiler.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "sql/text.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(flake_to_text);
PG_FUNCTION_INFO_V1(flake_from_text);

/* The largest number: 128 bits are 32 digits in base 16. */
#define MAX_BYTES	16
#define MAX_DIGITS	32

/*
 * Digits are in the order of their values and of C collation.  Base 32 is
 * Douglas Crockford's, base 58 Bitcoin's, base 62 that of Boundary's flake.
 */
static const struct
{
	int			base;
	const char *digits;
}			bases[] =

{
	{16, "0123456789abcdef"},
	{32, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"},
	{58, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"},
	{62, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
};

static const char *
digits_of(int base)
{
	for (int i = 0; i < (int) lengthof(bases); i++)
	{
		if (bases[i].base == base)
			return bases[i].digits;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("base %d is not supported", base),
			 errhint("Bases are 16, 32, 58 and 62.")));
}

/* Divides a number in place and returns the remainder. */
static int
divide(uint8 *bytes, int length, int divisor)
{
	int			remainder = 0;

	for (int i = 0; i < length; i++)
	{
		int			dividend = remainder << 8 | bytes[i];

		bytes[i] = (uint8) (dividend / divisor);
		remainder = dividend % divisor;
	}
	return remainder;
}

/* number * factor + summand in place; false if that is too large. */
static bool
multiply_and_add(uint8 *bytes, int length, int factor, int summand)
{
	for (int i = length - 1; i >= 0; i--)
	{
		summand += bytes[i] * factor;
		bytes[i] = (uint8) (summand & 0xFF);
		summand >>= 8;
	}
	return summand == 0;
}

/* How many digits the largest number of so many bytes has. */
static int
width_of(int length, int base)
{
	uint8		rest[MAX_BYTES];
	int			width = 0;

	memset(rest, 0xFF, sizeof(rest));
	for (bool more = true; more; width++)
	{
		divide(rest, length, base);
		more = false;
		for (int i = 0; i < length; i++)
			more |= rest[i] != 0;
	}
	return width;
}

char *
flake_text_encode(const uint8 *bytes, int length, int base)
{
	const char *digits = digits_of(base);
	int			width = width_of(length, base);
	char	   *result = palloc(width + 1);
	uint8		rest[MAX_BYTES];

	Assert(length <= MAX_BYTES && width <= MAX_DIGITS);
	memcpy(rest, bytes, length);
	result[width] = '\0';
	for (int i = width - 1; i >= 0; i--)
		result[i] = digits[divide(rest, length, base)];
	return result;
}

/* The value of a digit; -1 if it is none. */
static int
digit_value(const char *digits, int base, char digit)
{
	const char *found;

	if (base == 32)
	{
		/* Crockford: either case, and letters that look like digits. */
		digit = pg_ascii_toupper((unsigned char) digit);
		if (digit == 'O')
			digit = '0';
		else if (digit == 'I' || digit == 'L')
			digit = '1';
	}
	found = strchr(digits, digit);
	return found == NULL ? -1 : (int) (found - digits);
}

void
flake_text_decode(const char *text, int base, const char *type,
				  uint8 *bytes, int length)
{
	const char *digits = digits_of(base);

	memset(bytes, 0, length);
	if (*text == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid text form of type %s: \"%s\"", type, text),
				 errdetail("It is empty.")));
	for (const char *digit = text; *digit != '\0'; digit++)
	{
		int			value = digit_value(digits, base, *digit);

		CHECK_FOR_INTERRUPTS();
		if (value < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid text form of type %s: \"%s\"", type, text),
					 errdetail("Base %d has the digits %s.", base, digits)));
		if (!multiply_and_add(bytes, length, base, value))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid text form of type %s: \"%s\"", type, text),
					 errdetail("It is larger than %d bits can hold.",
							   length * 8)));
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
	char	   *result = flake_text_encode((uint8 *) &id, sizeof(id),
										   PG_GETARG_INT32(1));

	PG_RETURN_TEXT_P(cstring_to_text(result));
}

/* flake_from_text(id text, base int) returns bigint */
Datum
flake_from_text(PG_FUNCTION_ARGS)
{
	uint64		id;

	flake_text_decode(text_to_cstring(PG_GETARG_TEXT_PP(0)),
					  PG_GETARG_INT32(1), "bigint", (uint8 *) &id, sizeof(id));
	PG_RETURN_INT64((int64) pg_ntoh64(id));
}
