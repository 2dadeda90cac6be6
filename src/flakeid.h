/*-------------------------------------------------------------------------
 *
 * flakeid.h
 *	  The extension's settings.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_H
#define FLAKEID_H

#pragma GCC visibility push(hidden)

/* The version of the SQL objects that this library is for: default_version in
 * flakeid.control. */
#define FLAKE_VERSION	"1.0"

extern int	flake_shard;		/* of flake_id(); -1 if unset */
extern int	flake_max_ahead_ms; /* how far an id may be ahead of the clock */
extern int	flake_max_wait_ms;	/* how long a caller may have to wait */
extern bool flake_require_attach;	/* only attached shards may be minted */

#pragma GCC visibility pop

#endif							/* FLAKEID_H */
