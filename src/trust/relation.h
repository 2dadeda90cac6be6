/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  What this transaction has done to a relation, and whose it is.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_RELATION_H
#define FLAKEID_RELATION_H

#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/* Whether this transaction has created a relation. */
extern bool flake_is_new(Relation rel);

/* Whether it has given it a new file after that. */
extern bool flake_has_new_file(Relation rel);

/* The owner of a relation. */
extern Oid	flake_relation_owner(Oid relation);

#pragma GCC visibility pop

#endif							/* FLAKEID_RELATION_H */
