/*-------------------------------------------------------------------------
 *
 * seal.c
 *	  SQL functions that seal ids: a keyed permutation of 64 bits, so that an id
 *	  shown in public tells neither time nor shard nor how many there are.
 *
 * A Feistel network over the two halves of the id, with HMAC-SHA-256 under the
 * key as its round function: Michael Luby and Charles Rackoff, "How to construct
 * pseudorandom permutations from pseudorandom functions", SIAM Journal on
 * Computing 17 (1988).  Who does not know the key cannot tell four such rounds
 * from a random permutation as long as he has seen far fewer than 2^16 pairs,
 * halves having 32 bits; from five rounds on far fewer than 2^32 (Jacques
 * Patarin, "Security of random Feistel schemes with 5 or more rounds", CRYPTO
 * 2004).  There are ten here, as in FF1 of NIST SP 800-38G.
 *
 *	left, right = the high and the low 32 bits of the id
 *	for round = 0 to 9:
 *		left, right = right, left ^ F(round, right)
 *	sealed = left, right
 *
 * F is the first 32 bits of HMAC-SHA-256(key, round as one byte, right as four
 * bytes), the most significant byte first everywhere.  What is sealed once
 * must be unsealed in all later versions, so none of this can change.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hmac.h"
#include "common/sha2.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(flake_seal);
PG_FUNCTION_INFO_V1(flake_unseal);

#define ROUNDS	10

/* The round function. */
static uint32
hmac_of_half(pg_hmac_ctx *hmac, const char *key, uint8 round, uint32 half)
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	uint8		message[1 + sizeof(uint32)];
	uint32		big_endian = pg_hton32(half);
	uint32		result;

	message[0] = round;
	memcpy(message + 1, &big_endian, sizeof(big_endian));
	if (pg_hmac_init(hmac, (const uint8 *) key, strlen(key)) < 0 ||
		pg_hmac_update(hmac, message, sizeof(message)) < 0 ||
		pg_hmac_final(hmac, digest, sizeof(digest)) < 0)
	{
		const char *reason = pg_hmac_error(hmac);

		pg_hmac_free(hmac);
		elog(ERROR, "could not compute HMAC: %s", reason);
	}
	memcpy(&result, digest, sizeof(result));
	return pg_ntoh32(result);
}

/*
 * Backwards, the halves change places first, and the rounds are counted down:
 * that undoes each round.
 */
static int64
permute(int64 value, const char *key, bool backwards)
{
	uint32		left = (uint32) ((uint64) value >> 32);
	uint32		right = (uint32) value;
	pg_hmac_ctx *hmac;

	key = pg_server_to_any(key, (int) strlen(key), PG_UTF8);
	if (*key == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must not be empty"),
				 errhint("Use a secret of 16 random bytes or more, in hexadecimal.")));

	hmac = pg_hmac_create(PG_SHA256);
	if (hmac == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	for (int i = 0; i < ROUNDS; i++)
	{
		uint32		half = backwards ? left : right;
		uint32		mask = hmac_of_half(hmac, key, (uint8) (backwards ? ROUNDS - 1 - i : i), half);

		CHECK_FOR_INTERRUPTS(); /* a key can be as long as any text */
		if (backwards)
		{
			left = right ^ mask;
			right = half;
		}
		else
		{
			right = left ^ mask;
			left = half;
		}
	}
	pg_hmac_free(hmac);
	return (int64) ((uint64) left << 32 | right);
}

/* flake_seal(id bigint, key text) returns bigint */
Datum
flake_seal(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(permute(PG_GETARG_INT64(0), text_to_cstring(PG_GETARG_TEXT_PP(1)), false));
}

/* flake_unseal(sealed bigint, key text) returns bigint */
Datum
flake_unseal(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(permute(PG_GETARG_INT64(0), text_to_cstring(PG_GETARG_TEXT_PP(1)), true));
}
