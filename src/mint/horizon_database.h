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
 * Closes what another one has left open, and returns whether there may be something.
 * The horizon's LWLock is held.  Who calls writes the incarnation into the horizon,
 * once all is done: an error before that leaves it to be done again.
 */
extern bool flake_horizon_close_other(Horizon *shared, uint64 incarnation);

#pragma GCC visibility pop

#endif							/* FLAKEID_HORIZON_DATABASE_H */
