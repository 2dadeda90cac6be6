/*-------------------------------------------------------------------------
 *
 * locks.c
 *	  LWLocks and pages that no client can keep locked.
 *
 * PostgreSQL sends an ERROR to the client before it aborts the transaction, and
 * so before it releases locks.  A client that does not read then keeps them, for
 * as long as it is connected: its session cannot be terminated while it sends.
 * Whoever waits for an LWLock cannot be canceled either.  So:
 *
 *	-	What can fail under an LWLock, if only because memory is used up, releases
 *		all of them first: FLAKE_TRY_LOCKED().  Whoever called us holds none: it is
 *		PostgreSQL's own abort, only earlier.
 *	-	The page of a sequence can be locked in that way by PostgreSQL's own
 *		nextval(), which raises its ERROR with the page locked.  So a page is
 *		never waited for as LockBuffer() does it, but tried again and again.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mint/locks.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "trust/pages.h"
#include "storage/proc.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

/* How long to sleep between two tries: the first time, and at most. */
#define FIRST_SLEEP_US		100
#define LONGEST_SLEEP_US	10000

/* How long to try. */
#define BRIEFLY_MS			100
#define ERROR_AFTER_MS		10000

/* lock_timeout is heeded from here on: to write the page to disk can take a moment. */
#define LEAST_TIMEOUT_MS	1000

/* The page that this session has locked. */
static Buffer locked_page = InvalidBuffer;

void
flake_page_unlock(void)
{
	if (BufferIsValid(locked_page))
		UnlockReleaseBuffer(locked_page);
	locked_page = InvalidBuffer;
}

void
flake_locks_release(void)
{
	if (BufferIsValid(locked_page))
	{
		HOLD_INTERRUPTS();		/* ERROR has reset what unlocking counts down */
		flake_page_unlock();
	}
	LWLockReleaseAll();
}

/* After what time it is an ERROR. */
static int
error_after_ms(void)
{
	if (LockTimeout == 0)
		return ERROR_AFTER_MS;
	return Min(Max(LockTimeout, LEAST_TIMEOUT_MS), ERROR_AFTER_MS);
}

/* Sleeps before the next try; false if there is to be none. */
static bool
sleep_for_page(Relation rel, PageWait wait, instr_time started, long *sleep_us)
{
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, started);
	if (wait == PAGE_NO_WAIT ||
		(wait == PAGE_BRIEFLY && INSTR_TIME_GET_MILLISEC(elapsed) >= BRIEFLY_MS))
		return false;
	if (INSTR_TIME_GET_MILLISEC(elapsed) >= error_after_ms())
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not lock the page of generator \"%s\"",
						RelationGetRelationName(rel)),
				 errdetail("Another session has kept the page of its sequence locked for %g seconds.",
						   error_after_ms() / 1000.0),
				 errhint("Look for wait_event \"ClientWrite\" in pg_stat_activity: a client that has called nextval() on the generator, and does not read the error. End that client.")));
	pgstat_report_wait_start(flake_page_wait_event());
	pg_usleep(*sleep_us);
	pgstat_report_wait_end();
	*sleep_us = Min(*sleep_us * 2, LONGEST_SLEEP_US);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/* One try: the LWLock is waited for if that is allowed, the page never. */
static bool
try_page(Buffer buffer, LWLock *lock, PageWait wait)
{
	if (lock != NULL && wait != PAGE_NO_WAIT)
		LWLockAcquire(lock, LW_EXCLUSIVE);
	else if (lock != NULL && !LWLockConditionalAcquire(lock, LW_EXCLUSIVE))
		return false;
	if (ConditionalLockBuffer(buffer))
		return true;
	if (lock != NULL)
		LWLockRelease(lock);
	return false;
}

Buffer
flake_page_lock(Relation rel, LWLock *lock, PageWait wait)
{
	long		sleep_us = FIRST_SLEEP_US;
	instr_time	started;

	Assert(!BufferIsValid(locked_page));
	INSTR_TIME_SET_CURRENT(started);
	do
	{
		/*
		 * Not pinned while we sleep: replay waits for pins when it drops a
		 * file.
		 */
		Buffer		buffer = ReadBuffer(rel, 0);

		if (try_page(buffer, lock, wait))
		{
			locked_page = buffer;
			return buffer;
		}
		ReleaseBuffer(buffer);
	} while (sleep_for_page(rel, wait, started, &sleep_us));
	return InvalidBuffer;
}
