/*-------------------------------------------------------------------------
 *
 * holders.h
 *	  Which open transactions have minted, and above what.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_HOLDERS_H
#define FLAKEID_HOLDERS_H

#include "access/transam.h"
#include "mint/entry.h"
#include "nodes/pg_list.h"

#pragma GCC visibility push(hidden)

/*
 * Registers that this session's transaction is about to mint from a generator, or
 * one shard of it.  Until flake_holder_set() the entry holds every bound where it
 * was.  Returns the number of the entry; -1 if the transaction has registered
 * before, or has as many already as fit.  A full memory barrier if it has not.
 *
 * The session is connected to shared memory.
 */
extern int	flake_holder_begin(Oid generator, int32 shard);

/*
 * Whether this session's transaction has registered to mint from a generator of this
 * database, any shard of it; true, too, if it has registered more than fits.
 */
extern bool flake_holder_may_hold(Oid generator);

/* Lets an entry say what all ids of the transaction are above. */
extern void flake_holder_set(int entry, int64 above);

/*
 * Lets this session's transaction hold no more than a packed value of a generator that
 * is set back to it: its next ids are above that, also if a subtransaction is undone and
 * the lock on the generator goes (S1).
 */
extern void flake_holder_lower(Oid generator, int64 above);

/*
 * The least of a packed value and of what open transactions hold that have minted
 * from a generator of this database, or a shard of it; FLAKE_PACKED_NONE if one
 * has just begun, or has more than fits.  In a layout with time the shard is
 * FLAKE_EVERY_SHARD.  Prepared transactions count, also from before a restart.
 */
extern int64 flake_holders_least(Oid generator, int32 shard, int64 packed);

/* One who holds. */
typedef struct HolderInfo
{
	FlakeKey	key;			/* generator is InvalidOid with overflow */
	bool		overflow;		/* more than fits: all of the database's */
	int64		above;			/* packed, or FLAKE_PACKED_NONE */
	TimestampTz since;			/* 0 if not known */
	int			pid;			/* of a process, or 0 */
	TransactionId xid;			/* of a prepared transaction, or invalid */
} HolderInfo;

/* A list of HolderInfo, of this database's. */
extern List *flake_holders_list(void);

/* Sets up what happens at the end of transactions; at library load. */
extern void flake_holders_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_HOLDERS_H */
