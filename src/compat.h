/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What older versions of PostgreSQL lack.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_COMPAT_H
#define FLAKEID_COMPAT_H

/* The type that PostgreSQL 19 gives to what was an int in syscache callbacks. */
#if PG_VERSION_NUM < 190000
typedef int SysCacheIdentifier;
#endif

/* How PostgreSQL 18 says that a function does not return. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

#endif							/* FLAKEID_COMPAT_H */
