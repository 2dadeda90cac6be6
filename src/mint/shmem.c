/*-------------------------------------------------------------------------
 *
 * shmem.c
 *	  flakeid's shared memory: a small fixed header and, reached through it,
 *	  a dynamic area with two hash tables.
 *
 * No preloading is needed.  The first session that mints after a server start
 * makes everything.  The header is a named DSM segment on PostgreSQL 17 and
 * later; before, it comes from the slack that the server's main shared memory
 * always has (as pg_prewarm's does when it is not preloaded).
 *
 * After a crash the server starts with fresh shared memory.  That is safe:
 * whatever was here is bounded by the horizon on disk.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_database.h"
#include "layout/layout.h"
#include "lib/dshash.h"
#include "lib/qunique.h"
#include "mint/shmem.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/dsa.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#define TRANCHE_NAME	"flakeid"

/* Room for about 450,000 slots; taken only as they are needed. */
#define AREA_LIMIT_MB	64

typedef struct ShmemHeader
{
	uint8		server_value[FLAKE_SERVER_VALUE_LEN];
	LWLock		lock;			/* held while the area is being created */
	dsa_handle	area;			/* DSM_HANDLE_INVALID until it is */
	dshash_table_handle horizons;
	dshash_table_handle slots;
} ShmemHeader;

/*
 * A dshash entry lies behind an item header of two words, and dsa serves
 * anything from 113 to 128 bytes from an array of 128-byte pieces: each entry
 * has two cache lines to itself.
 */
#define ITEM_HEADER_SIZE	MAXALIGN(sizeof(dsa_pointer) + sizeof(dshash_hash))
#define ENTRY_SIZE			(128 - ITEM_HEADER_SIZE)

StaticAssertDecl(sizeof(Horizon) <= ENTRY_SIZE, "a horizon fits its entry");
StaticAssertDecl(sizeof(Slot) <= ENTRY_SIZE, "a slot fits its entry");

static const ShmemHeader *shmem_header = NULL;
static dsa_area *area = NULL;
static dshash_table *horizons = NULL;
static dshash_table *slots = NULL;

/* The same for both tables; the tranche is filled in by shmem_attach(). */
static dshash_parameters table_params = {
	.key_size = sizeof(FlakeKey),
	.entry_size = ENTRY_SIZE,
	.compare_function = dshash_memcmp,
	.hash_function = dshash_memhash,
#if PG_VERSION_NUM >= 170000
	.copy_function = dshash_memcpy,
#endif
};

/*
 * What goes into the header's server_value.  It is drawn before the header is
 * made, as that can fail, and a header that is not complete would be taken for
 * one that is.
 */
static uint8 drawn[FLAKE_SERVER_VALUE_LEN];

#if PG_VERSION_NUM >= 190000
static void
header_init(void *ptr, void *arg)
#else
static void
header_init(void *ptr)
#endif
{
	ShmemHeader *header = ptr;

#if PG_VERSION_NUM >= 190000
	LWLockInitialize(&header->lock, LWLockNewTrancheId(TRANCHE_NAME));
#else
	LWLockInitialize(&header->lock, LWLockNewTrancheId());
#endif
	header->area = DSM_HANDLE_INVALID;
	memcpy(header->server_value, drawn, FLAKE_SERVER_VALUE_LEN);
}

/* Finds or makes the header. */
static ShmemHeader *
header_get(void)
{
	ShmemHeader *header;
	bool		found;

	if (!pg_strong_random(drawn, FLAKE_SERVER_VALUE_LEN))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));

#if PG_VERSION_NUM >= 190000
	header = GetNamedDSMSegment(TRANCHE_NAME, sizeof(ShmemHeader),
								header_init, &found, NULL);
#elif PG_VERSION_NUM >= 170000
	header = GetNamedDSMSegment(TRANCHE_NAME, sizeof(ShmemHeader),
								header_init, &found);
#else
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	header = ShmemInitStruct(TRANCHE_NAME, sizeof(ShmemHeader), &found);
	if (!found)
		header_init(header);
	LWLockRelease(AddinShmemInitLock);
#endif

#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(header->lock.tranche, TRANCHE_NAME);
#endif
	return header;
}

/*
 * Makes the area and its tables.  The area is pinned, so that it outlives its
 * creator, only when nothing can fail any more: until then an error lets the
 * resource owner take everything back.
 */
static void
area_create(ShmemHeader *header)
{
	dsa_area   *new_area = dsa_create(header->lock.tranche);
	dshash_table *new_horizons;
	dshash_table *new_slots;

	dsa_set_size_limit(new_area, (size_t) AREA_LIMIT_MB * 1024 * 1024);
	new_horizons = dshash_create(new_area, &table_params, NULL);
	new_slots = dshash_create(new_area, &table_params, NULL);

	dsa_pin(new_area);
	dsa_pin_mapping(new_area);
	header->horizons = dshash_get_hash_table_handle(new_horizons);
	header->slots = dshash_get_hash_table_handle(new_slots);
	header->area = dsa_get_handle(new_area);

	area = new_area;
	horizons = new_horizons;
	slots = new_slots;
}

static void
area_attach(const ShmemHeader *header)
{
	dsa_area   *new_area = dsa_attach(header->area);

	horizons = dshash_attach(new_area, &table_params, header->horizons, NULL);
	slots = dshash_attach(new_area, &table_params, header->slots, NULL);
	dsa_pin_mapping(new_area);
	area = new_area;
}

/* Connects this session to the tables, once. */
static void
shmem_attach(void)
{
	ShmemHeader *header;
	MemoryContext old_context;

	if (area != NULL)
		return;

	header = header_get();
	table_params.tranche_id = header->lock.tranche;

	old_context = MemoryContextSwitchTo(TopMemoryContext);
	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	if (header->area == DSM_HANDLE_INVALID)
		area_create(header);
	else
		area_attach(header);
	LWLockRelease(&header->lock);
	MemoryContextSwitchTo(old_context);
	shmem_header = header;
}

void
flake_shmem_request(void)
{
#if PG_VERSION_NUM < 170000
	RequestAddinShmemSpace(MAXALIGN(sizeof(ShmemHeader)));
#endif
}

/* Adds to the server's "out of memory" what it means here. */
static void
out_of_memory_callback(void *arg)
{
	/* The latter from a full /dev/shm. */
	if (geterrcode() == ERRCODE_OUT_OF_MEMORY ||
		geterrcode() == ERRCODE_DISK_FULL)
		errhint("flakeid uses up to %d MB of dynamic shared memory, about 150 bytes for each shard of each database that ids were minted for since the server started.",
				AREA_LIMIT_MB);
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

/* Finds an entry; NULL if there is none.  No lock on it is kept (see shmem.h). */
static void *
find(dshash_table *table, FlakeKey key)
{
	void	   *entry = dshash_find(table, &key, false);

	if (entry != NULL)
		dshash_release_lock(table, entry);
	return entry;
}

/*
 * Makes an entry, or finds what another session has made meanwhile.  A new
 * one is initialized while nobody else can see it.
 */
static void *
make(dshash_table *table, FlakeKey key, void (*init) (void *entry))
{
	ErrorContextCallback callback;
	void	   *entry;
	bool		found;

	callback.callback = out_of_memory_callback;
	callback.arg = &key.shard;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	entry = dshash_find_or_insert(table, &key, &found);
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

	LWLockInitialize(&horizon->lock, table_params.tranche_id);
	horizon->incarnation = InvalidTransactionId;
	pg_atomic_init_u64(&horizon->file, 0);
	pg_atomic_init_u64(&horizon->value, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&horizon->floor, (uint64) FLAKE_PACKED_NONE);
}

static void
init_slot(void *entry)
{
	Slot	   *slot = entry;

	pg_atomic_init_u64(&slot->last, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&slot->resume, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_init_u64(&slot->seen, 0); /* 2000-01-01 */
	pg_atomic_init_u64(&slot->issued, 0);
	pg_atomic_init_u64(&slot->waits, 0);
	pg_atomic_init_u64(&slot->wait_us, 0);
	pg_atomic_init_u64(&slot->clock_steps_back, 0);
	LWLockInitialize(&slot->lock, table_params.tranche_id);
}

/* Something whose entries go when it is dropped: databases, or generators. */
typedef struct Droppable
{
	/* Its OID, or InvalidOid if the key is not that of any such thing. */
	Oid			(*of_key) (const FlakeKey *key);

	/* Locks it, if it is dropped for good, and returns whether it did. */
	bool		(*lock_if_dropped) (Oid oid);
	void		(*unlock) (Oid oid);
} Droppable;

/* Look for so many at once, which are locked together. */
#define BATCH_SIZE		64

/* Deletes every entry of some, of which the OIDs are in order. */
static void
delete_entries(dshash_table *table, const Droppable *kind,
			   const Oid *oids, int n)
{
	dshash_seq_status scan;
	FlakeKey   *key;

	dshash_seq_init(&scan, table, true);
	while ((key = dshash_seq_next(&scan)) != NULL)
	{
		Oid			oid = kind->of_key(key);

		if (bsearch(&oid, oids, n, sizeof(Oid), oid_cmp) != NULL)
			dshash_delete_current(&scan);
	}
	dshash_seq_term(&scan);
}

/*
 * The OIDs of all that have horizons, in order.  They are allocated before the
 * scan: nothing is to fail under a partition lock.
 */
static Oid *
list_with_horizons(const Droppable *kind, size_t *n)
{
	size_t		size = 512;

	for (;; size *= 2)
	{
		Oid		   *oids = palloc(size * sizeof(Oid));
		dshash_seq_status scan;
		FlakeKey   *key;

		*n = 0;
		dshash_seq_init(&scan, horizons, false);
		while ((key = dshash_seq_next(&scan)) != NULL)
		{
			Oid			oid = kind->of_key(key);

			if (!OidIsValid(oid))
				continue;
			if (*n < size)
				oids[*n] = oid;
			(*n)++;
		}
		dshash_seq_term(&scan);
		if (*n <= size)
		{
			qsort(oids, *n, sizeof(Oid), oid_cmp);
			*n = qunique(oids, *n, sizeof(Oid), oid_cmp);
			return oids;
		}
		pfree(oids);
	}
}

/*
 * Frees what is left of those that were dropped.  Many may have been, and the
 * tables be large: hence in batches, each with one pass over the tables, and
 * interruptibly in between.
 */
static void
forget_dropped(const Droppable *kind)
{
	size_t		n;
	Oid		   *oids = list_with_horizons(kind, &n);
	Oid			batch[BATCH_SIZE];
	int			size = 0;

	for (size_t i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (kind->lock_if_dropped(oids[i]))
			batch[size++] = oids[i];
		if (size == BATCH_SIZE || (size > 0 && i + 1 == n))
		{
			/* The horizons go last: what is to be freed is found by them. */
			delete_entries(slots, kind, batch, size);
			delete_entries(horizons, kind, batch, size);
			while (size > 0)
				kind->unlock(batch[--size]);
		}
	}
	pfree(oids);
}

/*
 * Whether a database or a relation may have been dropped since this session
 * last looked.  One that has just begun may not have been told.
 */
static bool databases_changed = true;
static bool relations_changed = true;

static void
database_changed(Datum arg, SysCacheIdentifier cacheid, uint32 hashvalue)
{
	databases_changed = true;
}

static void
relation_changed(Datum arg, Oid relid)
{
	relations_changed = true;
}

void
flake_shmem_init(void)
{
	CacheRegisterSyscacheCallback(DATABASEOID, database_changed, (Datum) 0);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

/*
 * Looks with a snapshot from now: the one that is used for catalogs may be
 * older, and the message that would renew it may not have been sent yet by
 * who created a database.
 */
static void
renew_catalog_snapshot(void)
{
	AcceptInvalidationMessages();
	InvalidateCatalogSnapshot();
}

/*
 * Whether there is a database.  The system cache could still say that there is
 * none when others are already connected to it.
 */
static bool
database_exists(Oid database)
{
	Relation	databases = table_open(DatabaseRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	bool		exists;

	ScanKeyInit(&key, Anum_pg_database_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(database));
	renew_catalog_snapshot();
	scan = systable_beginscan(databases, DatabaseOidIndexId, true, NULL, 1, &key);
	exists = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(databases, AccessShareLock);
	return exists;
}

static Oid
database_of_key(const FlakeKey *key)
{
	return key->database;
}

static void
lock_tag_of_database(LOCKTAG * tag, Oid database)
{
	SET_LOCKTAG_OBJECT(*tag, InvalidOid, DatabaseRelationId, database, 0);
}

static void
unlock_database(Oid database)
{
	LOCKTAG		tag;

	lock_tag_of_database(&tag, database);
	LockRelease(&tag, ExclusiveLock, false);
}

/*
 * Locks a database, if it is gone.
 *
 * Nobody uses a pointer into its entries, because no session is connected to
 * a dropped database.  CREATE DATABASE ... OID can make another one with its
 * OID at any time; but while we hold this lock, nobody can connect to that.
 */
static bool
lock_database_if_dropped(Oid database)
{
	LOCKTAG		tag;

	if (database_exists(database))
		return false;

	lock_tag_of_database(&tag, database);
	if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	if (!database_exists(database))
		return true;
	unlock_database(database);
	return false;
}

static const Droppable droppable_databases = {
	.of_key = database_of_key,
	.lock_if_dropped = lock_database_if_dropped,
	.unlock = unlock_database,
};

/* Whether this transaction may be the one that is dropping a relation. */
static bool
dropped_by_us(const LOCKTAG * relation)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(relation, AccessExclusiveLock, false);
#else
	return LockHeldByMe(relation, AccessExclusiveLock);
#endif
}

/* Of this database, and not of the extension's own. */
static Oid
generator_of_key(const FlakeKey *key)
{
	return key->database == MyDatabaseId && key->generator >= FLAKE_BUILTINS
		? key->generator : InvalidOid;
}

static void
unlock_generator(Oid generator)
{
	UnlockRelationOid(generator, ExclusiveLock);
}

/*
 * Locks a generator of this database, if its sequence is gone for good.
 *
 * While its creation or its end is not committed, somebody holds a lock on
 * the sequence: if not us, we do not get ours.  While we hold ours, which
 * conflicts with that of minting, nobody uses a pointer into its entries; and
 * who locks the sequence after us learns that it is gone before anything else.
 */
static bool
lock_generator_if_dropped(Oid generator)
{
	LOCKTAG		tag;

	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(generator)))
		return false;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, generator);
	if (dropped_by_us(&tag) ||
		!ConditionalLockRelationOid(generator, ExclusiveLock))
		return false;
	renew_catalog_snapshot();
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(generator)))
		return true;
	unlock_generator(generator);
	return false;
}

static const Droppable droppable_generators = {
	.of_key = generator_of_key,
	.lock_if_dropped = lock_generator_if_dropped,
	.unlock = unlock_generator,
};

/*
 * Frees what is left of those of a kind, if any may have been dropped.  What
 * changes meanwhile is to be looked at the next time; and all of it is, if
 * this does not come to its end.
 */
static void
forget_if_changed(const Droppable *kind, bool *changed)
{
	if (!*changed)
		return;
	*changed = false;
	PG_TRY();
	{
		forget_dropped(kind);
	}
	PG_CATCH();
	{
		*changed = true;
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* Makes room for new entries, if there may be any to free. */
static void
make_room(void)
{
	/* A parallel worker, which does not know its leader's locks, never mints. */
	Assert(!IsParallelWorker());

	forget_if_changed(&droppable_databases, &databases_changed);
	forget_if_changed(&droppable_generators, &relations_changed);
}

Horizon *
flake_shmem_horizon(Oid generator)
{
	FlakeKey	key = make_key(MyDatabaseId, generator, 0);
	Horizon    *horizon;

	shmem_attach();
	horizon = find(horizons, key);
	if (horizon == NULL)
	{
		make_room();
		horizon = make(horizons, key, init_horizon);
	}
	return horizon;
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
	FlakeKey	key = make_key(slot_database(generator), generator, shard);
	Slot	   *slot;

	shmem_attach();
	slot = find(slots, key);
	if (slot == NULL)
	{
		make_room();
		slot = make(slots, key, init_slot);
	}
	return slot;
}

void
flake_shmem_visit_slot(Oid generator, int32 shard, FlakeSlotVisitor visit, void *arg)
{
	FlakeKey	key = make_key(slot_database(generator), generator, shard);
	Slot	   *slot;

	shmem_attach();
	slot = dshash_find(slots, &key, false);
	if (slot == NULL)
		return;
	visit(slot, arg);
	dshash_release_lock(slots, slot);
}

void
flake_shmem_each_slot(FlakeSlotVisitor visit, void *arg)
{
	dshash_seq_status scan;
	Slot	   *slot;

	shmem_attach();
	dshash_seq_init(&scan, slots, false);
	while ((slot = dshash_seq_next(&scan)) != NULL)
	{
		if (slot->key.database == slot_database(slot->key.generator))
			visit(slot, arg);
	}
	dshash_seq_term(&scan);
}

const uint8 *
flake_shmem_server_value(void)
{
	shmem_attach();
	return shmem_header->server_value;
}
