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
 *	L4	What the caller has looked up to know the relations can have changed by then.
 *		He looks it up again, and all are let go if it has.
 *	L5	A round of this is a subtransaction, and letting go is to undo it.  A hot
 *		standby hears of an ACCESS EXCLUSIVE lock when it is taken, and that it is let
 *		go only with the end of the transaction or subtransaction that has taken it.
 *		The end is in the WAL that the standby gets, before anybody is waited for.
 *
 * Others can see to it that there are rounds for as long as they like.  So a round
 * frees what it has allocated.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "trust/lock_all.h"
#include "trust/oid_set.h"
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

/* What is locked, for which of the list: hash key. */
typedef struct Locked
{
	int32		item;			/* its number, or IN_REACH */
	Oid			relation;
} Locked;

/* Instead of a number: it is locked with another one, or as one that others are locked with. */
#define IN_REACH	(-1)

/* A try to lock all. */
typedef struct Try
{
	bool		may_wait;
	HTAB	   *locked;			/* of Locked */
	Oid			newest;			/* the relation that was locked last */
	int64		left_us;		/* how long it may still wait (L2) */
	Oid			busy;			/* if it fails, the relation in use */
} Try;

List *
flake_add_to_lock(List *all, Oid relation, LOCKMODE mode, Reach reach)
{
	ToLock	   *item = palloc0(sizeof(ToLock));

	item->relation = relation;
	item->mode = mode;
	item->reach = reach;
	return lappend(all, item);
}

static bool
is_locked_for(const Try *try, int32 item, Oid relation)
{
	Locked		key = {.item = item,.relation = relation};

	return hash_search(try->locked, &key, HASH_FIND, NULL) != NULL;
}

static void
note_locked(Try *try, const ToLock *item, Oid relation)
{
	Locked		key = {.item = item->number,.relation = relation};

	(void) hash_search(try->locked, &key, HASH_ENTER, NULL);
	key.item = IN_REACH;
	if (item->reach != REACH_NONE)
		(void) hash_search(try->locked, &key, HASH_ENTER, NULL);
	try->newest = relation;
}

/* L2: false if it is not to be had in the time that is left, which gets less. */
static bool
lock_briefly(Oid relation, LOCKMODE mode, int64 *left_us)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int			timeout = LockTimeout;
	volatile int wait_ms = Min(BRIEFLY_MS, *left_us / 1000);
	volatile bool is_locked = true;
	instr_time	start;
	instr_time	waited;

	if (wait_ms < 1)
		return false;
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
		FreeErrorData(error);
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
try_relation(const ToLock *item, Oid relation, Try *try)
{
	if (is_locked_for(try, item->number, relation) ||
		(item->reach == REACH_NONE && is_locked_for(try, IN_REACH, relation)))
		return true;
	if (!ConditionalLockRelationOid(relation, item->mode) &&

	/* With nothing locked, it can be waited for as long as it takes. */
		((try->may_wait && hash_get_num_entries(try->locked) == 0) ||
		 !lock_briefly(relation, item->mode, &try->left_us)))
	{
		try->busy = relation;
		return false;
	}
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
		note_locked(try, item, relation);
	else
		UnlockRelationOid(relation, item->mode);
	return true;
}

/* Tries to lock one of the list. */
static bool
try_item(ToLock *item, Try *try)
{
	List	   *found = list_make1_oid(item->relation);
	HTAB	   *seen = NULL;	/* what is in found, once there are several */
	bool		is_locked = true;
	ListCell   *lc;

	list_free(item->members);
	item->members = NIL;
	foreach(lc, found)
	{
		Oid			relation = lfirst_oid(lc);

		CHECK_FOR_INTERRUPTS();
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
			continue;
		is_locked = try_relation(item, relation, try);
		if (!is_locked)
			break;
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
			continue;
		item->members = lappend_oid(item->members, relation);
		if (item->reach == REACH_HEIRS ||
			(item->reach == REACH_PARTITIONS &&
			 get_rel_relkind(relation) == RELKIND_PARTITIONED_TABLE))
		{
			List	   *children = find_inheritance_children(relation, NoLock);
			ListCell   *child;

			if (seen == NULL && children != NIL)
				seen = flake_oid_set(found);
			foreach(child, children)
			{
				CHECK_FOR_INTERRUPTS();
				if (flake_oid_set_add(seen, lfirst_oid(child)))
					found = lappend_oid(found, lfirst_oid(child));
			}
			list_free(children);
		}
	}
	if (seen != NULL)
		hash_destroy(seen);
	list_free(found);
	return is_locked;
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
			long		count = hash_get_num_entries(try->locked);

			if (!try_item(item, try))
				return item;
			if (hash_get_num_entries(try->locked) > count)
				newest = item;
		}
	} while (newest != NULL && ++rounds < MAX_ROUNDS);	/* L3 */
	if (newest != NULL)
		try->busy = try->newest;
	return newest;
}

/*
 * A round (L5): waits for the relation that is in use, if there is one, for that
 * item of the list (L1), and tries to lock all.  If that fails, none is locked, and
 * the item that a relation in use is for is set.
 */
static bool
lock_in_round(List *all, Try *try, ToLock **item, StillAll is_all, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	HASHCTL		control = {.keysize = sizeof(Locked),.entrysize = sizeof(Locked),.hcxt = context};
	ToLock	   *volatile failed = NULL;
	volatile bool is_done = false;

	try->locked = hash_create("flakeid locked relations", 64, &control,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	try->left_us = TRY_MS * INT64CONST(1000);

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		if (*item != NULL)
		{
			LockRelationOid(try->busy, (*item)->mode);
			note_locked(try, *item, try->busy);
		}
		failed = try_all(all, try);
		is_done = failed == NULL && (is_all == NULL || is_all(arg));	/* L4 */
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		ReThrowError(error);
	}
	PG_END_TRY();
	if (is_done)
		ReleaseCurrentSubTransaction();
	else
	{
		RollbackAndReleaseCurrentSubTransaction();
		if (XactLastRecEnd != 0)
			XLogSetAsyncXactLSN(XactLastRecEnd);	/* L5: soon */
	}
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	hash_destroy(try->locked);
	*item = failed;
	return is_done;
}

bool
flake_lock_all(List *all, bool may_wait, TimestampTz began, StillAll is_all, void *arg)
{
	ToLock	   *item = NULL;
	Try			try = {.may_wait = may_wait};
	int32		number = 0;
	ListCell   *lc;

	foreach(lc, all)
		((ToLock *) lfirst(lc))->number = number++;
	while (!lock_in_round(all, &try, &item, is_all, arg))
	{
		if (item == NULL)
			return false;
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
	}
	return true;
}
