/*-------------------------------------------------------------------------
 *
 * shmem_area.h
 *	  The memory that all sessions share, and the tables in it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SHMEM_AREA_H
#define FLAKEID_SHMEM_AREA_H

#include "lib/dshash.h"
#include "mint/entry.h"

#pragma GCC visibility push(hidden)

/* Room for about 450,000 slots; taken only as they are needed. */
#define FLAKE_AREA_LIMIT_MB	64

/*
 * The tables, whose entries are a Horizon, a Slot and a Settled each, and the
 * holders; NULL until flake_shmem_attach() has been called.
 */
extern dshash_table *flake_horizons;
extern dshash_table *flake_slots;
extern dshash_table *flake_settled_table;
extern Holders *flake_holders;

/* What holds nothing: above every packed value. */
#define FLAKE_HOLDS_NOTHING	PG_INT64_MAX

static inline void
flake_holder_init(Holder *holder)
{
	for (int i = 0; i < FLAKE_HOLDS; i++)
		pg_atomic_init_u64(&holder->above[i], (uint64) FLAKE_HOLDS_NOTHING);
	pg_atomic_init_u32(&holder->overflow, 0);
}

/*
 * That of a process.  They are a whole number of cache lines apart, and begin with
 * one, so that processes do not disturb each other.  The memory is mapped to whole
 * pages, so each process finds them in the same place.
 */
static inline Holder *
flake_process_holder(Holders *holders, int process)
{
	char	   *first = (char *) CACHELINEALIGN(holders + 1);

	return (Holder *) (first + (Size) process * PG_CACHE_LINE_SIZE);
}

/* Those of prepared transactions, which come after those of the processes. */
static inline PreparedHolder *
flake_prepared_holders(Holders *holders)
{
	return (PreparedHolder *) flake_process_holder(holders, holders->nprocesses);
}

/* Connects this session to the tables, once, and makes them if nobody has. */
extern void flake_shmem_attach(void);

/* The tranche of the locks in entries; after flake_shmem_attach(). */
extern int	flake_shmem_tranche(void);

/* Asks for the header's memory at server start, if the library is preloaded. */
extern void flake_shmem_request(void);

/* What the server knows of its clock. */
extern ClockGuard *flake_shmem_clock_guard(void);

/* Five bytes drawn at random since the server started, the same for all. */
#define FLAKE_SERVER_VALUE_LEN	5
extern const uint8 *flake_shmem_server_value(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_SHMEM_AREA_H */
