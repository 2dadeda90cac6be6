/*-------------------------------------------------------------------------
 *
 * horizon_database.c
 *	  Another database that has the OID of one that was dropped.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "common/hashfn.h"
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/horizon_database.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"

#ifdef __APPLE__
#define MTIME_NS(status)	((status).st_mtimespec.tv_nsec)
#else
#define MTIME_NS(status)	((status).st_mtim.tv_nsec)
#endif

/*
 * The databases that had an OID, one after the other, are told apart by their files
 * PG_VERSION: by which and of when it is.  PostgreSQL writes it when it makes the
 * database's directory, and never again.  (The row in pg_database will not do.  A
 * GRANT that grants nothing, which anybody may try who can connect, writes it anew.)
 */
uint64
flake_database_incarnation(void)
{
	char		path[MAXPGPATH];
	struct stat status;
	int64		made[3];
	uint64		result;

	snprintf(path, sizeof(path), "%s/PG_VERSION", DatabasePath);
	if (stat(path, &status) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	made[0] = (int64) status.st_ino;
	made[1] = (int64) status.st_mtime;
	made[2] = (int64) MTIME_NS(status);
	result = hash_bytes_extended((const unsigned char *) made, sizeof(made), 0);
	return result == FLAKE_NO_INCARNATION ? 1 : result;
}

/* Whether a slot is one of a horizon's. */
static bool
is_slot_of(const Slot *slot, const Horizon *shared)
{
	return slot->key.database == shared->key.database &&
		slot->key.generator == shared->key.generator;
}

static void
close_slot(Slot *slot, void *arg)
{
	if (is_slot_of(slot, arg))
		(void) flake_slot_close(slot);
}

bool
flake_horizon_is_other(const Horizon *shared, uint64 incarnation)
{
	return shared->incarnation != FLAKE_NO_INCARNATION && shared->incarnation != incarnation;
}

/*
 * CREATE DATABASE ... OID makes a database with the OID of one that was dropped, and so
 * can any CREATE DATABASE, by chance or because somebody has used up the OIDs between.
 * What is known here of that one's generators is then found for the new one's.  Its
 * slots may be open for shards that the new database has detached (F2), so they are
 * closed: whoever finds a slot closed looks into the table of states.  Its horizon may
 * be far in the future, so what the new one's own page says counts, as after a start of
 * the server (H3).
 *
 * Who calls holds the horizon's LWLock.  Every session of the new database comes
 * here before it uses a slot, and no session of the old one is left.  So nobody
 * mints from an open slot of the old database before the first session has
 * closed them all, and later ones find that this is done.
 *
 * ALTER DATABASE ... SET TABLESPACE, for which nobody may be connected, copies all files.
 * It is the same database then, and its extension may have been dropped, and the pages
 * with it.  So in another tablespace the horizon stays: it only makes ids greater.  (To
 * move a database and back, and not to mint between, is a start of the server to it.)
 *
 * An entry that is still empty has no slots: whoever makes those has been here,
 * and what frees both frees the slots first.  The slots that databases share,
 * for UUIDs and ObjectIDs, have no states and stay open.
 */
void
flake_horizon_forget_other(Horizon *shared)
{
	flake_shmem_each_slot(close_slot, shared);
	flake_shmem_forget_settled(shared->key.generator);
	if (shared->tablespace != MyDatabaseTableSpace)
		return;
	pg_atomic_write_u64(&shared->value, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&shared->floor, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&shared->asked, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&shared->refused, 0);
	pg_atomic_write_u32(&shared->warned, 0);
}

static void
forget_slot(Slot *slot, void *arg)
{
	Horizon    *shared = arg;

	if (!is_slot_of(slot, shared))
		return;
	pg_atomic_write_u64(&slot->backfilled, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&slot->minted, (uint64) FLAKE_PACKED_NONE);
	flake_slot_reset_counts(slot);
	flake_slot_rewind(slot, (int64) pg_atomic_read_u64(&shared->floor));
}

/*
 * Not to where a slot of which nothing is known is: should the file be another one by a
 * whim of the file system, others may have read an older floor.
 */
void
flake_horizon_forget_slots(Horizon *shared)
{
	if (shared->tablespace == MyDatabaseTableSpace)
		flake_shmem_each_slot(forget_slot, shared);
}
