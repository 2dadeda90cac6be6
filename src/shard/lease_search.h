/*-------------------------------------------------------------------------
 *
 * lease_search.h
 *	  Finding a shard to lease.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LEASE_SEARCH_H
#define FLAKEID_LEASE_SEARCH_H

#include "compat.h"
#include "datatype/timestamp.h"
#include "layout/layout.h"
#include "shard/lease_row.h"
#include "shard/route.h"

#pragma GCC visibility push(hidden)

/* What flake_lease(), flake_renew() and flake_release() have in common. */
typedef struct LeaseRequest
{
	Oid			function;
	Oid			sequence;
	const char *owner;
	FlakeLayout layout;
	TimestampTz now;			/* after waiting for others, if at all */
	int64		margin_us;
	const ShardMap *map;		/* unless the owner's lease has not lapsed */
} LeaseRequest;

/* Whether a lease has been over for a margin, so that another can have the shard. */
extern bool flake_lease_is_lapsed(const LeaseRequest *request, const Lease *lease);

/* Finds the lease that has been over for the longest time, to take it over. */
extern bool flake_lease_find_lapsed(const LeaseRequest *request, Lease *lease);

/* Finds a shard that is not in use, and reserves it. */
extern bool flake_lease_find_new(const LeaseRequest *request, Lease *lease);

/* Raises ERROR 53400: there is no shard to lease. */
pg_noreturn extern void flake_lease_none_left(const LeaseRequest *request);

#pragma GCC visibility pop

#endif							/* FLAKEID_LEASE_SEARCH_H */
