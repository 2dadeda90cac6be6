/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  Keeping names from coming to mean something else.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_GUARD_H
#define FLAKEID_GUARD_H

#pragma GCC visibility push(hidden)

/*
 * Keeps a schema from being renamed and dropped by others until the end of the
 * transaction.  False if it does not exist (any more).
 */
extern bool flake_guard_schema(Oid schema);

#pragma GCC visibility pop

#endif							/* FLAKEID_GUARD_H */
