/*-------------------------------------------------------------------------
 *
 * shard_for.c
 *	  The shard of a key: XXH64 with seed 0, modulo the number of shards, as
 *	  src/shard/route.c of the extension.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "internal.h"

#ifndef __clang_analyzer__
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

static flakeid_code
shard_of_bytes(const void *bytes, size_t length, int32_t shards, int32_t *shard,
			   flakeid_error *error)
{
	if (shards < 1)
		return fail_argument(error, "number of shards must be at least 1, and is %d", shards);
	*shard = (int32_t) (XXH64(bytes, length, 0) % (uint64) shards);
	return FLAKEID_OK;
}

flakeid_code
flakeid_shard_for_bigint(int64_t key, int32_t shards, int32_t *shard, flakeid_error *error)
{
	uint8_t		bytes[8];		/* little-endian */

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t) ((uint64) key >> (8 * i));
	return shard_of_bytes(bytes, sizeof(bytes), shards, shard, error);
}

flakeid_code
flakeid_shard_for_text(const char *key, size_t length, int32_t shards, int32_t *shard,
					   flakeid_error *error)
{
	return shard_of_bytes(key, length, shards, shard, error);
}

flakeid_code
flakeid_shard_for_uuid(const uint8_t key[16], int32_t shards, int32_t *shard,
					   flakeid_error *error)
{
	return shard_of_bytes(key, 16, shards, shard, error);
}
