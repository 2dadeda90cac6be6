/*-------------------------------------------------------------------------
 *
 * keep.h
 *	  Rows of shard states and leases that this extension has not written.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_KEEP_H
#define FLAKEID_KEEP_H

#pragma GCC visibility push(hidden)

/* Sets up what happens at the end of transactions; at library load. */
extern void flake_keep_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_KEEP_H */
