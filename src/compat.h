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

/* Where PostgreSQL 16 and later have the lengths of values */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* The type that PostgreSQL 19 gives to what was an int in syscache callbacks. */
#if PG_VERSION_NUM < 190000
typedef int SysCacheIdentifier;
#endif

/* How PostgreSQL 18 says that a function does not return. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* pg_namespace_aclcheck() until PostgreSQL 15 */
#if PG_VERSION_NUM >= 160000
#define flake_schema_aclcheck(schema, role, mode) \
	object_aclcheck(NamespaceRelationId, schema, role, mode)
#else
#define flake_schema_aclcheck(schema, role, mode) \
	pg_namespace_aclcheck(schema, role, mode)
#endif

/* pg_proc_aclcheck() until PostgreSQL 15 */
#if PG_VERSION_NUM >= 160000
#define flake_function_aclcheck(function, role, mode) \
	object_aclcheck(ProcedureRelationId, function, role, mode)
#else
#define flake_function_aclcheck(function, role, mode) \
	pg_proc_aclcheck(function, role, mode)
#endif

/* pg_foreign_server_aclcheck() and pg_foreign_server_ownercheck() until PostgreSQL 15 */
#if PG_VERSION_NUM >= 160000
#define flake_server_aclcheck(server, role, mode) \
	object_aclcheck(ForeignServerRelationId, server, role, mode)
#define flake_server_ownercheck(server, role) \
	object_ownercheck(ForeignServerRelationId, server, role)
#else
#define flake_server_aclcheck(server, role, mode) \
	pg_foreign_server_aclcheck(server, role, mode)
#define flake_server_ownercheck(server, role) \
	pg_foreign_server_ownercheck(server, role)
#endif

/* Whether this session holds a lock in a mode; since PostgreSQL 17 with a stronger one. */
#if PG_VERSION_NUM >= 170000
#define flake_lock_is_held(tag, mode) LockHeldByMe(tag, mode, false)
#else
#define flake_lock_is_held(tag, mode) LockHeldByMe(tag, mode)
#endif

#endif							/* FLAKEID_COMPAT_H */
