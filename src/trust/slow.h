/*-------------------------------------------------------------------------
 *
 * slow.h
 *	  Calls that PostgreSQL takes long to read: see slow.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_TRUST_SLOW_H
#define FLAKEID_TRUST_SLOW_H

#include "utils/hsearch.h"

#pragma GCC visibility push(hidden)

/* The calls in a definition, and what it takes to read them. */
typedef struct Calls
{
	HTAB	   *names;			/* of functions and operators; hash_destroy()
								 * frees it */
	double		candidates;
	double		default_bytes;
} Calls;

extern Calls flake_no_calls(void);

/* Adds calls of a function or an operator, which the catalog tells, in a schema. */
extern void flake_add_calls(Calls *calls, Oid catalog, Oid schema, const char *name, int times);

/* Whether reading them would take seconds. */
extern bool flake_calls_take_long(const Calls *calls);

#pragma GCC visibility pop

#endif							/* FLAKEID_TRUST_SLOW_H */
