/*-------------------------------------------------------------------------
 *
 * role.h
 *	  What one role may do as another.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_ROLE_H
#define FLAKEID_ROLE_H

#pragma GCC visibility push(hidden)

/* Whether a role can become another one with SET ROLE, as a superuser can. */
extern bool flake_may_become(Oid role, Oid other);

/* Whether a role has another one's rights, or can have them with SET ROLE. */
extern bool flake_acts_as(Oid role, Oid other);

#pragma GCC visibility pop

#endif							/* FLAKEID_ROLE_H */
