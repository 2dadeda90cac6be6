/*-------------------------------------------------------------------------
 *
 * ff1.c
 *	  Format-preserving encryption by FF1 of NIST SP 800-38G ("Recommendation
 *	  for Block Cipher Modes of Operation: Methods for Format-Preserving
 *	  Encryption", 2016), with AES from OpenSSL.
 *
 * FF1 is a Feistel network of ten rounds over the two halves of a string of
 * numerals.  Its round function is the CBC-MAC by AES of a fixed block (the
 * format), the tweak, the round's number and one half.
 *
 * Of the published modes this is the one to use.  AES itself permutes 128 bits, and
 * an id has 64.  A network of our own, or a cipher with blocks of 64 bits such as
 * Triple DES, which NIST has withdrawn, or Blowfish would be known to fewer
 * libraries, or be weaker.  SP 800-38G has a second mode, FF3: Durak and Vaudenay
 * broke it ("Breaking the FF3 Format-Preserving Encryption Standard over Small
 * Domains", CRYPTO 2017), and Beyne its successor FF3-1 ("Linear Cryptanalysis of
 * FF3-1 and FEA", CRYPTO 2021); the draft of revision 1 of February 2025 leaves
 * FF3-1 out and keeps FF1.
 *
 * The names below are those of the standard's algorithms 7 and 8.  It is general
 * in radix and tweak, so that NIST's examples can be run: what seals ids is what
 * they test.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "sql/ff1.h"

#ifdef USE_OPENSSL
#include <openssl/err.h>
#include <openssl/evp.h>
#endif

#define BLOCK_LEN	16
#define ROUNDS		10

bool
flake_ff1_is_key_length(Size length)
{
	return length == 16 || length == 24 || length == 32;
}

#ifdef USE_OPENSSL

static void
openssl_failed(void)
{
	unsigned long code = ERR_get_error();
	const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);

	elog(ERROR, "OpenSSL could not compute AES: %s", reason != NULL ? reason : "no reason");
}

Ff1Key *
flake_ff1_expand(const uint8 *key, int length)
{
	const		EVP_CIPHER *cipher = length == 16 ? EVP_aes_128_ecb() :
	length == 24 ? EVP_aes_192_ecb() : EVP_aes_256_ecb();
	Ff1Key	   *result = EVP_CIPHER_CTX_new();

	Assert(flake_ff1_is_key_length(length));
	if (result == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	if (!EVP_EncryptInit_ex(result, cipher, NULL, key, NULL) ||
		!EVP_CIPHER_CTX_set_padding(result, 0))
	{
		EVP_CIPHER_CTX_free(result);
		openssl_failed();
	}
	return result;
}

void
flake_ff1_free(Ff1Key *key)
{
	EVP_CIPHER_CTX_free(key);
}

static void
encrypt_block(Ff1Key *key, uint8 block[BLOCK_LEN])
{
	int			length;

	if (!EVP_EncryptUpdate(key, block, &length, block, BLOCK_LEN))
		openssl_failed();
}

#else

Ff1Key *
flake_ff1_expand(const uint8 *key, int length)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("ids cannot be sealed by this server"),
			 errdetail("PostgreSQL was built without OpenSSL, which has AES."),
			 errhint("Build PostgreSQL with --with-ssl=openssl, and flakeid again.")));
}

void
flake_ff1_free(Ff1Key *key)
{
}

static void
encrypt_block(Ff1Key *key, uint8 block[BLOCK_LEN])
{
}

#endif							/* USE_OPENSSL */

static uint64
power(uint64 base, uint32 exponent)
{
	uint64		result = 1;

	while (exponent-- > 0)
		result *= base;
	return result;
}

/* The number that bytes are, the first one the most significant, modulo m. */
static uint64
modulo(const uint8 *bytes, int length, uint64 m)
{
	uint64		result = 0;

	/* Only the last bytes matter, and what overflows does not. */
	if ((m & (m - 1)) == 0)
	{
		memcpy(&result, bytes + length - sizeof(result), sizeof(result));
		return pg_ntoh64(result) & (m - 1);
	}
	for (int i = 0; i < length; i++)
		result = (result << 8 | bytes[i]) % m;
	return result;
}

void
flake_ff1(Ff1Key *key, const Ff1Format *format, bool decrypt, uint64 halves[2])
{
	uint32		u = format->length / 2;
	uint32		v = format->length - u;
	const uint64 moduli[2] = {power(format->radix, u), power(format->radix, v)};
	int			b = pg_leftmost_one_pos64(moduli[1] - 1) / 8 + 1;
	int			d = 4 * ((b + 3) / 4) + 4;
	uint32		q_length = TYPEALIGN(BLOCK_LEN, format->tweak_length + b + 1);
	uint8		q[TYPEALIGN(BLOCK_LEN, FLAKE_FF1_MAX_TWEAK_LEN + 8)] = {0};
	uint8	   *q_round = q + q_length - b - 1;
	uint8		p[BLOCK_LEN] = {1, 2, 1};
	uint32		word;

	Assert(moduli[0] <= FLAKE_FF1_MAX_HALF && moduli[1] <= FLAKE_FF1_MAX_HALF);
	Assert(halves[0] < moduli[0] && halves[1] < moduli[1]);
	Assert(d >= (int) sizeof(uint64) && d <= BLOCK_LEN && q_length <= sizeof(q));

	word = pg_hton32(format->radix << 8 | 10);
	memcpy(p + 3, &word, sizeof(word));
	p[7] = (uint8) u;
	word = pg_hton32(format->length);
	memcpy(p + 8, &word, sizeof(word));
	word = pg_hton32(format->tweak_length);
	memcpy(p + 12, &word, sizeof(word));
	encrypt_block(key, p);

	if (format->tweak_length > 0)
		memcpy(q, format->tweak, format->tweak_length);
	for (int step = 0; step < ROUNDS; step++)
	{
		int			i = decrypt ? ROUNDS - 1 - step : step;
		uint64		m = moduli[i % 2];

		/* Forwards B goes in and A is changed; backwards the other way. */
		uint64		in = halves[decrypt ? 0 : 1];
		uint64		changed = halves[decrypt ? 1 : 0];
		uint8		r[BLOCK_LEN];
		uint64		y;

		q_round[0] = (uint8) i;
		for (int byte = b; byte > 0; byte--, in >>= 8)
			q_round[byte] = (uint8) in;
		memcpy(r, p, BLOCK_LEN);
		for (uint32 at = 0; at < q_length; at += BLOCK_LEN)
		{
			for (int byte = 0; byte < BLOCK_LEN; byte++)
				r[byte] ^= q[at + byte];
			encrypt_block(key, r);
		}
		y = modulo(r, d, m);
		if (decrypt)
		{
			halves[1] = halves[0];
			halves[0] = (changed + (m - y)) % m;
		}
		else
		{
			halves[0] = halves[1];
			halves[1] = (changed + y) % m;
		}
	}
}
