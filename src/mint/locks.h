/*-------------------------------------------------------------------------
 *
 * locks.h
 *	  LWLocks and pages that no client can keep locked.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LOCKS_H
#define FLAKEID_LOCKS_H

#include "storage/buf.h"
#include "storage/lwlock.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/*
 * What can fail while an LWLock or a page is locked stands between these two, in
 * braces as after PG_TRY().  After an ERROR no LWLock and no page is locked.
 */
#define FLAKE_TRY_LOCKED()	PG_TRY()
#define FLAKE_END_LOCKED() \
	PG_CATCH(); \
	{ \
		flake_locks_release(); \
		PG_RE_THROW(); \
	} \
	PG_END_TRY()

/* For FLAKE_END_LOCKED(). */
extern void flake_locks_release(void);

/* How long to wait for a page. */
typedef enum PageWait
{
	PAGE_NO_WAIT,
	PAGE_BRIEFLY,				/* 0.1 s, for what only looks */
	PAGE_OR_ERROR				/* then ERROR 55P03 */
} PageWait;

/*
 * Pins and locks the page of a sequence, and before that an LWLock, unless lock is
 * NULL.  Waits interruptibly, with neither of them locked; so the caller holds no
 * LWLock.  InvalidBuffer if they are not to be had in time.
 */
extern Buffer flake_page_lock(Relation rel, LWLock *lock, PageWait wait);

/* Unlocks and unpins the page, if it is locked. */
extern void flake_page_unlock(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_LOCKS_H */
