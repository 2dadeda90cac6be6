/*-------------------------------------------------------------------------
 *
 * oid_set.h
 *	  Sets of OIDs, of which there can be any number.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_TRUST_OID_SET_H
#define FLAKEID_TRUST_OID_SET_H

#include "nodes/pg_list.h"
#include "utils/hsearch.h"

#pragma GCC visibility push(hidden)

/*
 * A set of those in a list, in the current memory context.  hash_destroy() frees it;
 * hash_get_num_entries() is its size.
 */
extern HTAB *flake_oid_set(const List *oids);

extern bool flake_oid_set_has(HTAB *set, Oid oid);

/* False if it is there already. */
extern bool flake_oid_set_add(HTAB *set, Oid oid);

#pragma GCC visibility pop

#endif							/* FLAKEID_TRUST_OID_SET_H */
