/*-------------------------------------------------------------------------
 *
 * lock_all.c
 *	  Locking relations all at once or not at all.
 *
 * A relation can be anybody's, and its owner can keep it locked for as long as she
 * likes.  Who waits for it must not keep locks meanwhile that others wait for.  So:
 *
 *	L1	Each relation is tried, a parent before those that inherit from it.  If one
 *		is in use, all others are let go, and it alone is waited for.  Then it is
 *		kept, and the others are tried.
 *	L2	A try waits for BRIEFLY_MS for a relation, and for TRY_MS for all together.
 *		Otherwise two tables that are always in use by short transactions could never
 *		be had together.  She can give up many tables one after the other, so the sum
 *		has a limit, too.
 *	L3	When all are locked, what inherits from them is looked up again, until there
 *		is nothing new.  If there is after MAX_ROUNDS, because somebody makes tables
 *		all the time, all are let go as if the newest were in use.
 *
 * What the caller has looked up to know the relations can have changed by then.  He
 * looks it up again, and lets go of all if it has.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "trust/lock_all.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* L2 */
#define BRIEFLY_MS	10
#define TRY_MS		50

/* L3 */
#define MAX_ROUNDS	5

/* A try to lock all. */
typedef struct Try
{
	bool		may_wait;
	int64		left_us;		/* how long it may still wait (L2) */
	Oid			busy;			/* if it fails, the relation in use */
} Try;

List *
flake_add_to_lock(List *all, Oid relation, LOCKMODE mode, bool is_tree)
{
	ToLock	   *item = palloc0(sizeof(ToLock));

	item->relation = relation;
	item->mode = mode;
	item->is_tree = is_tree;
	return lappend(all, item);
}

void
flake_unlock_all(List *all)
{
	ResourceOwner owner = CurrentResourceOwner;
	ListCell   *lc;
	ListCell   *locked;

	CurrentResourceOwner = CurTransactionResourceOwner;
	foreach(lc, all)
	{
		ToLock	   *item = lfirst(lc);

		foreach(locked, item->locked)
			UnlockRelationOid(lfirst_oid(locked), item->mode);
		list_free(item->locked);
		item->locked = NIL;
	}
	CurrentResourceOwner = owner;
}

static int
count_locked(List *all)
{
	int			count = 0;
	ListCell   *lc;

	foreach(lc, all)
		count += list_length(((ToLock *) lfirst(lc))->locked);
	return count;
}

/* Whether it is locked with a tree. */
static bool
is_in_tree(List *all, Oid relation)
{
	ListCell   *lc;

	foreach(lc, all)
	{
		ToLock	   *item = lfirst(lc);

		if (item->is_tree && list_member_oid(item->locked, relation))
			return true;
	}
	return false;
}

/* L2: false if it is not to be had in the time that is left, which gets less. */
static bool
lock_briefly(Oid relation, LOCKMODE mode, int64 *left_us)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int			timeout = LockTimeout;
	int			wait_ms;
	volatile bool is_locked = true;
	instr_time	start;
	instr_time	waited;

	if (*left_us < 1000)
		return false;
	wait_ms = Min(BRIEFLY_MS, *left_us / 1000);
	INSTR_TIME_SET_CURRENT(start);
	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		LockTimeout = timeout == 0 ? wait_ms : Min(timeout, wait_ms);
		LockRelationOid(relation, mode);

		/* It may have been granted just as the time was over. */
		CHECK_FOR_INTERRUPTS();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		LockTimeout = timeout;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
		{
			MemoryContextSwitchTo(context);
			CurrentResourceOwner = owner;
			ReThrowError(error);
		}
		is_locked = false;
	}
	PG_END_TRY();
	LockTimeout = timeout;
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	INSTR_TIME_SET_CURRENT(waited);
	INSTR_TIME_SUBTRACT(waited, start);
	*left_us -= INSTR_TIME_GET_MICROSEC(waited);
	return is_locked;
}

/* Tries to lock a relation for one of the list. */
static bool
try_relation(List *all, ToLock *item, Oid relation, Try *try)
{
	if (list_member_oid(item->locked, relation) ||
		(!item->is_tree && is_in_tree(all, relation)))
		return true;
	if (!ConditionalLockRelationOid(relation, item->mode) &&

	/* With nothing locked, it can be waited for as long as it takes. */
		((try->may_wait && count_locked(all) == 0) ||
		 !lock_briefly(relation, item->mode, &try->left_us)))
	{
		try->busy = relation;
		return false;
	}
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
		item->locked = lappend_oid(item->locked, relation);
	else
		UnlockRelationOid(relation, item->mode);
	return true;
}

/* Tries to lock one of the list. */
static bool
try_item(List *all, ToLock *item, Try *try)
{
	List	   *found = list_make1_oid(item->relation);
	ListCell   *lc;

	item->members = NIL;
	foreach(lc, found)
	{
		Oid			relation = lfirst_oid(lc);

		CHECK_FOR_INTERRUPTS();
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
			continue;
		if (!try_relation(all, item, relation, try))
			return false;
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
			continue;
		item->members = lappend_oid(item->members, relation);
		if (item->is_tree)
			found = list_concat_unique_oid(found,
										   find_inheritance_children(relation, NoLock));
	}
	return true;
}

/* Tries to lock all; if that fails, the one that a relation in use is for. */
static ToLock *
try_all(List *all, Try *try)
{
	ToLock	   *newest;
	int			rounds = 0;

	do
	{
		ListCell   *lc;

		newest = NULL;
		foreach(lc, all)
		{
			ToLock	   *item = lfirst(lc);
			int			count = list_length(item->locked);

			if (!try_item(all, item, try))
				return item;
			if (list_length(item->locked) > count)
				newest = item;
		}
	} while (newest != NULL && ++rounds < MAX_ROUNDS);	/* L3 */
	if (newest != NULL)
		try->busy = llast_oid(newest->locked);
	return newest;
}

void
flake_lock_all(List *all, bool may_wait, TimestampTz began)
{
	ResourceOwner owner = CurrentResourceOwner;
	ToLock	   *item;
	Try			try = {.may_wait = may_wait,.left_us = TRY_MS * INT64CONST(1000)};

	/* To that the locks of lock_briefly() go, too. */
	CurrentResourceOwner = CurTransactionResourceOwner;
	while ((item = try_all(all, &try)) != NULL)
	{
		flake_unlock_all(all);
		if (!may_wait)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not obtain lock on relation \"%s\"",
							get_rel_name(try.busy))));
		if (LockTimeout > 0 &&
			TimestampDifferenceExceeds(began, GetCurrentTimestamp(), LockTimeout))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("canceling statement due to lock timeout")));
		LockRelationOid(try.busy, item->mode);	/* L1 */
		item->locked = list_make1_oid(try.busy);
		try.left_us = TRY_MS * INT64CONST(1000);
	}
	CurrentResourceOwner = owner;
}
