/*-------------------------------------------------------------------------
 *
 * renewal.c
 *	  The thread of a minter: its lease is taken, renewed, lost, taken anew and given
 *	  back, by the rules P5 to P8 of docs/clients.md.
 *
 * Nobody else uses the connection, or changes the core's lease.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "pq/minter.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* Giving back takes no longer than this, and the waiting for P8. */
#define RELEASE_NS		(2 * NS_PER_SECOND)
#define LONGEST_WAIT_US US_PER_SECOND

/* poll() takes no clock that counts sleep: look at the clock at least so often. */
#define LONGEST_POLL_MS 60000

/* A renewal is not given up earlier than this, however near the deadline is. */
#define SHORTEST_ATTEMPT_NS (NS_PER_SECOND / 4)

#define MICROSECONDS(time) \
	"(pg_catalog.extract('epoch', " time ") OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8"

static void
tell(const flakeid_pq_minter *minter, flakeid_event_type type, const flakeid_error *error)
{
	flakeid_event event = {
		.type = type,
		.shard = minter->lease.shard,
		.not_before_us = minter->lease.not_before_us,
		.expires_at_us = minter->lease.expires_at_us,
		.error = error
	};

	if (minter->on_event != NULL)
		minter->on_event(&event, minter->argument);
}

static int64_t
column(const PGresult *result, int number)
{
	return strtoll(PQgetvalue(result, 0, number), NULL, 10);
}

static int64_t
wall_us(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * US_PER_SECOND + now.tv_nsec / 1000;
}

/* Notes that an attempt is over, and lets those who wait for it look. */
static void
note_outcome(flakeid_pq_minter *minter, const flakeid_error *error)
{
	pthread_mutex_lock(&minter->mutex);
	minter->is_tried = true;
	if (error == NULL)
	{
		minter->last_error.code = FLAKEID_OK;
		minter->failing_since_us = 0;
	}
	else
	{
		minter->last_error = *error;
		if (minter->failing_since_us == 0)
			minter->failing_since_us = wall_us();
	}
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->mutex);
}

/* Tries again later, with another connection. */
static void
try_later(flakeid_pq_minter *minter, const flakeid_error *error)
{
	flakeid_connection_drop(&minter->connection);
	minter->next_ns = flakeid_steady_ns() + flakeid_pq_backoff_ns(++minter->failures);
	note_outcome(minter, error);
}

/* After an answer: the deadline, by P6, and when to renew. */
static void
note_answer(flakeid_pq_minter *minter, int64_t sent_ns, int64_t now_us)
{
	minter->lease.deadline_ns = flakeid_deadline_ns(sent_ns, now_us,
													minter->lease.expires_at_us);
	minter->server_us = now_us;
	minter->server_ns = sent_ns;
	minter->asked_ns = sent_ns;
	minter->next_ns = sent_ns + (minter->lease.deadline_ns - sent_ns) / 3;
}

/*
 * Looks the generator up, and reads its layout, of which it makes the core the first
 * time.  The name may be another generator's a moment later, so the OID is what counts
 * from here on.
 */
static flakeid_code
read_layout(flakeid_pq_minter *minter, flakeid_error *error)
{
	const char *params[] = {flakeid_connection_generator(&minter->connection)};
	PGresult   *result = flakeid_connection_query(&minter->connection,
												  "SELECT g.oid::pg_catalog.oid, $S.flake_layout_of(g.oid)"
												  " FROM (SELECT $1::pg_catalog.regclass AS oid) AS g",
												  1, params, error);
	flakeid_layout layout;
	flakeid_code code;

	if (result == NULL)
		return error->code;
	snprintf(minter->generator, sizeof(minter->generator), "%s", PQgetvalue(result, 0, 0));
	code = flakeid_layout_parse(PQgetvalue(result, 0, 1), &layout, error);
	PQclear(result);
	if (code != FLAKEID_OK)
	{
		/* The server has a kind of layout that this library does not know. */
		error->code = FLAKEID_UNSUPPORTED_LAYOUT;
		return error->code;
	}
	if (minter->has_core)
	{
		if (memcmp(&layout, &minter->core.layout, sizeof(layout)) != 0)
			return fail(error, FLAKEID_UNSUPPORTED_LAYOUT, NO_RETRY,
						"the generator has another layout now: make a new minter");
		return FLAKEID_OK;
	}
	code = flakeid_minter_init(&minter->core, &layout, minter->max_ahead_us, error);
	if (code == FLAKEID_OK)
		__atomic_store_n(&minter->has_core, true, __ATOMIC_RELEASE);
	return code;
}

/* P7 */
static flakeid_code
choose_owner(flakeid_pq_minter *minter, flakeid_error *error)
{
	uint64_t	number;

	if (getentropy(&number, sizeof(number)) != 0)
		return fail(error, FLAKEID_SERVER_ERROR, NO_RETRY,
					"the operating system has no random numbers: %s", strerror(errno));
	snprintf(minter->owner, sizeof(minter->owner), "%.230s-%016llx",
			 minter->owner_prefix, (unsigned long long) number);
	return FLAKEID_OK;
}

static flakeid_code
ask_for_lease(flakeid_pq_minter *minter, flakeid_error *error)
{
	char		ttl[40];
	const char *params[] = {minter->owner, ttl, minter->generator};
	int64_t		sent_ns;
	int64_t		now_us;
	PGresult   *result;
	flakeid_code code;

	flakeid_connection_limit(&minter->connection, ATTEMPT_NS);
	if ((code = flakeid_connection_open(&minter->connection, error)) != FLAKEID_OK ||
		(code = read_layout(minter, error)) != FLAKEID_OK ||
		(code = choose_owner(minter, error)) != FLAKEID_OK)
		return code;
	snprintf(ttl, sizeof(ttl), "%.6f", minter->first_ttl);
	sent_ns = flakeid_steady_ns();
	result = flakeid_connection_query(&minter->connection,
									  "SELECT l.shard, " MICROSECONDS("l.not_before") ", "
									  MICROSECONDS("l.expires_at") ", "
									  MICROSECONDS("pg_catalog.clock_timestamp()")
									  " FROM $S.flake_lease($1, pg_catalog.make_interval(secs => $2::pg_catalog.float8), $3::pg_catalog.regclass) AS l",
									  3, params, error);
	if (result == NULL)
		return error->code;
	minter->lease = (flakeid_lease)
	{
		.shard = (int32_t) column(result, 0),
			.not_before_us = column(result, 1),
			.expires_at_us = column(result, 2)
	};
	now_us = column(result, 3);
	PQclear(result);
	note_answer(minter, sent_ns, now_us);
	if (flakeid_steady_ns() >= minter->lease.deadline_ns)
		return fail(error, FLAKEID_LEASE_EXPIRED, NO_RETRY,
					"the server's answer took longer than the lease lasts: lease for a longer time");
	tell(minter, FLAKEID_EVENT_LEASED, NULL);
	return flakeid_minter_lease(&minter->core, &minter->lease, error);
}

static void
lease(flakeid_pq_minter *minter)
{
	flakeid_error error;

	if (ask_for_lease(minter, &error) != FLAKEID_OK)
	{
		/* Of the first lease, the caller of open() has the error. */
		if (minter->was_leased)
			tell(minter, FLAKEID_EVENT_RENEW_FAILED, &error);
		try_later(minter, &error);
		return;
	}
	minter->is_leased = minter->was_leased = true;
	minter->leased_ns = flakeid_steady_ns();
	minter->failures = 0;
	note_outcome(minter, NULL);
}

/*
 * The lease is lost: at the deadline, or as the error says.  The next one is taken a
 * second after it at the earliest, not to use up the shards where each is lost at once.
 */
static void
lose(flakeid_pq_minter *minter, const flakeid_error *error)
{
	flakeid_minter_end(&minter->core);
	minter->is_leased = false;
	minter->failures = 0;
	minter->next_ns = minter->leased_ns + NS_PER_SECOND;
	flakeid_connection_drop(&minter->connection);
	tell(minter, FLAKEID_EVENT_LOST, error);
}

static flakeid_code
ask_for_renewal(flakeid_pq_minter *minter, flakeid_error *error)
{
	char		ttl[40];
	const char *params[] = {minter->owner, ttl, minter->generator};
	int64_t		limit_ns = (minter->lease.deadline_ns - flakeid_steady_ns()) / 2;
	int64_t		sent_ns;
	int64_t		now_us;
	PGresult   *result;
	flakeid_code code;

	if (limit_ns < SHORTEST_ATTEMPT_NS)
		limit_ns = SHORTEST_ATTEMPT_NS;
	flakeid_connection_limit(&minter->connection, limit_ns < ATTEMPT_NS ? limit_ns : ATTEMPT_NS);
	if ((code = flakeid_connection_open(&minter->connection, error)) != FLAKEID_OK)
		return code;
	snprintf(ttl, sizeof(ttl), "%.6f", minter->ttl);
	sent_ns = flakeid_steady_ns();
	result = flakeid_connection_query(&minter->connection,
									  "SELECT " MICROSECONDS("r") ", "
									  MICROSECONDS("pg_catalog.clock_timestamp()")
									  " FROM $S.flake_renew($1, pg_catalog.make_interval(secs => $2::pg_catalog.float8), $3::pg_catalog.regclass) AS r",
									  3, params, error);
	if (result == NULL)
		return error->code;
	minter->lease.expires_at_us = column(result, 0);
	now_us = column(result, 1);
	PQclear(result);
	note_answer(minter, sent_ns, now_us);
	tell(minter, FLAKEID_EVENT_RENEWED, NULL);
	return flakeid_minter_renew(&minter->core, minter->lease.expires_at_us,
								minter->lease.deadline_ns, error);
}

static void
renew(flakeid_pq_minter *minter)
{
	flakeid_error error;

	if (ask_for_renewal(minter, &error) == FLAKEID_OK)
	{
		minter->failures = 0;
		note_outcome(minter, NULL);
	}
	else if (strcmp(error.sqlstate, "42704") == 0 || strcmp(error.sqlstate, "42P01") == 0 ||
			 error.code == FLAKEID_NOT_INSTALLED)
	{
		note_outcome(minter, &error);
		lose(minter, &error);
	}
	else
	{
		tell(minter, FLAKEID_EVENT_RENEW_FAILED, &error);
		try_later(minter, &error);
	}
}

/* Asks once, by P8.  True if there is no need to ask again. */
static bool
ask_for_release(flakeid_pq_minter *minter, int64_t last_us)
{
	char		last[40];
	const char *params[] = {minter->owner, last, minter->generator};
	flakeid_error error;
	PGresult   *result;
	bool		is_over = true;

	if (flakeid_connection_open(&minter->connection, &error) != FLAKEID_OK)
		return true;
	snprintf(last, sizeof(last), "%.6f", last_us == INT64_MIN ? 0.0
			 : (double) last_us / (double) US_PER_SECOND);
	result = flakeid_connection_query(&minter->connection,
									  "SELECT CASE WHEN pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>) pg_catalog.to_timestamp($2::pg_catalog.float8)"
									  " THEN $S.flake_release($1, $3::pg_catalog.regclass) END",
									  3, params, &error);
	if (result == NULL)
		return true;
	if (PQgetisnull(result, 0, 0))
		is_over = false;
	else if (*PQgetvalue(result, 0, 0) == 't')
		tell(minter, FLAKEID_EVENT_RELEASED, NULL);
	PQclear(result);
	return is_over;
}

static void
release(flakeid_pq_minter *minter)
{
	int64_t		last_us = flakeid_minter_close(&minter->core);
	int64_t		missing_us;

	if (!minter->is_leased || flakeid_steady_ns() >= minter->lease.deadline_ns)
		return;
	flakeid_connection_no_hurry(&minter->connection);
	flakeid_connection_limit(&minter->connection, RELEASE_NS);
	if (ask_for_release(minter, last_us))
		return;
	missing_us = last_us - minter->server_us -
		(flakeid_steady_ns() - minter->server_ns) / 1000;
	if (missing_us < 0)
		missing_us = 0;
	if (missing_us < LONGEST_WAIT_US)
	{
		flakeid_pq_sleep((missing_us + 1) * 1000);
		flakeid_connection_limit(&minter->connection, RELEASE_NS / 2);
		(void) ask_for_release(minter, last_us);
	}
}

/* Renews at once, but not earlier than a second after the latest answer was asked for. */
static void
renew_soon(flakeid_pq_minter *minter)
{
	int64_t		soon_ns = minter->asked_ns + NS_PER_SECOND;

	if (soon_ns < minter->next_ns)
		minter->next_ns = soon_ns;
}

/*
 * Waits so long, or until there is news: from those who wait for a lease or close the
 * minter, or from the server.  If the connection has broken, as by a failover, whoever
 * answers now may not know the lease.
 */
static void
wait_for_news(flakeid_pq_minter *minter, int64_t ns)
{
	struct pollfd news[] = {
		{.fd = minter->wake[0],.events = POLLIN},
		{.fd = flakeid_connection_socket(&minter->connection),.events = POLLIN}
	};
	int64_t		ms = ns / 1000000 + 1;

	if (poll(news, 2, ms < LONGEST_POLL_MS ? (int) ms : LONGEST_POLL_MS) <= 0)
		return;
	if (news[0].revents != 0)
	{
		char		bytes[64];

		(void) !read(minter->wake[0], bytes, sizeof(bytes));
	}
	if (news[1].revents != 0 && flakeid_connection_is_broken(&minter->connection))
		renew_soon(minter);
}

/* The lease may be over by the wall clock, or its ids used up, before the deadline. */
static void
heed_misses(flakeid_pq_minter *minter)
{
	if (__atomic_exchange_n(&minter->is_missed, false, __ATOMIC_RELAXED) &&
		minter->is_leased && minter->failures == 0)
		renew_soon(minter);
}

static bool
is_closing(flakeid_pq_minter *minter)
{
	bool		closing;

	pthread_mutex_lock(&minter->mutex);
	closing = minter->is_closing;
	pthread_mutex_unlock(&minter->mutex);
	return closing;
}

void *
flakeid_pq_minter_run(void *argument)
{
	flakeid_pq_minter *minter = argument;

	while (!is_closing(minter))
	{
		int64_t		now_ns = flakeid_steady_ns();
		int64_t		wake_ns;

		heed_misses(minter);
		wake_ns = minter->next_ns;
		if (minter->is_leased && minter->lease.deadline_ns < wake_ns)
			wake_ns = minter->lease.deadline_ns;
		if (now_ns < wake_ns)
			wait_for_news(minter, wake_ns - now_ns);
		else if (!minter->is_leased)
			lease(minter);
		else if (now_ns >= minter->lease.deadline_ns)
			lose(minter, NULL);
		else
			renew(minter);
	}
	if (minter->has_core)
		release(minter);
	return NULL;
}
