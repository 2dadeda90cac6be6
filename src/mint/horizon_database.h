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

/*
 * Closes what another one has left open, forgets its horizon, and returns whether there
 * may be something.  The horizon's LWLock is held.  Who calls reads the page, sets the
 * floor to what it says, and calls the other function.  Then he writes the incarnation
 * into the horizon: an error before that leaves all to be done again.
 */
extern bool flake_horizon_forget_other(Horizon *shared, uint64 incarnation);

/* Forgets how far another one's slots have gone: they begin at the floor. */
extern void flake_horizon_forget_slots(Horizon *shared);

#pragma GCC visibility pop

#endif							/* FLAKEID_HORIZON_DATABASE_H */
