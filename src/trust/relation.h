/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  What transactions have done to a relation, and whose it is.
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

/*
 * What transactions that are not over have done to a relation of this database.  One can
 * go on without its locks: see relation.c.
 */
typedef struct Uncommitted
{
	bool		changed;		/* made, changed or dropped it, this one, too */
	bool		other_file;		/* another one: has given it another file than
								 * this */
} Uncommitted;

extern Uncommitted flake_uncommitted(Oid relation, Oid file);

/* The owner of a relation. */
extern Oid	flake_relation_owner(Oid relation);

#pragma GCC visibility pop

#endif							/* FLAKEID_RELATION_H */
