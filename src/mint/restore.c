/*-------------------------------------------------------------------------
 *
 * restore.c
 *	  Finding that the server was restored to an earlier time.
 *
 * A restore to an earlier time takes horizons, fences and leases back with the
 * rows.  Nothing is wrong on disk then, so no rule of horizon.c or fence.c helps:
 * what was handed out after that time was handed out in another future.  But
 * PostgreSQL leaves a trace.  Recovery that has ended begins a new timeline, whose
 * history file says where each earlier one was left, and why:
 *
 *		1	0/5000148	before 2026-11-22 12:00:00.51+00
 *		2	0/70000A0	no recovery target specified
 *
 * The latter is a promotion, also that of a copy.  Anything else is a recovery
 * target, and so a point that somebody has chosen.
 *
 * Each generator's page has the timeline on which it was made, or on which a
 * restore was last accepted.  If the history has left that one or a later one at
 * a recovery target, the generator was restored.  Ordinary moves of the horizon
 * leave it as it is, so that the finding stays until somebody accepts it.
 *
 * Timelines are counted anew in a cluster that pg_upgrade has made.  So the page
 * also has half of the system identifier.  If that is another, all of the history
 * is later than the page.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "mint/horizon_page.h"
#include "mint/locks.h"
#include "mint/restore.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* What PostgreSQL writes when recovery has ended without a target. */
static const char promotion[] = "no recovery target specified";

/*
 * Whether the history of a timeline has left any from first on at a recovery
 * target; the last such place is the one that counts.
 *
 * PostgreSQL's own readTimeLineHistory() leaves out the reasons.  A file that
 * is missing or strange says nothing: this must not keep anybody from minting.
 */
static bool
find_target(TimeLineID timeline, TimeLineID first, char *reason, size_t size)
{
	char		path[MAXPGPATH];
	char		line[MAXPGPATH];
	bool		found = false;
	FILE	   *file;

	TLHistoryFilePath(path, timeline);
	file = AllocateFile(path, "r");
	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		TimeLineID	left;
		uint32		high;
		uint32		low;
		int			begin = 0;

		if (sscanf(line, "%u\t%X/%X\t%n", &left, &high, &low, &begin) != 3 ||
			begin == 0 || left < first)
			continue;
		line[strcspn(line, "\r\n")] = '\0';
		if (line[begin] == '\0' || strcmp(line + begin, promotion) == 0)
			continue;
		strlcpy(reason, line + begin, size);
		found = true;
	}
	FreeFile(file);
	return found;
}

/* What the page of a generator says; false if it is not to be had. */
static bool
read_origin(Oid sequence, PageWait wait, HorizonOrigin *origin)
{
	Relation	rel = relation_open(sequence, NoLock);
	Buffer		buffer = flake_page_lock(rel, NULL, wait);

	if (BufferIsValid(buffer))
		*origin = flake_horizon_page_origin(rel, BufferGetPage(buffer));
	flake_page_unlock();
	relation_close(rel, NoLock);
	return BufferIsValid(buffer);
}

static bool
try_origin(Oid sequence, PageWait wait, HorizonOrigin *origin)
{
	bool		is_known = false;

	FLAKE_TRY_LOCKED();
	{
		is_known = read_origin(sequence, wait, origin);
	}
	FLAKE_END_LOCKED();
	return is_known;
}

/* The same as flake_restore_find(); *is_known is false if the page was not to be had. */
static bool
find_restore(Oid sequence, PageWait wait, Restore *restore, bool *is_known)
{
	HorizonOrigin origin = {0};
	HorizonOrigin present;

	*is_known = true;

	/* What its primary finds is for both. */
	if (RecoveryInProgress())
		return false;

	*is_known = try_origin(sequence, wait, &origin);

	/* Not to be had, not stamped yet, or nothing has happened since. */
	present = flake_horizon_origin();
	if (origin.timeline == 0 ||
		(origin.timeline == present.timeline && origin.cluster == present.cluster))
		return false;
	restore->accepted = origin.timeline;
	restore->present = present.timeline;
	return find_target(present.timeline,
					   origin.cluster == present.cluster ? origin.timeline : 0,
					   restore->reason, sizeof(restore->reason));
}

bool
flake_restore_find(Oid sequence, PageWait wait, Restore *restore)
{
	bool		is_known;

	return find_restore(sequence, wait, restore, &is_known);
}

void
flake_restore_warn(const HorizonRef *ref, uint32 what, PageWait wait)
{
	pg_atomic_uint32 *warned = &ref->shared->warned;
	Restore		restore;
	bool		is_known;
	bool		found;
	char	   *name;

	if ((pg_atomic_read_u32(warned) & what) != 0)
		return;
	found = find_restore(ref->sequence, wait, &restore, &is_known);
	if (!is_known || (pg_atomic_fetch_or_u32(warned, what) & what) != 0 || !found)
		return;
	name = get_rel_name(ref->sequence);
	if (what == FLAKE_RESTORED_NUMBERS)
		ereport(WARNING,
				(errmsg("generator \"%s\" was restored to an earlier time", name),
				 errdetail("Numbers that were handed out after that can come again."),
				 errdetail_log("Recovery ended \"%s\". Numbers that were handed out after that can come again.",
							   restore.reason),
				 errhint("Raise it above all numbers in use with flake_advance(), and then call flake_accept_restore().")));
	else
		ereport(WARNING,
				(errmsg("shards of generator \"%s\" were restored to an earlier time", name),
				 errdetail("What was detached, attached or leased after that is forgotten."),
				 errdetail_log("Recovery ended \"%s\". What was detached, attached or leased after that is forgotten.",
							   restore.reason),
				 errhint("Detach the shards that others mint, and then call flake_accept_restore().")));
}

static XLogRecPtr
stamp(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);
	Buffer		buffer = flake_page_lock(rel, NULL, PAGE_OR_ERROR);
	XLogRecPtr	lsn = flake_horizon_page_stamp(rel, buffer);

	flake_page_unlock();
	relation_close(rel, NoLock);
	return lsn;
}

XLogRecPtr
flake_restore_accept(Oid sequence)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	FLAKE_TRY_LOCKED();
	{
		lsn = stamp(sequence);
	}
	FLAKE_END_LOCKED();
	return lsn;
}
