/*-------------------------------------------------------------------------
 *
 * seal_key.h
 *	  The keys that ids are sealed with.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SEAL_KEY_H
#define FLAKEID_SEAL_KEY_H

#include "nodes/pg_list.h"
#include "sql/ff1.h"

#pragma GCC visibility push(hidden)

/* The foreign-data wrapper whose servers are keys, and whose options their versions. */
#define FLAKE_KEY_WRAPPER	"flake_key"
#define FLAKE_KEY_OPTION	"key_"

/* A key of 256 bits in hexadecimal digits, and a zero. */
#define FLAKE_KEY_TEXT_LEN	(2 * FLAKE_FF1_MAX_KEY_LEN + 1)

/*
 * A key of 16, 24 or 32 bytes, expanded; ERROR 22023 for another length.  What
 * these two return is valid until the next call of either, or the next look into
 * the catalogs.
 */
extern Ff1Key *flake_seal_key_of_bytes(const uint8 *bytes, Size length);

/*
 * A version of the key that has a name, for the current user; 0 is the newest, and
 * is replaced by its number.  ERROR 42704 if there is no such key or no mapping of
 * the user's, 42501 without USAGE, 22023 if there is no such version.
 */
extern Ff1Key *flake_seal_key_named(const char *name, int32 *version);

/* The server that is a key; ERROR 42704 if there is none. */
extern Oid	flake_seal_key_find(const char *name);

/*
 * The options of a user's mapping, or of that of PUBLIC with InvalidOid; false if
 * there is none.
 */
extern bool flake_seal_key_options(Oid server, Oid user, List **options);

/* The version that an option is named for; 0 if it is not named for one. */
extern int32 flake_seal_key_version(const char *option);

/* Reads a key in hexadecimal digits; its length, 0 if it is none. */
extern int	flake_seal_key_read(const char *text, uint8 bytes[FLAKE_FF1_MAX_KEY_LEN]);

/* At library load. */
extern void flake_seal_key_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_SEAL_KEY_H */
