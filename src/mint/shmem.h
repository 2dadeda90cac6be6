/*-------------------------------------------------------------------------
 *
 * shmem.h
 *	  Finding what flakeid keeps in shared memory.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SHMEM_H
#define FLAKEID_SHMEM_H

#include "mint/entry.h"

#pragma GCC visibility push(hidden)

/*
 * The entry of this database's generator (and shard), made if there is none.
 * The slots for UUIDs and ObjectIDs are the same for all databases, because
 * such ids say of where they are from only the server.  ERROR 53200 if shared
 * memory, or what flakeid allows itself of it, is used up; 53100 if the file
 * system that holds it is.
 */
extern Horizon *flake_shmem_horizon(Oid generator);
extern Slot *flake_shmem_slot(Oid generator, int32 shard);
extern Settled *flake_shmem_settled(Oid generator, int32 shard);

/*
 * Calls visit for a slot, if there is one; or for every slot of this database or of
 * all, in no particular order.  It is not freed meanwhile, whoever drops its
 * generator.
 */
typedef void (*FlakeSlotVisitor) (Slot *slot, void *arg);
extern void flake_shmem_visit_slot(Oid generator, int32 shard,
								   FlakeSlotVisitor visit, void *arg);
extern void flake_shmem_each_slot(FlakeSlotVisitor visit, void *arg);

/* The same for the horizon of every generator of this database. */
typedef void (*FlakeHorizonVisitor) (Horizon *horizon, void *arg);
extern void flake_shmem_each_horizon(FlakeHorizonVisitor visit, void *arg);

/* The same for whatever of this database was asked what is settled. */
typedef void (*FlakeSettledVisitor) (Settled *settled, void *arg);
extern void flake_shmem_each_settled(FlakeSettledVisitor visit, void *arg);

/* Whether that was asked of this key. */
extern bool flake_shmem_has_settled(const FlakeKey *key);

/*
 * Forgets the bounds of a generator whose ids go back, or belong to another
 * database.  Nobody asks for one meanwhile.
 */
extern void flake_shmem_forget_settled(Oid generator);

#pragma GCC visibility pop

#endif							/* FLAKEID_SHMEM_H */
