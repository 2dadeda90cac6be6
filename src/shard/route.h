/*-------------------------------------------------------------------------
 *
 * route.h
 *	  The map of shards and servers.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_ROUTE_H
#define FLAKEID_ROUTE_H

#pragma GCC visibility push(hidden)

/* Shards from lower to upper, both included. */
typedef struct ShardRange
{
	int64		lower;
	int64		upper;
} ShardRange;

/* Whether flake_shard_map has a shard now. */
extern bool flake_map_has(int32 shard, Oid function);

/* All ranges that flake_shard_map has now; palloc'd. */
extern ShardRange *flake_map_ranges(Oid function, int *count);

#pragma GCC visibility pop

#endif							/* FLAKEID_ROUTE_H */
