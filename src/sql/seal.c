/*-------------------------------------------------------------------------
 *
 * seal.c
 *	  SQL functions that seal ids: a keyed permutation of 64 bits, so that an id
 *	  shown in public tells neither time nor shard nor how many there are.
 *
 * The permutation is FF1 (see ff1.c) with radix 2, 64 numerals, of which the
 * first is the most significant bit, and no tweak.  Its domain is all 2^64
 * bigints; the standard asks for a million or more.  The attacks that are
 * published exploit domains far smaller, or many tweaks (Hoang, Tessaro and
 * Trieu, "The Curse of Small Domains", CRYPTO 2018).  What is sealed once must be
 * unsealed in all later versions, so none of this can change.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "fmgr.h"
#include "port/pg_bswap.h"
#include "sql/seal_key.h"
#include "sql/text.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(flake_seal);
PG_FUNCTION_INFO_V1(flake_unseal);
PG_FUNCTION_INFO_V1(flake_seal_named);
PG_FUNCTION_INFO_V1(flake_unseal_named);
PG_FUNCTION_INFO_V1(flake_seal_text);
PG_FUNCTION_INFO_V1(flake_unseal_text);
PG_FUNCTION_INFO_V1(flake_ff1_numerals);

/* Of a sealed text: the digits of a version, and of a number in base 62. */
#define MAX_VERSION_DIGITS	10
#define SEALED_DIGITS		11

static int64
permute(int64 value, Ff1Key *key, bool decrypt)
{
	static const Ff1Format format = {.radix = 2,.length = 64};
	uint64		halves[2] = {(uint64) value >> 32, (uint32) value};

	flake_ff1(key, &format, decrypt, halves);
	return (int64) (halves[0] << 32 | halves[1]);
}

static Ff1Key *
key_of_bytea(const bytea *key)
{
	return flake_seal_key_of_bytes((const uint8 *) VARDATA_ANY(key),
								   VARSIZE_ANY_EXHDR(key));
}

/* flake_seal(id bigint, key bytea) returns bigint */
Datum
flake_seal(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(permute(PG_GETARG_INT64(0), key_of_bytea(PG_GETARG_BYTEA_PP(1)), false));
}

/* flake_unseal(sealed bigint, key bytea) returns bigint */
Datum
flake_unseal(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(permute(PG_GETARG_INT64(0), key_of_bytea(PG_GETARG_BYTEA_PP(1)), true));
}

/* flake_seal(id bigint, key_name text) returns bigint */
Datum
flake_seal_named(PG_FUNCTION_ARGS)
{
	int32		version = 0;
	Ff1Key	   *key = flake_seal_key_named(text_to_cstring(PG_GETARG_TEXT_PP(1)), &version);

	PG_RETURN_INT64(permute(PG_GETARG_INT64(0), key, false));
}

/*
 * flake_unseal(sealed bigint, key_name text) returns bigint
 * flake_unseal(sealed bigint, key_name text, version int) returns bigint
 */
Datum
flake_unseal_named(PG_FUNCTION_ARGS)
{
	int32		version = 0;
	Ff1Key	   *key;

	if (PG_NARGS() > 2)
	{
		version = PG_GETARG_INT32(2);
		if (version < 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid version of a key: %d", version),
					 errdetail("Versions are numbered from 1 on."),
					 errhint("Leave it out for the newest.")));
	}
	key = flake_seal_key_named(text_to_cstring(PG_GETARG_TEXT_PP(1)), &version);
	PG_RETURN_INT64(permute(PG_GETARG_INT64(0), key, true));
}

/* flake_seal_text(id bigint, key_name text) returns text */
Datum
flake_seal_text(PG_FUNCTION_ARGS)
{
	int32		version = 0;
	Ff1Key	   *key = flake_seal_key_named(text_to_cstring(PG_GETARG_TEXT_PP(1)), &version);
	uint64		sealed = pg_hton64((uint64) permute(PG_GETARG_INT64(0), key, false));
	text	   *digits = flake_text_encode((uint8 *) &sealed, sizeof(sealed), 62);
	char		buffer[MAX_VERSION_DIGITS + 1 + SEALED_DIGITS + 1];
	int			length = pg_ltoa(version, buffer);

	buffer[length++] = '-';
	memcpy(buffer + length, VARDATA(digits), SEALED_DIGITS);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(buffer, length + SEALED_DIGITS));
}

/* flake_unseal_text(sealed text, key_name text) returns bigint */
Datum
flake_unseal_text(PG_FUNCTION_ARGS)
{
	char	   *sealed = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Size		digits = strspn(sealed, "0123456789");
	int32		version = 0;
	uint64		number;
	Ff1Key	   *key;

	/* One id has one text: no zeros may be added or left out. */
	if (sealed[0] != '0' && digits > 0 && digits <= MAX_VERSION_DIGITS &&
		sealed[digits] == '-' && strlen(sealed) == digits + 1 + SEALED_DIGITS)
	{
		int64		given = strtoll(sealed, NULL, 10);

		if (given <= PG_INT32_MAX)
			version = (int32) given;
	}
	if (version == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid sealed id: \"%s\"", sealed),
				 errdetail("It is the version of a key, \"-\" and %d digits of base 62.", SEALED_DIGITS),
				 errhint("Treat it as an id that does not exist.")));
	flake_text_decode(cstring_to_text(sealed + digits + 1), 62, "bigint",
					  (uint8 *) &number, sizeof(number));
	key = flake_seal_key_named(text_to_cstring(PG_GETARG_TEXT_PP(1)), &version);
	PG_RETURN_INT64(permute((int64) pg_ntoh64(number), key, true));
}

static const char numerals[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* Reads numerals of a radix; false if they are none, or too many. */
static bool
read_half(const char *text, int length, uint32 radix, uint64 *half)
{
	uint64		limit = 1;

	*half = 0;
	for (int i = 0; i < length; i++)
	{
		const char *numeral = memchr(numerals, text[i], radix);

		if (numeral == NULL || (limit *= radix) > FLAKE_FF1_MAX_HALF)
			return false;
		*half = *half * radix + (uint64) (numeral - numerals);
	}
	return true;
}

/*
 * _flake_ff1(text text, radix int, tweak bytea, key bytea, decrypt boolean)
 *	returns text
 *
 * For NIST's examples.
 */
Datum
flake_ff1_numerals(PG_FUNCTION_ARGS)
{
	char	   *string = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			length = (int) strlen(string);
	int			u = length / 2;
	int32		radix = PG_GETARG_INT32(1);
	bytea	   *tweak = PG_GETARG_BYTEA_PP(2);
	uint64		halves[2];
	Ff1Format	format;

	if (radix < 2 || radix > (int) strlen(numerals) || length < 2 ||
		VARSIZE_ANY_EXHDR(tweak) > FLAKE_FF1_MAX_TWEAK_LEN ||
		!read_half(string, u, (uint32) radix, &halves[0]) ||
		!read_half(string + u, length - u, (uint32) radix, &halves[1]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid arguments of _flake_ff1()"),
				 errdetail("Radix is 2 to 36, a half of the text a number up to 2^56, and the tweak has %d bytes at most.",
						   FLAKE_FF1_MAX_TWEAK_LEN)));
	format.radix = (uint32) radix;
	format.length = (uint32) length;
	format.tweak = (const uint8 *) VARDATA_ANY(tweak);
	format.tweak_length = (uint32) VARSIZE_ANY_EXHDR(tweak);
	flake_ff1(key_of_bytea(PG_GETARG_BYTEA_PP(3)), &format, PG_GETARG_BOOL(4), halves);
	for (int i = length - 1; i >= 0; i--)
	{
		uint64	   *half = &halves[i < u ? 0 : 1];

		string[i] = numerals[*half % (uint64) radix];
		*half /= (uint64) radix;
	}
	PG_RETURN_TEXT_P(cstring_to_text(string));
}
