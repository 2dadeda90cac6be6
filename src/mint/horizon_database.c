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

/*
 * CREATE DATABASE ... OID makes a database with the OID of one that was dropped, and so
 * can any CREATE DATABASE, by chance or because somebody has used up the OIDs between.
 * What is known here of that one's generators is then found for the new one's.  Its
 * slots may be open for shards that the new database has detached (F2), and its horizon
 * may be far in the future.  So this is to the new database as a start of the server:
 * slots are closed, and what its own page says counts (H3).
 *
 * Who calls holds the horizon's LWLock.  Every session of the new database comes
 * here before it uses a slot, and no session of the old one is left.  So nobody
 * mints from an open slot of the old database before the first session has
 * closed them all, and later ones find that this is done.
 *
 * If it is the same database after all (ALTER DATABASE ... SET TABLESPACE, for which
 * nobody may be connected), its page covers all that was handed out (H2), and slots
 * begin at that.  So that would be right even if others were minting: what they take
 * before their slot is closed is at or below the page, too, and what they take after
 * that, above.
 *
 * An entry that is still empty has no slots: whoever makes those has been here,
 * and what frees both frees the slots first.  The slots that databases share,
 * for UUIDs and ObjectIDs, have no states and stay open.
 */
bool
flake_horizon_forget_other(Horizon *shared, uint64 incarnation)
{
	if (shared->incarnation == FLAKE_NO_INCARNATION || shared->incarnation == incarnation)
		return false;
	flake_shmem_each_slot(close_slot, shared);
	flake_shmem_forget_settled(shared->key.generator);
	pg_atomic_write_u64(&shared->value, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&shared->floor, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&shared->asked, (uint64) FLAKE_PACKED_NONE);
	pg_atomic_write_u64(&shared->refused, 0);
	pg_atomic_write_u32(&shared->warned, 0);
	return true;
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

void
flake_horizon_forget_slots(Horizon *shared)
{
	flake_shmem_each_slot(forget_slot, shared);
}
