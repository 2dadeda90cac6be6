/*-------------------------------------------------------------------------
 *
 * shmem_free.h
 *	  Freeing what dropped databases and generators have left.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SHMEM_FREE_H
#define FLAKEID_SHMEM_FREE_H

#pragma GCC visibility push(hidden)

/* Makes room for new entries, if there may be any to free. */
extern void flake_shmem_make_room(void);

/* Sets up that this file learns of what is dropped; at library load. */
extern void flake_shmem_free_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_SHMEM_FREE_H */
