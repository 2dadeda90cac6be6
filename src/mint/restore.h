/*-------------------------------------------------------------------------
 *
 * restore.h
 *	  Finding that the server was restored to an earlier time.
 *
 * Whoever calls a function here that is given a sequence holds a lock on it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_RESTORE_H
#define FLAKEID_RESTORE_H

#include "access/xlogdefs.h"
#include "mint/horizon.h"
#include "mint/locks.h"

#pragma GCC visibility push(hidden)

/* What was restored, as bits: see Horizon. */
#define FLAKE_RESTORED_NUMBERS	1	/* of a layout without time */
#define FLAKE_RESTORED_SHARDS	2	/* detached, attached, leased */

/* A restore that nobody has accepted. */
typedef struct Restore
{
	TimeLineID	accepted;		/* that of the generator */
	TimeLineID	present;
	char		reason[256];	/* where the restore ended, as PostgreSQL has
								 * it */
} Restore;

/*
 * Whether the server was restored to an earlier time since a generator was made,
 * or since that was last accepted.  Always false on a standby, and if the page of
 * the generator was not to be had.
 */
extern bool flake_restore_find(Oid sequence, PageWait wait, Restore *restore);

/*
 * Says so, once after each start of the server; not now if the page of the generator
 * was not to be had.
 */
extern void flake_restore_warn(const HorizonRef *ref, uint32 what, PageWait wait);

/*
 * Accepts restores so far.  The sequence is locked with RowExclusiveLock.
 * Returns up to where WAL must be flushed.
 */
extern XLogRecPtr flake_restore_accept(Oid sequence);

#pragma GCC visibility pop

#endif							/* FLAKEID_RESTORE_H */
