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

/* What flake_shard_map has, the lowest shards first. */
typedef struct ShardMap
{
	int			count;
	ShardRange *ranges;
} ShardMap;

/*
 * Reads flake_shard_map as it is now; palloc'd.  ERROR 55P03 if others keep a page of
 * it locked: its creator can, and whoever calls this may hold locks.
 */
extern ShardMap *flake_map_read(Oid function);

extern bool flake_map_has(const ShardMap *map, int32 shard);

#pragma GCC visibility pop

#endif							/* FLAKEID_ROUTE_H */
