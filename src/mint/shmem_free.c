/*-------------------------------------------------------------------------
 *
 * shmem_free.c
 *	  Freeing what dropped databases and generators have left.
 *
 * A session frees it that is about to make a new entry.  It looks only if
 * PostgreSQL has announced that some database or relation has changed since it
 * last looked.
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
#include "catalog/pg_database.h"
#include "compat.h"
#include "lib/dshash.h"
#include "lib/qunique.h"
#include "mint/entry.h"
#include "mint/locks.h"
#include "mint/relation_change.h"
#include "mint/shmem_area.h"
#include "mint/shmem_free.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/sinval.h"
#include "trust/relation.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

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
relation_changed(Oid relid)
{
	relations_changed = true;
}

void
flake_shmem_free_init(void)
{
	CacheRegisterSyscacheCallback(DATABASEOID, database_changed, (Datum) 0);
	flake_on_relation_change(relation_changed);
}

/* Something whose entries go when it is dropped: databases, or generators. */
typedef struct Droppable
{
	/* Its OID, or InvalidOid if the key is not that of any such thing. */
	Oid			(*of_key) (const FlakeKey *key);

	bool		(*exists) (Oid oid);

	/* Keeps others from using it; false if that would mean waiting. */
	bool		(*lock) (Oid oid);
	void		(*unlock) (Oid oid);

	/* Tells others that it is gone.  Null if nobody can use it any more. */
	void		(*announce) (Oid oid);
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
		dshash_seq_init(&scan, flake_horizons, false);
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
 * Looks with a snapshot from now: the one that is used for catalogs may be
 * older, and whoever created a database may not yet have sent the message that
 * would renew it.
 */
static void
renew_catalog_snapshot(void)
{
	AcceptInvalidationMessages();
	InvalidateCatalogSnapshot();
}

/*
 * Locks one, if it is dropped for good, and returns whether it did.  Between a
 * first look and the lock, something else may have got its OID.
 */
static bool
lock_if_dropped(const Droppable *kind, Oid oid)
{
	if (kind->exists(oid) || !kind->lock(oid))
		return false;
	renew_catalog_snapshot();
	if (!kind->exists(oid))
	{
		if (kind->announce != NULL)
			kind->announce(oid);
		return true;
	}
	kind->unlock(oid);
	return false;
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
		if (lock_if_dropped(kind, oids[i]))
			batch[size++] = oids[i];
		if (size == BATCH_SIZE || (size > 0 && i + 1 == n))
		{
			/* The horizons go last: what is to be freed is found by them. */
			delete_entries(flake_slots, kind, batch, size);
			delete_entries(flake_settled_table, kind, batch, size);
			delete_entries(flake_horizons, kind, batch, size);
			while (size > 0)
				kind->unlock(batch[--size]);
		}
	}
	pfree(oids);
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
lock_tag_of_database(LOCKTAG *tag, Oid database)
{
	SET_LOCKTAG_OBJECT(*tag, InvalidOid, DatabaseRelationId, database, 0);
}

/*
 * Nobody uses a pointer into a dropped database's entries, because no session is
 * connected to it.  CREATE DATABASE ... OID can make another one with its OID at
 * any time; but while we hold this lock, nobody can connect to that.
 */
static bool
lock_database(Oid database)
{
	LOCKTAG		tag;

	lock_tag_of_database(&tag, database);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

static void
unlock_database(Oid database)
{
	LOCKTAG		tag;

	lock_tag_of_database(&tag, database);
	LockRelease(&tag, ExclusiveLock, false);
}

static const Droppable droppable_databases = {
	.of_key = database_of_key,
	.exists = database_exists,
	.lock = lock_database,
	.unlock = unlock_database,
};

/* Of this database, and not of the extension's own. */
static Oid
generator_of_key(const FlakeKey *key)
{
	return key->database == MyDatabaseId && key->generator >= FLAKE_BUILTINS
		? key->generator : InvalidOid;
}

/* Whether there is one, also if what has made it, or drops it, is not committed. */
static bool
generator_exists(Oid generator)
{
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(generator)) ||
		flake_uncommitted(generator, InvalidOid).changed;
}

/*
 * Whether this transaction has a pointer into its entries: it has minted or backfilled,
 * and what has made the generator was undone since.
 */
static bool
is_used_by_us(const LOCKTAG *relation)
{
	return flake_lock_is_held(relation, RowExclusiveLock);
}

/*
 * While we hold our lock, which conflicts with that of minting, nobody uses a pointer into
 * its entries.
 */
static bool
lock_generator(Oid generator)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, generator);
	return !is_used_by_us(&tag) &&
		ConditionalLockRelationOid(generator, ExclusiveLock);
}

/*
 * Whoever locks the sequence after us is to learn that it is gone before anything else.
 * A transaction that has dropped it announces that while it has its lock on it, or
 * without: see relation.c.  Then it can be over, and not have come to that.
 */
static void
announce_generator(Oid generator)
{
	SharedInvalidationMessage message = {0};

	message.rc.id = SHAREDINVALRELCACHE_ID;
	message.rc.dbId = MyDatabaseId;
	message.rc.relId = generator;
	SendSharedInvalidMessages(&message, 1);
}

static void
unlock_generator(Oid generator)
{
	UnlockRelationOid(generator, ExclusiveLock);
}

static const Droppable droppable_generators = {
	.of_key = generator_of_key,
	.exists = generator_exists,
	.lock = lock_generator,
	.announce = announce_generator,
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
		flake_locks_release();
		*changed = true;
		PG_RE_THROW();
	}
	PG_END_TRY();
}

void
flake_shmem_make_room(void)
{
	/* A parallel worker, which does not know its leader's locks, never mints. */
	Assert(!IsParallelWorker());

	forget_if_changed(&droppable_databases, &databases_changed);
	forget_if_changed(&droppable_generators, &relations_changed);
}
