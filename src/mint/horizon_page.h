/*-------------------------------------------------------------------------
 *
 * horizon_page.h
 *	  The horizon's place on disk.
 *
 * Whoever calls a function here holds a lock on the generator's sequence.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_HORIZON_PAGE_H
#define FLAKEID_HORIZON_PAGE_H

#include "access/xlogdefs.h"
#include "layout/layout.h"
#include "mint/locks.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/*
 * The packed values that a sequence can keep for a generator of this layout:
 * its MINVALUE and MAXVALUE.
 */
extern void flake_horizon_bounds(const FlakeLayout *layout, int64 *min,
								 int64 *max);

/*
 * What last_value is in a sequence from which nothing was taken, and which
 * nobody has set: its MINVALUE.  To be read before any lock on the page.
 */
extern int64 flake_horizon_page_unset(Oid sequence);

/*
 * Reads the two copies of the horizon, FLAKE_PACKED_NONE for one that was not
 * set yet.  unset is flake_horizon_page_unset() of the sequence.  A content lock
 * on the page must be held.
 */
extern void flake_horizon_page_get(Relation rel, Page page, int64 unset,
								   int64 *last_value, int64 *guard);

/* Where and when a generator was made, or a restore accepted. */
typedef struct HorizonOrigin
{
	TimeLineID	timeline;		/* 0 if not known */
	uint32		cluster;		/* half of the system identifier */
} HorizonOrigin;

/* The present one; not on a standby. */
extern HorizonOrigin flake_horizon_origin(void);

/* That of a page, on which a content lock must be held. */
extern HorizonOrigin flake_horizon_page_origin(Relation rel, Page page);

/* Lets it be the present one.  The page is locked; returns as below. */
extern XLogRecPtr flake_horizon_page_stamp(Relation rel, Buffer buffer);

/*
 * Up to where bounds of what is settled may have been given out, FLAKE_PACKED_NONE
 * if none was.  A content lock on the page must be held.
 */
extern int64 flake_horizon_page_asked(Relation rel, Page page);

/*
 * Writes both copies of the horizon, and that, to the locked page of the sequence.
 * Returns up to where WAL must be flushed before the horizon is published.  A page
 * without an origin gets the present one.
 */
extern XLogRecPtr flake_horizon_page_write(Relation rel, Buffer buffer, int64 value,
										   int64 asked);

/*
 * Reads the horizon from disk; RowExclusiveLock will do, also on a standby.  With a
 * weaker one ALTER SEQUENCE can give the sequence another file meanwhile.
 * False if nothing was handed out yet.
 */
extern bool flake_horizon_read(Oid sequence, int64 *value);

/*
 * The same for who does not wait for long: false if the page was not to be had.
 * *value is FLAKE_PACKED_NONE if nothing was handed out yet.
 */
extern bool flake_horizon_try_read(Oid sequence, PageWait wait, int64 *value);

#pragma GCC visibility pop

#endif							/* FLAKEID_HORIZON_PAGE_H */
