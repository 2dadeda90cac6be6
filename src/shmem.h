/*-------------------------------------------------------------------------
 *
 * shmem.h
 *	  What flakeid keeps in shared memory, and how to find it.
 *
 * Two tables, both in dynamic shared memory, shared by all databases of the
 * server:
 *
 *	Horizon		one per generator: how far ids may go (see horizon.h)
 *	Slot		one per generator and shard: how far they have gone (slot.h)
 *
 * An entry never moves and stays as long as its database exists, so a
 * session may keep a pointer to it.  Entries are a multiple of a cache line
 * apart, so that sessions minting for different shards, and everybody reading
 * the horizon, do not disturb each other.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SHMEM_H
#define FLAKEID_SHMEM_H

#include "port/atomics.h"
#include "storage/lwlock.h"

#pragma GCC visibility push(hidden)

/* The type that PostgreSQL 19 gives to what was an int in syscache callbacks. */
#if PG_VERSION_NUM < 190000
typedef int SysCacheIdentifier;
#endif

/*
 * The extension's own generator goes by this number instead of the OID of its
 * sequence: a database has only one, and what is known about it must outlive
 * DROP EXTENSION and CREATE EXTENSION.
 */
#define FLAKE_DEFAULT_GENERATOR InvalidOid

typedef struct FlakeKey
{
	Oid			database;
	Oid			generator;		/* sequence, or FLAKE_DEFAULT_GENERATOR */
	int32		shard;			/* 0 in the key of a Horizon */
} FlakeKey;

typedef struct Horizon
{
	FlakeKey	key;			/* must be first */
	LWLock		lock;			/* held while the horizon is moved */
	pg_atomic_uint64 file;		/* the file that holds value durably */
	pg_atomic_uint64 value;		/* packed: no id may be above */
	pg_atomic_uint64 floor;		/* packed: every new id must be above */
} Horizon;

typedef struct Slot
{
	FlakeKey	key;			/* must be first */
	pg_atomic_uint64 last;		/* packed: the last value handed out */

	/* Statistics; minting does not depend on them. */
	pg_atomic_uint64 seen;		/* the latest clock reading, TimestampTz */
	pg_atomic_uint64 issued;	/* ids handed out */
	pg_atomic_uint64 waits;		/* times that a caller had to wait */
	pg_atomic_uint64 wait_us;	/* how long, in all */
	pg_atomic_uint64 clock_steps_back;	/* times the clock was seen behind */
} Slot;

/* Slot.last, Horizon.value and Horizon.floor when nothing is known yet. */
#define FLAKE_PACKED_NONE	PG_INT64_MIN

/* Asks for the header's memory at server start, if the library is preloaded. */
extern void flake_shmem_request(void);

/* Sets up the invalidation of what shmem.c keeps; at library load. */
extern void flake_shmem_init(void);

/*
 * The entry of this database's generator (and shard), made if there is none.
 * ERROR 53200 if shared memory, or what flakeid allows itself of it, is used
 * up; 53100 if the file system that holds it is.
 */
extern Horizon *flake_shmem_horizon(Oid generator);
extern Slot *flake_shmem_slot(Oid generator, int32 shard);

/* Calls visit for every slot of this database, in no particular order. */
typedef void (*FlakeSlotVisitor) (Slot *slot, void *arg);
extern void flake_shmem_each_slot(FlakeSlotVisitor visit, void *arg);

#pragma GCC visibility pop

#endif							/* FLAKEID_SHMEM_H */
