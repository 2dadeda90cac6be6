/*-------------------------------------------------------------------------
 *
 * distributed.h
 *	  Tables whose rows Citus keeps elsewhere.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_DISTRIBUTED_H
#define FLAKEID_DISTRIBUTED_H

#pragma GCC visibility push(hidden)

/*
 * Whether a table is one of Citus: distributed, a reference table, one of a tenant, or
 * a local one that was added to the metadata.  False in a database without Citus.
 * ERROR 0A000 if it does not say which are.
 */
extern bool flake_is_distributed(Oid relation);

#pragma GCC visibility pop

#endif							/* FLAKEID_DISTRIBUTED_H */
