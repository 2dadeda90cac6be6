/*-------------------------------------------------------------------------
 *
 * flakeid_pq.h
 *	  Minters that lease their shards from a database by libpq, and ids that the
 *	  database mints in batches.
 *
 * Link with -lflakeid-pq -lflakeid -lpq.  Each handle has one thread of its own, which
 * blocks all signals, and one connection, which nothing else uses.  Any number of
 * threads can mint by one handle at once.  The conventions are those of flakeid.h; docs/clients.md
 * says what happens when.
 *
 * fork(): a handle stays the parent's.  In the child it returns FLAKEID_FORKED; closing it
 * there frees its memory, but neither the connection nor the lease, which are the parent's.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_PQ_H
#define FLAKEID_PQ_H

#include "flakeid.h"

/* How long flakeid_pq_minter_next() waits for what passes with time, in seconds */
#define FLAKEID_DEFAULT_TIMEOUT 1.0

/* ------------------------------------------------------------------------
 * Minter
 * ------------------------------------------------------------------------
 */

typedef enum flakeid_event_type
{
	FLAKEID_EVENT_LEASED,
	FLAKEID_EVENT_RENEWED,
	FLAKEID_EVENT_RENEW_FAILED, /* once for each attempt, also to lease anew */
	FLAKEID_EVENT_LOST,			/* another shard is leased in the background */
	FLAKEID_EVENT_RELEASED
} flakeid_event_type;

typedef struct flakeid_event
{
	flakeid_event_type type;
	int32_t		shard;
	int64_t		not_before_us;	/* of the lease, as all of these */
	int64_t		expires_at_us;	/* as it is now */
	const flakeid_error *error; /* renew_failed: why; lost: why, or NULL at
								 * the deadline; else NULL */
} flakeid_event;

/* "leased", "renewed", "renew_failed", "lost", "released" */
FLAKEID_API const char *flakeid_event_name(flakeid_event_type type);

typedef struct flakeid_pq_minter_options
{
	const char *generator;		/* its name, or its OID; NULL: flake_default
								 * in the extension's schema */
	double		ttl;			/* seconds that a renewed lease lasts: 300; 1
								 * to 86400 */
	double		first_ttl;		/* a new one, before it is renewed: 30, or ttl
								 * if that is shorter */
	double		max_ahead;		/* seconds ahead of the clock: 15; 0 to 3600 */
	const char *owner;			/* NULL: host and process.  Up to 230 bytes */

	/*
	 * Called by the handle's thread, before what it tells has an effect: no
	 * id of a lease is minted before "leased" has returned.  It must be
	 * short, and must not call functions of the handle.  The event is gone
	 * when it returns.
	 */
	void		(*on_event) (const flakeid_event *event, void *argument);
	void	   *argument;
} flakeid_pq_minter_options;

/* Sets all to their defaults. */
FLAKEID_API void flakeid_pq_minter_options_init(flakeid_pq_minter_options *options);

typedef struct flakeid_pq_minter flakeid_pq_minter;

/*
 * Opens a minter, and returns when the first attempt to lease a shard is over, at most
 * 10 seconds and the time to look up a host later.
 * conninfo is a connection string or URI of libpq.  options may be NULL; what it points
 * to is copied.
 *
 * FLAKEID_INVALID_ARGUMENT, FLAKEID_NOT_INSTALLED, FLAKEID_NO_GENERATOR,
 * FLAKEID_UNSUPPORTED_LAYOUT, FLAKEID_NOT_PERMITTED: there is no handle.  After other errors, as of
 * a database that is away, there is one.  It goes on trying, and flakeid_pq_minter_next() returns
 * that error until it succeeds.
 */
FLAKEID_API flakeid_code flakeid_pq_minter_open(const char *conninfo,
												const flakeid_pq_minter_options *options,
												flakeid_pq_minter **minter,
												flakeid_error *error);

/*
 * Mints one id, or n at once as flakeid_next_n().  Waits up to timeout seconds for the
 * clock, or for a lease; 0 is not at all.  The errors are those of flakeid_next(), and while
 * there is no lease that of the last attempt to get one.
 */
FLAKEID_API flakeid_code flakeid_pq_minter_next(flakeid_pq_minter *minter, double timeout,
												int64_t *id, flakeid_error *error);
FLAKEID_API flakeid_code flakeid_pq_minter_next_n(flakeid_pq_minter *minter, double timeout,
												  int64_t *ids, size_t n, flakeid_error *error);

/*
 * The minter of the core, for flakeid_next(), which never waits; it is the handle's,
 * which alone may change its lease.  NULL until the generator's layout is known, which it
 * is once there was a lease.
 */
FLAKEID_API flakeid_minter *flakeid_pq_minter_core(flakeid_pq_minter *minter);

/* The generator's layout; false until it is known. */
FLAKEID_API bool flakeid_pq_minter_layout(flakeid_pq_minter *minter, flakeid_layout *layout);

/*
 * Ends minting, gives the lease back (P8), which takes up to 5 seconds, and frees
 * everything.  No other thread may use the handle any more.  NULL is allowed.
 */
FLAKEID_API void flakeid_pq_minter_close(flakeid_pq_minter *minter);

/* ------------------------------------------------------------------------
 * Prefetch
 * ------------------------------------------------------------------------
 */

typedef struct flakeid_pq_prefetch_options
{
	int32_t		shard;			/* to be set */
	const char *generator;		/* NULL: flake_default in the extension's
								 * schema */
	int			batch;			/* ids asked for at once: 100; 1 to 1000000 */
	double		expires;		/* seconds after which ids are thrown away:
								 * 600; 0.001 or more */
} flakeid_pq_prefetch_options;

/* Sets all to their defaults. */
FLAKEID_API void flakeid_pq_prefetch_options_init(flakeid_pq_prefetch_options *options);

typedef struct flakeid_pq_prefetch flakeid_pq_prefetch;

/* As flakeid_pq_minter_open(), for the first batch of ids. */
FLAKEID_API flakeid_code flakeid_pq_prefetch_open(const char *conninfo,
												  const flakeid_pq_prefetch_options *options,
												  flakeid_pq_prefetch **prefetch,
												  flakeid_error *error);

/* The next id of the batch.  Waits up to timeout seconds if there is none. */
FLAKEID_API flakeid_code flakeid_pq_prefetch_next(flakeid_pq_prefetch *prefetch, double timeout,
												  int64_t *id, flakeid_error *error);

/* Ids that were fetched and not used are lost.  NULL is allowed. */
FLAKEID_API void flakeid_pq_prefetch_close(flakeid_pq_prefetch *prefetch);

#endif							/* FLAKEID_PQ_H */
