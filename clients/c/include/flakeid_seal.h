/*-------------------------------------------------------------------------
 *
 * flakeid_seal.h
 *	  Sealed ids: they tell neither time nor shard nor how many there are.  As the
 *	  SQL functions flake_seal() and flake_seal_text(): see docs/sealed-ids.md.
 *
 * Link with -lflakeid-seal, which needs libcrypto of OpenSSL 1.1.1 or later.  The
 * conventions are those of flakeid.h.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SEAL_H
#define FLAKEID_SEAL_H

#include "flakeid.h"

/* A key, expanded.  One thread at a time can use it: make one for each thread. */
typedef struct flakeid_seal_key flakeid_seal_key;

/* Room for any sealed text. */
#define FLAKEID_SEALED_TEXT_LEN 23

/*
 * Makes a key of 16, 24 or 32 bytes, for AES-128, AES-192 or AES-256.
 * FLAKEID_INVALID_ARGUMENT for another length, and if OpenSSL cannot do AES.
 */
FLAKEID_API flakeid_code flakeid_seal_key_new(const uint8_t *bytes, size_t length,
											  flakeid_seal_key **key, flakeid_error *error);

/* Wipes and frees a key.  NULL is allowed. */
FLAKEID_API void flakeid_seal_key_free(flakeid_seal_key *key);

/* Any number has a sealed form, and is one. */
FLAKEID_API int64_t flakeid_seal(flakeid_seal_key *key, int64_t id);
FLAKEID_API int64_t flakeid_unseal(flakeid_seal_key *key, int64_t sealed);

/*
 * The same as text: the version of the key (1 or more), "-" and 11 digits of base 62.
 * FLAKEID_INVALID_ARGUMENT for a version below 1, and for a text that is none or has
 * another version than the key.
 */
FLAKEID_API flakeid_code flakeid_seal_text(flakeid_seal_key *key, int32_t version, int64_t id,
										   char text[FLAKEID_SEALED_TEXT_LEN],
										   flakeid_error *error);
FLAKEID_API flakeid_code flakeid_unseal_text(flakeid_seal_key *key, int32_t version,
											 const char *text, int64_t *id,
											 flakeid_error *error);

/* The version that a sealed text names, to choose the key by. */
FLAKEID_API flakeid_code flakeid_sealed_version(const char *text, int32_t *version,
												flakeid_error *error);

#endif							/* FLAKEID_SEAL_H */
