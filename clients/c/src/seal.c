/*-------------------------------------------------------------------------
 *
 * seal.c
 *	  Sealed ids: FF1 of NIST SP 800-38G with AES from OpenSSL.
 *
 * Only one format is needed: radix 2, 64 numerals of which the first is the most
 * significant bit, and no tweak.  So both halves have 32 bits, b of the standard is 4
 * bytes, d is 8, and Q is one block.  src/sql/ff1.c of the extension has the general
 * form, which is tested by NIST's examples.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "fail.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "flakeid_seal.h"

#define BLOCK_LEN	16
#define ROUNDS		10
#define SEALED_DIGITS	11
#define MAX_VERSION_DIGITS 10

struct flakeid_seal_key
{
	EVP_CIPHER_CTX *cipher;
	uint8_t		format[BLOCK_LEN];	/* P of the standard, encrypted */
};

static int
encrypt_block(EVP_CIPHER_CTX *cipher, uint8_t block[BLOCK_LEN])
{
	int			length;

	return EVP_EncryptUpdate(cipher, block, &length, block, BLOCK_LEN);
}

flakeid_code
flakeid_seal_key_new(const uint8_t *bytes, size_t length, flakeid_seal_key **key,
					 flakeid_error *error)
{
	static const uint8_t format[BLOCK_LEN] = {1, 2, 1, 0, 0, 2, 10, 32, 0, 0, 0, 64};
	flakeid_seal_key *result;

	if (length != 16 && length != 24 && length != 32)
		return fail_argument(error, "a key has 16, 24 or 32 bytes, and not %zu", length);
	result = malloc(sizeof(*result));
	if (result == NULL)
		return fail_argument(error, "out of memory");
	memcpy(result->format, format, BLOCK_LEN);
	result->cipher = EVP_CIPHER_CTX_new();
	if (result->cipher == NULL ||
		!EVP_EncryptInit_ex(result->cipher, length == 16 ? EVP_aes_128_ecb() :
							length == 24 ? EVP_aes_192_ecb() : EVP_aes_256_ecb(),
							NULL, bytes, NULL) ||
		!EVP_CIPHER_CTX_set_padding(result->cipher, 0) ||
		!encrypt_block(result->cipher, result->format))
	{
		flakeid_seal_key_free(result);
		return fail_argument(error, "OpenSSL cannot encrypt with AES");
	}
	*key = result;
	return FLAKEID_OK;
}

void
flakeid_seal_key_free(flakeid_seal_key *key)
{
	if (key == NULL)
		return;
	EVP_CIPHER_CTX_free(key->cipher);
	free(key);
}

/* The round function: 32 bits of the CBC-MAC of the format, the round and a half. */
static uint32_t
round_value(flakeid_seal_key *key, int i, uint32_t half)
{
	uint8_t		block[BLOCK_LEN];

	memcpy(block, key->format, BLOCK_LEN);
	block[11] ^= (uint8_t) i;
	for (int byte = 0; byte < 4; byte++)
		block[12 + byte] ^= (uint8_t) (half >> (24 - 8 * byte));

	/* With a key that has encrypted the format, this cannot fail. */
	if (!encrypt_block(key->cipher, block))
		abort();

	/* The first 8 bytes, as a number, modulo 2^32 */
	return (uint32_t) block[4] << 24 | (uint32_t) block[5] << 16 |
		(uint32_t) block[6] << 8 | block[7];
}

int64_t
flakeid_seal(flakeid_seal_key *key, int64_t id)
{
	uint32_t	a = (uint32_t) ((uint64_t) id >> 32);
	uint32_t	b = (uint32_t) (uint64_t) id;

	for (int i = 0; i < ROUNDS; i++)
	{
		uint32_t	c = a + round_value(key, i, b);

		a = b;
		b = c;
	}
	return (int64_t) ((uint64_t) a << 32 | b);
}

int64_t
flakeid_unseal(flakeid_seal_key *key, int64_t sealed)
{
	uint32_t	a = (uint32_t) ((uint64_t) sealed >> 32);
	uint32_t	b = (uint32_t) (uint64_t) sealed;

	for (int i = ROUNDS - 1; i >= 0; i--)
	{
		uint32_t	c = b - round_value(key, i, a);

		b = a;
		a = c;
	}
	return (int64_t) ((uint64_t) a << 32 | b);
}

flakeid_code
flakeid_seal_text(flakeid_seal_key *key, int32_t version, int64_t id,
				  char text[FLAKEID_SEALED_TEXT_LEN], flakeid_error *error)
{
	char		digits[FLAKEID_TEXT_LEN];
	flakeid_code code;

	if (version < 1)
		return fail_argument(error, "invalid version of a key: %d: versions are numbered from 1 on",
							 version);
	code = flakeid_to_text(flakeid_seal(key, id), 62, digits, error);
	if (code == FLAKEID_OK)
		snprintf(text, FLAKEID_SEALED_TEXT_LEN, "%d-%.*s", version, SEALED_DIGITS, digits);
	return code;
}

flakeid_code
flakeid_sealed_version(const char *text, int32_t *version, flakeid_error *error)
{
	size_t		digits = strspn(text, "0123456789");

	/* One id has one text: no zeros may be added or left out. */
	if (text[0] != '0' && digits > 0 && digits <= MAX_VERSION_DIGITS &&
		text[digits] == '-' && strlen(text) == digits + 1 + SEALED_DIGITS)
	{
		long long	given = strtoll(text, NULL, 10);

		if (given <= INT32_MAX)
		{
			*version = (int32_t) given;
			return FLAKEID_OK;
		}
	}
	return fail_argument(error, "invalid sealed id: \"%.100s\": treat it as an id that does not exist",
						 text);
}

flakeid_code
flakeid_unseal_text(flakeid_seal_key *key, int32_t version, const char *text, int64_t *id,
					flakeid_error *error)
{
	int32_t		given = 0;
	int64_t		sealed = 0;
	flakeid_code code = flakeid_sealed_version(text, &given, error);

	if (code != FLAKEID_OK)
		return code;
	if (given != version)
		return fail_argument(error, "the sealed id \"%.100s\" is of version %d of the key, and not %d",
							 text, given, version);
	code = flakeid_from_text(strchr(text, '-') + 1, 62, &sealed, error);
	if (code == FLAKEID_OK)
		*id = flakeid_unseal(key, sealed);
	return code;
}
