/*-------------------------------------------------------------------------
 *
 * lease.h
 *	  Shards that processes outside of the database mint.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LEASE_H
#define FLAKEID_LEASE_H

#include "datatype/timestamp.h"

#pragma GCC visibility push(hidden)

/*
 * Forgets the lease of a shard, if there is one, because this server is to mint
 * the shard, or another.  True if there was one, and sets *upto: ids of that
 * time or later were not minted.  ERROR 55006 if it may still be in use.
 */
extern bool flake_lease_end(Oid sequence, int32 shard, Oid function,
							TimestampTz *upto);

#pragma GCC visibility pop

#endif							/* FLAKEID_LEASE_H */
