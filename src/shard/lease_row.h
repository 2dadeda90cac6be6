/*-------------------------------------------------------------------------
 *
 * lease_row.h
 *	  The table of leases.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LEASE_ROW_H
#define FLAKEID_LEASE_ROW_H

#include "access/htup.h"
#include "access/skey.h"
#include "datatype/timestamp.h"
#include "trust/own_table.h"

#pragma GCC visibility push(hidden)

/*
 * How long the name of an owner can be, in bytes.  A much longer one would not fit
 * into the index of owners, and PostgreSQL says so while it keeps a page of that
 * locked.
 */
#define MAX_LEASE_OWNER_LEN	255

/* A row of the table flake_leases, but for generator and owner. */
typedef struct Lease
{
	int32		shard;
	Oid			role;			/* whose members renew and release it */
	TimestampTz not_before;
	TimestampTz expires_at;
	TimestampTz renewed_at;		/* when it was last leased or renewed */
} Lease;

/* A row of the table, but for its owner and its role. */
extern Lease flake_lease_get(const OwnTable *table, HeapTuple row);

/* Sets up what finds the leases of a generator, and the lease of a shard. */
extern void flake_lease_init_generator_key(ScanKeyData *key, Oid sequence);
extern void flake_lease_init_shard_keys(ScanKeyData keys[2], Oid sequence, int32 shard);

/* An instant that is later by so much; timestamps end, and so does this. */
extern TimestampTz flake_lease_later(TimestampTz ts, int64 us);

/*
 * Forgets the lease of a shard, if there is one, because this server is to mint
 * the shard, or another.  True if there was one, and sets *upto: ids of that
 * time or later were not minted.  ERROR 55006 if it may still be in use.
 */
extern bool flake_lease_end(Oid sequence, int32 shard, Oid function,
							TimestampTz *upto);

/* The same, though it may still be in use. */
extern bool flake_lease_break(Oid sequence, int32 shard, Oid function,
							  TimestampTz *upto);

#pragma GCC visibility pop

#endif							/* FLAKEID_LEASE_ROW_H */
