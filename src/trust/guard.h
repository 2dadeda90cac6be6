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

#include "storage/lockdefs.h"
#include "utils/array.h"

#pragma GCC visibility push(hidden)

/*
 * Keeps a schema from being renamed and dropped by others until the end of the
 * transaction.  False if it does not exist (any more).
 */
extern bool flake_guard_schema(Oid schema);

/*
 * ERROR unless the current user may LOCK TABLE, or is the owner of a foreign table.
 * The relation exists.
 *
 * Mode ACCESS SHARE takes no privilege, as others that are called with an OID,
 * such as nextval(), lock it before they check any.
 */
extern void flake_check_lockable(Oid relation, LOCKMODE mode);

/* The OIDs of an array that has no nulls. */
extern Oid *flake_oid_array(ArrayType *array, int *count);

#pragma GCC visibility pop

#endif							/* FLAKEID_GUARD_H */
