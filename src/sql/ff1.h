/*-------------------------------------------------------------------------
 *
 * ff1.h
 *	  Format-preserving encryption by FF1 of NIST SP 800-38G.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_FF1_H
#define FLAKEID_FF1_H

#pragma GCC visibility push(hidden)

#define FLAKE_FF1_MAX_KEY_LEN	32
#define FLAKE_FF1_MAX_TWEAK_LEN 40

/* Each half of what is encrypted must be a number below this. */
#define FLAKE_FF1_MAX_HALF		(UINT64CONST(1) << 56)

/* An AES key, expanded. */
typedef struct evp_cipher_ctx_st Ff1Key;

/* What is encrypted: so many numerals of a radix, and a tweak that is no secret. */
typedef struct Ff1Format
{
	uint32		radix;			/* 2 to 65536 */
	uint32		length;			/* numerals; at least 2 */
	const uint8 *tweak;
	uint32		tweak_length;
} Ff1Format;

/* AES-128, AES-192 or AES-256, by the key's length. */
extern bool flake_ff1_is_key_length(Size length);

/*
 * Expands a key of such a length, into memory of OpenSSL's.  ERROR 0A000 if the
 * server was built without it.
 */
extern Ff1Key *flake_ff1_expand(const uint8 *key, int length);

/* Wipes and frees it. */
extern void flake_ff1_free(Ff1Key *key);

/*
 * Encrypts, or decrypts, the two halves of a string of numerals in place: the
 * number that the first length / 2 numerals are, and that of the others.
 */
extern void flake_ff1(Ff1Key *key, const Ff1Format *format, bool decrypt,
					  uint64 halves[2]);

#pragma GCC visibility pop

#endif							/* FLAKEID_FF1_H */
