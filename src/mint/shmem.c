/*-------------------------------------------------------------------------
 *
 * shmem.c
 *	  Finding what flakeid keeps in shared memory: an entry is made when it is
 *	  asked for the first time.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlogdefs.h"
#include "layout/layout.h"
#include "lib/dshash.h"
#include "mint/entry.h"
#include "mint/locks.h"
#include "mint/shmem.h"
#include "mint/shmem_area.h"
#include "mint/shmem_free.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"

/* Adds to the server's "out of memory" what it means here. */
static void
out_of_memory_callback(void *arg)
{
	/* The latter from a full /dev/shm. */
	if (geterrcode() == ERRCODE_OUT_OF_MEMORY ||
		geterrcode() == ERRCODE_DISK_FULL)
		errhint("flakeid uses up to %d MB of dynamic shared memory, about 150 bytes for each shard of each database that ids were minted for since the server started.",
				FLAKE_AREA_LIMIT_MB);
	errcontext("shared memory entry of shard %d", *(int32 *) arg);
}

static FlakeKey
make_key(Oid database, Oid generator, int32 shard)
{
	FlakeKey	key;

	StaticAssertStmt(sizeof(FlakeKey) == 3 * sizeof(int32),
					 "keys are hashed as they lie in memory: no padding");
	key.database = database;
	key.generator = generator;
	key.shard = shard;
	return key;
}

/*
 * Makes an entry, or finds what another session has made meanwhile.  A new
 * one is initialized while nobody else can see it.
 */
static void *
make(dshash_table *table, FlakeKey key, void (*init) (void *entry))
{
	ErrorContextCallback callback;
	void	   *entry = NULL;
	bool		found = false;

	callback.callback = out_of_memory_callback;
	callback.arg = &key.shard;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	FLAKE_TRY_LOCKED();
	{
		entry = dshash_find_or_insert(table, &key, &found);
	}
	FLAKE_END_LOCKED();
	error_context_stack = callback.previous;

	/* The lock on the entry's partition hides it until then. */
	if (!found)
		init(entry);
	dshash_release_lock(table, entry);
	return entry;
}

static void
init_horizon(void *entry)
{
	Horizon    *horizon = entry;

	LWLockInitialize(&horizon->lock, flake_shmem_tranche());
	pg_atomic_init_u32(&horizon->warned, 0);
	horizon->incarnation = FLAKE_NO_INCARNATION;
	horizon->tablespace = InvalidOid;
	horizon->found = FLAKE_PACKED_NONE;
	pg_atomic_init_u64(&horizon->file, 0);
	pg_atomic_init_u64(&horizon->value, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&horizon->floor, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&horizon->lsn, InvalidXLogRecPtr);
	pg_atomic_init_u64(&horizon->asked, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&horizon->refused, 0);
}

static void
reset_settled(Settled *settled)
{
	settled->epoch = pg_atomic_add_fetch_u64(&flake_holders->epochs, 1);
	settled->latest = FLAKE_PACKED_NONE;
	settled->confirmed = FLAKE_PACKED_NONE;
	settled->pending_lsn = InvalidXLogRecPtr;
}

static void
init_settled(void *entry)
{
	Settled    *settled = entry;

	LWLockInitialize(&settled->lock, flake_shmem_tranche());
	reset_settled(settled);
}

static void
init_slot(void *entry)
{
	Slot	   *slot = entry;

	pg_atomic_init_u64(&slot->last, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&slot->resume, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&slot->backfilled, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&slot->minted, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&slot->seen, 0); /* 2000-01-01 */
	pg_atomic_init_u64(&slot->issued, 0);
	pg_atomic_init_u64(&slot->waits, 0);
	pg_atomic_init_u64(&slot->wait_us, 0);
	pg_atomic_init_u64(&slot->refused, 0);
	pg_atomic_init_u64(&slot->clock_steps_back, 0);
	LWLockInitialize(&slot->lock, flake_shmem_tranche());
}

/*
 * The entry of a key, made if there is none.  No lock on it is kept (see
 * entry.h).
 */
static void *
find_or_make(dshash_table **table, FlakeKey key, void (*init) (void *entry))
{
	void	   *entry = NULL;

	flake_shmem_attach();
	FLAKE_TRY_LOCKED();
	{
		entry = dshash_find(*table, &key, false);
	}
	FLAKE_END_LOCKED();
	if (entry != NULL)
	{
		dshash_release_lock(*table, entry);
		return entry;
	}
	flake_shmem_make_room();
	return make(*table, key, init);
}

Horizon *
flake_shmem_horizon(Oid generator)
{
	return find_or_make(&flake_horizons, make_key(MyDatabaseId, generator, 0),
						init_horizon);
}

Settled *
flake_shmem_settled(Oid generator, int32 shard)
{
	return find_or_make(&flake_settled_table,
						make_key(MyDatabaseId, generator, shard), init_settled);
}

void
flake_shmem_each_settled(FlakeSettledVisitor visit, void *arg)
{
	flake_shmem_attach();
	FLAKE_TRY_LOCKED();
	{
		dshash_seq_status scan;
		Settled    *settled;

		dshash_seq_init(&scan, flake_settled_table, false);
		while ((settled = dshash_seq_next(&scan)) != NULL)
		{
			if (settled->key.database == MyDatabaseId)
				visit(settled, arg);
		}
		dshash_seq_term(&scan);
	}
	FLAKE_END_LOCKED();
}

bool
flake_shmem_has_settled(const FlakeKey *key)
{
	bool		result = false;

	flake_shmem_attach();
	FLAKE_TRY_LOCKED();
	{
		Settled    *settled = dshash_find(flake_settled_table, key, false);

		result = settled != NULL;
		if (result)
			dshash_release_lock(flake_settled_table, settled);
	}
	FLAKE_END_LOCKED();
	return result;
}

static void
forget_settled(Settled *settled, void *arg)
{
	const Oid  *generator = arg;

	if (settled->key.generator != *generator)
		return;
	LWLockAcquire(&settled->lock, LW_EXCLUSIVE);
	reset_settled(settled);
	LWLockRelease(&settled->lock);
}

void
flake_shmem_forget_settled(Oid generator)
{
	flake_shmem_each_settled(forget_settled, &generator);
}

/* The database in the key of a generator's slots. */
static Oid
slot_database(Oid generator)
{
	return generator == FLAKE_UUID || generator == FLAKE_OBJECTID
		? InvalidOid : MyDatabaseId;
}

Slot *
flake_shmem_slot(Oid generator, int32 shard)
{
	return find_or_make(&flake_slots,
						make_key(slot_database(generator), generator, shard),
						init_slot);
}

void
flake_shmem_visit_slot(Oid generator, int32 shard, FlakeSlotVisitor visit, void *arg)
{
	FlakeKey	key = make_key(slot_database(generator), generator, shard);

	flake_shmem_attach();
	FLAKE_TRY_LOCKED();
	{
		Slot	   *slot = dshash_find(flake_slots, &key, false);

		if (slot != NULL)
		{
			visit(slot, arg);
			dshash_release_lock(flake_slots, slot);
		}
	}
	FLAKE_END_LOCKED();
}

void
flake_shmem_each_slot(FlakeSlotVisitor visit, void *arg)
{
	flake_shmem_attach();
	FLAKE_TRY_LOCKED();
	{
		dshash_seq_status scan;
		Slot	   *slot;

		dshash_seq_init(&scan, flake_slots, false);
		while ((slot = dshash_seq_next(&scan)) != NULL)
		{
			if (slot->key.database == slot_database(slot->key.generator))
				visit(slot, arg);
		}
		dshash_seq_term(&scan);
	}
	FLAKE_END_LOCKED();
}

void
flake_shmem_each_horizon(FlakeHorizonVisitor visit, void *arg)
{
	flake_shmem_attach();
	FLAKE_TRY_LOCKED();
	{
		dshash_seq_status scan;
		Horizon    *horizon;

		dshash_seq_init(&scan, flake_horizons, false);
		while ((horizon = dshash_seq_next(&scan)) != NULL)
		{
			if (horizon->key.database == MyDatabaseId)
				visit(horizon, arg);
		}
		dshash_seq_term(&scan);
	}
	FLAKE_END_LOCKED();
}
