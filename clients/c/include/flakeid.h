/*-------------------------------------------------------------------------
 *
 * flakeid.h
 *	  Ids of flakeid in C: taken apart, put together, and minted in the
 *	  application's own memory.
 *
 * This is the core.  It needs no database, makes no threads, reads and writes
 * no files, and allocates nothing.  flakeid_pq.h leases shards from a database
 * by libpq, and flakeid_seal.h seals ids.  docs/clients.md has the protocol, with
 * the rules P1 to P8 that are named below.
 *
 * Conventions:
 *
 *	- Times are microseconds since 1970-01-01 UTC, unless a name says otherwise.
 *	- A function that can fail returns a flakeid_code: FLAKEID_OK, which is 0, or
 *	  what is wrong.  Its last argument takes a text for that.  It may be NULL.
 *	  What is returned by pointer is only written on success.
 *	- Everything that takes a const layout can be called by many threads at once.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_H
#define FLAKEID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLAKEID_VERSION "1.0"

/* What the library exports */
#ifdef __cplusplus
#define FLAKEID_API extern "C" __attribute__((visibility("default")))
#else
#define FLAKEID_API extern __attribute__((visibility("default")))
#endif

/* ------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------
 */

typedef enum flakeid_code
{
	FLAKEID_OK = 0,
	FLAKEID_NOT_CONNECTED,		/* no database can be reached, and there was
								 * no lease yet */
	FLAKEID_NOT_INSTALLED,		/* the database has no extension flakeid */
	FLAKEID_NO_GENERATOR,		/* no such generator, or another relation */
	FLAKEID_UNSUPPORTED_LAYOUT, /* no time, no shards, UUIDs, or wide */
	FLAKEID_NOT_PERMITTED,		/* the role may not mint, or not lease */
	FLAKEID_NO_SHARD_LEFT,		/* all shards are leased or in use */
	FLAKEID_LEASE_EXPIRED,		/* the lease is over, and there is no new one */
	FLAKEID_NOT_YET,			/* the lease begins later by this process's
								 * clock */
	FLAKEID_TOO_FAR_AHEAD,		/* more than max_ahead ahead of the clock */
	FLAKEID_LIFETIME_OVER,		/* the layout has no later times */
	FLAKEID_FORKED,				/* the minter belongs to the parent process */
	FLAKEID_CLOSED,				/* the minter was closed */
	FLAKEID_INVALID_ARGUMENT,	/* an option, layout, text form or key is
								 * malformed */
	FLAKEID_SERVER_ERROR		/* any other error of the server */
} flakeid_code;

/* What went wrong, for a person and for a program. */
typedef struct flakeid_error
{
	flakeid_code code;
	char		sqlstate[6];	/* "" unless the server has raised it */
	int64_t		retry_us;		/* microseconds until it can be tried again;
								 * -1 if that is not known, or will not help */
	char		message[500];	/* one line, with what to do; no full stop */
} flakeid_error;

/*
 * The class's name, as docs/clients.md has it: "TooFarAhead".  "Ok" for FLAKEID_OK,
 * "Unknown" for what is no code.
 */
FLAKEID_API const char *flakeid_code_name(flakeid_code code);

/* ------------------------------------------------------------------------
 * Layouts
 * ------------------------------------------------------------------------
 */

/*
 * Which bits of an id mean what.  A value: copy it as you like.  Equal layouts are
 * equal bytes, for memcmp().
 */
typedef struct flakeid_layout
{
	uint64_t	opaque[27];
} flakeid_layout;

#define FLAKEID_LAYOUT_TEXT_LEN 512 /* room for any layout's text */

/*
 * Reads a layout: the name of a preset ("instagram"), or its text ("ts:41 shard:13
 * seq:10 epoch=2026-01-01").  FLAKEID_INVALID_ARGUMENT if it is neither.
 */
FLAKEID_API flakeid_code flakeid_layout_parse(const char *text, flakeid_layout *layout,
											  flakeid_error *error);

/* Writes a layout's text, complete and in one fixed order, as the server does. */
FLAKEID_API void flakeid_layout_text(const flakeid_layout *layout,
									 char text[FLAKEID_LAYOUT_TEXT_LEN]);

/* Whether ids tell the time. */
FLAKEID_API bool flakeid_layout_has_time(const flakeid_layout *layout);

/* The largest shard number; the smallest is 0. */
FLAKEID_API int32_t flakeid_layout_max_shard(const flakeid_layout *layout);

/* How many ids a shard has in each tick; 0 for a layout without time. */
FLAKEID_API uint64_t flakeid_layout_ids_per_tick(const flakeid_layout *layout);

/* The length of a tick, in microseconds; 0 for a layout without time. */
FLAKEID_API int64_t flakeid_layout_unit_us(const flakeid_layout *layout);

/*
 * When the layout's time begins, and the first instant after it.  False if it has no
 * time, or if neither a timestamptz nor an int64_t since 1970 can hold it.
 */
FLAKEID_API bool flakeid_layout_starts(const flakeid_layout *layout, int64_t *time_us);
FLAKEID_API bool flakeid_layout_ends(const flakeid_layout *layout, int64_t *time_us);

/* ------------------------------------------------------------------------
 * What an id says
 *
 * All return FLAKEID_INVALID_ARGUMENT for what the SQL functions refuse: a UUID's
 * layout, where only its head would fit into 64 bits; a time that a timestamptz
 * cannot hold; no time, where one is needed.
 * ------------------------------------------------------------------------
 */

typedef struct flakeid_parts
{
	bool		has_time;
	int64_t		time_us;		/* the start of the id's tick; 0 without time */
	int32_t		shard;
	int64_t		sequence;
} flakeid_parts;

/* A field of the layout, under its own name. */
typedef struct flakeid_field
{
	char		name[16];
	int64_t		value;			/* of "ts", ticks since the epoch */
} flakeid_field;

#define FLAKEID_MAX_FIELDS	10

/* Time, shard and sequence number of an id, as flake_decode(). */
FLAKEID_API flakeid_code flakeid_decode(const flakeid_layout *layout, int64_t id,
										flakeid_parts *parts, flakeid_error *error);

/* One of them, as flake_timestamp(), flake_shard() and flake_sequence(). */
FLAKEID_API flakeid_code flakeid_timestamp(const flakeid_layout *layout, int64_t id,
										   int64_t *time_us, flakeid_error *error);
FLAKEID_API flakeid_code flakeid_shard(const flakeid_layout *layout, int64_t id,
									   int32_t *shard, flakeid_error *error);
FLAKEID_API int64_t flakeid_sequence(const flakeid_layout *layout, int64_t id);

/*
 * The fields of an id, the most significant first, as flake_fields().  *count is how
 * many there are.
 */
FLAKEID_API flakeid_code flakeid_fields(const flakeid_layout *layout, int64_t id,
										flakeid_field fields[FLAKEID_MAX_FIELDS],
										int *count, flakeid_error *error);

/*
 * The id of a time, a shard and a sequence number, as flake_make().
 * FLAKEID_INVALID_ARGUMENT for what it cannot hold.
 */
FLAKEID_API flakeid_code flakeid_encode(const flakeid_layout *layout, int64_t time_us,
										int32_t shard, int64_t sequence, int64_t *id,
										flakeid_error *error);

/*
 * The smallest id whose time is at or after time_us, and the largest whose time is
 * at or before it, as flake_lower() and flake_upper().  INT64_MIN and INT64_MAX are
 * minus and plus infinity.
 */
FLAKEID_API flakeid_code flakeid_lower(const flakeid_layout *layout, int64_t time_us,
									   int64_t *id, flakeid_error *error);
FLAKEID_API flakeid_code flakeid_upper(const flakeid_layout *layout, int64_t time_us,
									   int64_t *id, flakeid_error *error);

/*
 * What a UUID of version 7 says, as flake_uuidv7_decode().  The bytes are in the order
 * in which they are written.
 */
FLAKEID_API flakeid_code flakeid_uuidv7_decode(const uint8_t uuid[16], flakeid_parts *parts,
											   flakeid_error *error);

/* ------------------------------------------------------------------------
 * Texts, and shards of keys
 * ------------------------------------------------------------------------
 */

#define FLAKEID_TEXT_LEN	17	/* room for any id's text */

/*
 * An id as text of a fixed width, as flake_to_text(), and back.  Bases are 16, 32, 58
 * and 62.  A negative id is the number that is 2^64 more.
 */
FLAKEID_API flakeid_code flakeid_to_text(int64_t id, int base, char text[FLAKEID_TEXT_LEN],
										 flakeid_error *error);
FLAKEID_API flakeid_code flakeid_from_text(const char *text, int base, int64_t *id,
										   flakeid_error *error);

/*
 * The shard of a key among so many, from 0 on, as flake_shard_for(): XXH64 with seed
 * 0, modulo shards.  Text is in UTF-8; a UUID's bytes are in the order in which they are
 * written.  FLAKEID_INVALID_ARGUMENT if shards is less than 1.
 */
FLAKEID_API flakeid_code flakeid_shard_for_bigint(int64_t key, int32_t shards,
												  int32_t *shard, flakeid_error *error);
FLAKEID_API flakeid_code flakeid_shard_for_text(const char *key, size_t length,
												int32_t shards, int32_t *shard,
												flakeid_error *error);
FLAKEID_API flakeid_code flakeid_shard_for_uuid(const uint8_t key[16], int32_t shards,
												int32_t *shard, flakeid_error *error);

/* ------------------------------------------------------------------------
 * Minting
 *
 * A minter mints the ids of one lease at a time.  Somebody else asks the database for
 * it: flakeid_pq.h, or you.
 *
 *	flakeid_next(), flakeid_next_n()	any number of threads, at any time
 *	flakeid_minter_lease(), ..._renew(), ..._end(), ..._close()
 *										one thread at a time, also while others mint
 *
 * They neither wait nor allocate.  A child process made by fork() gets FLAKEID_FORKED
 * from all of them (P3); it initializes a minter of its own.
 * ------------------------------------------------------------------------
 */

/* The caller owns the memory; the members are private. */
typedef struct flakeid_minter
{
	/* Changed by each id, and so alone on a cache line */
	int64_t		last;			/* the last packed value, or why there is none */
	char		padding[120];

	/* Of the lease */
	int64_t		image;			/* the shard's bits */
	int64_t		first_tick;
	int64_t		end_tick;
	int64_t		deadline_ns;	/* by flakeid_steady_ns() */
	int64_t		begun_after;	/* last, when the lease began */
	int64_t		resume_after;	/* last, when there was a lease last */
	uint32_t	ahead;			/* whether it runs ahead of the clock */
	uint32_t	code;			/* a flakeid_code: why there is no lease */

	/* Constant */
	uint32_t	generation;		/* of the process that made it */
	uint8_t		sequence_bits;
	uint8_t		sequence_shift;
	uint8_t		time_shift;
	uint8_t		start;
	int64_t		epoch_us;
	int64_t		unit_us;
	int64_t		max_tick;
	int64_t		max_ahead_ticks;
	int64_t		random_below;
	uint64_t	seed;
	flakeid_layout layout;
} flakeid_minter;

/* A lease, as flake_lease() has granted it. */
typedef struct flakeid_lease
{
	int32_t		shard;
	int64_t		not_before_us;
	int64_t		expires_at_us;
	int64_t		deadline_ns;	/* from flakeid_deadline_ns() */
} flakeid_lease;

typedef enum flakeid_state
{
	FLAKEID_STATE_LEASING,		/* there is no lease */
	FLAKEID_STATE_LEASED,		/* there is one, or was until its time was
								 * over */
	FLAKEID_STATE_CLOSED
} flakeid_state;

/*
 * A clock that nobody sets, in nanoseconds, for deadlines: CLOCK_BOOTTIME, which also
 * counts while the machine sleeps; CLOCK_MONOTONIC where reading that would be a
 * system call, or where there is none.
 */
FLAKEID_API int64_t flakeid_steady_ns(void);

/*
 * P6: the deadline of a lease.  sent_ns is flakeid_steady_ns() before the statement
 * was sent; now_us, the server's clock, and expires_at_us are from its answer.
 */
FLAKEID_API int64_t flakeid_deadline_ns(int64_t sent_ns, int64_t now_us, int64_t expires_at_us);

/*
 * Makes a minter without a lease: until there is one, flakeid_next() returns
 * FLAKEID_NOT_CONNECTED.  max_ahead_us is how far an id's time may be ahead of the
 * clock, from 0 to 1 hour (P4).  FLAKEID_UNSUPPORTED_LAYOUT for a layout without time or
 * without shards, and for UUIDs.
 */
FLAKEID_API flakeid_code flakeid_minter_init(flakeid_minter *minter,
											 const flakeid_layout *layout,
											 int64_t max_ahead_us, flakeid_error *error);

/*
 * Mints by a new lease from now on (P1, P2).  FLAKEID_INVALID_ARGUMENT if the layout does
 * not have that shard or a tick of that time, FLAKEID_CLOSED, FLAKEID_FORKED; the minter then is as
 * it was.
 */
FLAKEID_API flakeid_code flakeid_minter_lease(flakeid_minter *minter,
											  const flakeid_lease *lease, flakeid_error *error);

/*
 * The same lease ends at another time, as the latest answer says: a later one, or, if the
 * server has lost what it had promised, an earlier one (P5).  FLAKEID_LEASE_EXPIRED if there
 * is none, FLAKEID_CLOSED, FLAKEID_FORKED.
 */
FLAKEID_API flakeid_code flakeid_minter_renew(flakeid_minter *minter, int64_t expires_at_us,
											  int64_t deadline_ns, flakeid_error *error);

/* The lease is lost: FLAKEID_LEASE_EXPIRED until there is a new one. */
FLAKEID_API void flakeid_minter_end(flakeid_minter *minter);

/*
 * Ends minting for good: no id is minted once this has returned.  It returns the time
 * of the last id of the present lease, for P8; INT64_MIN if there is none.  In a child
 * process it does nothing.
 */
FLAKEID_API int64_t flakeid_minter_close(flakeid_minter *minter);

/* Whether there is a lease. */
FLAKEID_API flakeid_state flakeid_minter_state(const flakeid_minter *minter);

/* Whether this is a child of the process that made the minter. */
FLAKEID_API bool flakeid_minter_is_forked(const flakeid_minter *minter);

/*
 * A number for this process, which its children made by fork() do not have (P3): for
 * what mints by other means, and must not do so twice.
 */
FLAKEID_API uint32_t flakeid_process(void);

/*
 * Mints an id.  FLAKEID_NOT_YET and FLAKEID_TOO_FAR_AHEAD pass with time; the error says
 * when.  FLAKEID_LEASE_EXPIRED, FLAKEID_LIFETIME_OVER, FLAKEID_NOT_CONNECTED,
 * FLAKEID_FORKED, FLAKEID_CLOSED.
 */
FLAKEID_API flakeid_code flakeid_next(flakeid_minter *minter, int64_t *id, flakeid_error *error);

/*
 * Mints n ids at once, all or none of them; they ascend.  The same errors, and
 * FLAKEID_INVALID_ARGUMENT if n is 0, or if n ids take more of the layout's time than
 * max_ahead allows.
 */
FLAKEID_API flakeid_code flakeid_next_n(flakeid_minter *minter, int64_t *ids, size_t n,
										flakeid_error *error);

#endif							/* FLAKEID_H */
