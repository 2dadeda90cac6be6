/*-------------------------------------------------------------------------
 *
 * pages.h
 *	  Pages of tables and indexes that are anybody's.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_PAGES_H
#define FLAKEID_PAGES_H

#include "access/attnum.h"
#include "access/htup.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#pragma GCC visibility push(hidden)

/*
 * What reads or writes pages stands between these two, in braces as after PG_TRY().
 * After an ERROR none is locked.  Whoever calls has no page and no LWLock locked.
 */
#define FLAKE_TRY_PAGES()	PG_TRY()
#define FLAKE_END_PAGES() \
	PG_CATCH(); \
	{ \
		flake_pages_release(); \
		PG_RE_THROW(); \
	} \
	PG_END_TRY()

/* For FLAKE_END_PAGES(). */
extern void flake_pages_release(void);

/* What pg_stat_activity shows of who waits for a page. */
extern uint32 flake_page_wait_event(void);

/* How long pages that others have locked are waited for, all together. */
typedef struct Patience
{
	int64		left_us;
	bool		is_error;		/* ERROR 55P03 when it is over */
	bool		is_over;		/* a page was not had */
} Patience;

/* For what only looks, and can leave a table out. */
#define PATIENCE_BRIEFLY	{.left_us = 100000}

/* For what has to know. */
#define FLAKE_PATIENCE_S	2
#define PATIENCE_OR_ERROR	{.left_us = FLAKE_PATIENCE_S * INT64CONST(1000000),.is_error = true}

/*
 * A page, pinned and locked so that nobody changes it.  Waits interruptibly, with
 * neither.  InvalidBuffer if patience is over, and that is no ERROR.
 */
extern Buffer flake_page_lock_shared(Relation rel, BlockNumber block, Patience *patience);

/* Called for a row, of which the memory is valid until it returns; false to stop. */
typedef bool (*FlakeRowVisitor) (Relation rel, HeapTuple row, void *arg);

/*
 * Calls visit for the rows of a heap that a snapshot shows.  Nothing is noted for
 * serializable transactions.
 */
extern void flake_heap_each(Relation rel, Snapshot snapshot, Patience *patience,
							FlakeRowVisitor visit, void *arg);

/*
 * Calls visit for the row of a heap that an entry of an index leads to, if the
 * snapshot shows one.  False to stop, because visit says so or patience is over.
 */
extern bool flake_heap_fetch(Relation rel, ItemPointer tid, Snapshot snapshot,
							 Patience *patience, FlakeRowVisitor visit, void *arg);

#pragma GCC visibility pop

#endif							/* FLAKEID_PAGES_H */
