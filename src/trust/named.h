/*-------------------------------------------------------------------------
 *
 * named.h
 *	  What a query or an expression names: see named.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_TRUST_NAMED_H
#define FLAKEID_TRUST_NAMED_H

#include "nodes/pg_list.h"

#pragma GCC visibility push(hidden)

/*
 * The functions, operators and types of others than PostgreSQL that a tree names,
 * in its order, each as often as it is named: an array of OIDs.
 */
extern Datum flake_named_in(Node *tree);

/* An array of OIDs, of a list. */
extern Datum flake_array_of_oids(List *oids);

#pragma GCC visibility pop

#endif							/* FLAKEID_TRUST_NAMED_H */
