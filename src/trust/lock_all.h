/*-------------------------------------------------------------------------
 *
 * lock_all.h
 *	  Locking relations all at once or not at all.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LOCK_ALL_H
#define FLAKEID_LOCK_ALL_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

#pragma GCC visibility push(hidden)

/* What is locked with a relation. */
typedef enum Reach
{
	REACH_NONE,
	REACH_PARTITIONS,
	REACH_HEIRS					/* all that inherit from it, partitions, too */
} Reach;

/* A relation to be locked. */
typedef struct ToLock
{
	Oid			relation;
	LOCKMODE	mode;
	Reach		reach;
	List	   *members;		/* it and these, those that exist, when they
								 * are locked */
	int32		number;			/* in the list */
} ToLock;

/* The list, with a relation added. */
extern List *flake_add_to_lock(List *all, Oid relation, LOCKMODE mode, Reach reach);

/* Whether the relations that are locked now are still all that are to be. */
typedef bool (*StillAll) (void *arg);

/*
 * Locks all of a list of ToLock until the end of the transaction, or of the
 * subtransaction if that is rolled back; those with a reach come before others.  While
 * one of them is waited for, none of the others is locked but for 50 ms in all.
 * What does not exist is left out.  False if is_all, which can be NULL, says so:
 * then none is locked.
 *
 * ERROR 55P03 if lock_timeout is over since an instant, or if one is in use and
 * may_wait is false.
 */
extern bool flake_lock_all(List *all, bool may_wait, TimestampTz began,
						   StillAll is_all, void *arg);

#pragma GCC visibility pop

#endif							/* FLAKEID_LOCK_ALL_H */
