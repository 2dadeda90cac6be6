/*-------------------------------------------------------------------------
 *
 * role.c
 *	  What one role may do as another.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "trust/role.h"
#include "utils/acl.h"

PG_FUNCTION_INFO_V1(flake_trusts);

bool
flake_may_become(Oid role, Oid other)
{
#if PG_VERSION_NUM >= 160000
	return member_can_set_role(role, other);
#else
	return is_member_of_role(role, other);
#endif
}

bool
flake_acts_as(Oid role, Oid other)
{
	return has_privs_of_role(role, other) || flake_may_become(role, other);
}

/* _flake_trusts(role oid, other oid) returns boolean */
Datum
flake_trusts(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(flake_may_become(PG_GETARG_OID(1), PG_GETARG_OID(0)));
}
