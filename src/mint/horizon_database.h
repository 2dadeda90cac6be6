/*-------------------------------------------------------------------------
 *
 * horizon_database.h
 *	  Another database that has the OID of one that was dropped.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_HORIZON_DATABASE_H
#define FLAKEID_HORIZON_DATABASE_H

#include "mint/entry.h"

#pragma GCC visibility push(hidden)

/* What tells the present database from others that had its OID. */
extern uint64 flake_database_incarnation(void);

/* Whether another one has used a horizon, whose LWLock is held, or the same elsewhere. */
extern bool flake_horizon_is_other(const Horizon *shared, uint64 incarnation);

/*
 * If so: closes what that one has left open, and forgets its horizon.  Who calls reads
 * the page, sets the floor to what it says, and calls the other function.  Then he writes
 * incarnation and tablespace into the horizon: an error before that leaves all to be done
 * again.
 */
extern void flake_horizon_forget_other(Horizon *shared);

/* Forgets how far its slots have gone: they begin at the floor. */
extern void flake_horizon_forget_slots(Horizon *shared);

#pragma GCC visibility pop

#endif							/* FLAKEID_HORIZON_DATABASE_H */
