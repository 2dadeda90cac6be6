/*-------------------------------------------------------------------------
 *
 * known.h
 *	  What several commands name, and that it stays the same.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_KNOWN_H
#define FLAKEID_KNOWN_H

#include "compat.h"
#include "utils/array.h"
#include "utils/syscache.h"

#pragma GCC visibility push(hidden)

/* What an object was called, where it was, and whose it was, at first. */
typedef struct Known
{
	Oid			oid;
	char	   *name;
	Oid			schema;			/* of a relation or a type */
	Oid			owner;			/* likewise */
} Known;

/* The extension that a function belongs to, and its schema. */
typedef struct OwnExtension
{
	Oid			function;
	Oid			extension;
	Known		schema;
} OwnExtension;

/* What an object is called now, where it is, and whose it is; RELOID, say, is its kind. */
extern Known flake_look_at(SysCacheIdentifier kind, Oid oid);

/* The same of every object of an array of OIDs; palloc'd. */
extern Known *flake_look_at_all(SysCacheIdentifier kind, ArrayType *array, int *count);

/* ERROR 55000 unless all are still the same; what is for the message. */
extern void flake_check_known(SysCacheIdentifier kind, const Known *known, int count,
							  const char *what);

/* The extension of a function; and ERROR 55000 unless it is still there. */
extern OwnExtension flake_look_at_extension(Oid function);
extern void flake_check_extension(const OwnExtension *own);

/*
 * ERROR 55000: what is executed has led to a change of what is to be executed
 * next.
 */
pg_noreturn extern void flake_changed_meanwhile(const char *what);

#pragma GCC visibility pop

#endif							/* FLAKEID_KNOWN_H */
