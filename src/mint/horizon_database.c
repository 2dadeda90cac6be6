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

static void
close_slot(Slot *slot, void *arg)
{
	const Horizon *shared = arg;

	if (slot->key.database == shared->key.database &&
		slot->key.generator == shared->key.generator)
		(void) flake_slot_close(slot);
}

/*
 * CREATE DATABASE ... OID makes a database with the OID of one that was dropped.
 * What is known here of that one's generators is then found for the new one's.
 * Its horizon only makes ids greater, and the floor is raised to the greater one of
 * that and of the new database's own (H3).  But its slots may be
 * open for shards that the new database has detached (F2), so they are closed:
 * whoever finds a slot closed looks into the table of states.
 *
 * Who calls holds the horizon's LWLock.  Every session of the new database comes
 * here before it uses a slot, and no session of the old one is left.  So nobody
 * mints from an open slot of the old database before the first session has
 * closed them all, and later ones find that this is done.  If it is the same
 * database after all (ALTER DATABASE ... SET TABLESPACE, for which nobody may be
 * connected), this is to it as a start of the server.
 *
 * An entry that is still empty has no slots: whoever makes those has been here,
 * and what frees both frees the slots first.  The slots that databases share,
 * for UUIDs and ObjectIDs, have no states and stay open.
 */
bool
flake_horizon_close_other(Horizon *shared, uint64 incarnation)
{
	if (shared->incarnation == FLAKE_NO_INCARNATION || shared->incarnation == incarnation)
		return false;
	flake_shmem_each_slot(close_slot, shared);
	flake_shmem_forget_settled(shared->key.generator);
	return true;
}
