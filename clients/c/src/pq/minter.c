/*-------------------------------------------------------------------------
 *
 * minter.c
 *	  Minters that lease their shards: opened, asked for ids, closed.
 *
 * The usual id comes from the core, without a lock.  Who gets none waits here, for the
 * clock or for the thread of renewal.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "pq/minter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* An owner's name has 255 bytes at most, and each lease adds 17. */
#define MAX_OWNER_PREFIX	230

/* The clock may be set meanwhile: look at it so often. */
#define LONGEST_SLEEP_NS	(NS_PER_SECOND / 10)

const char *
flakeid_event_name(flakeid_event_type type)
{
	static const char *const names[] = {"leased", "renewed", "renew_failed", "lost", "released"};

	return (unsigned) type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

void
flakeid_pq_minter_options_init(flakeid_pq_minter_options *options)
{
	memset(options, 0, sizeof(*options));
	options->ttl = 300;
	options->first_ttl = 30;
	options->max_ahead = 15;
}

static flakeid_code
check_seconds(const char *option, double seconds, double least, double most,
			  flakeid_error *error)
{
	if (!(seconds >= least && seconds <= most))
		return fail_argument(error, "%s must be from %g to %g seconds, and is %g",
							 option, least, most, seconds);
	return FLAKEID_OK;
}

static flakeid_code
take_options(flakeid_pq_minter *minter, const flakeid_pq_minter_options *options,
			 flakeid_error *error)
{
	flakeid_code code;

	minter->ttl = options->ttl;
	minter->first_ttl = options->first_ttl < options->ttl ? options->first_ttl : options->ttl;
	minter->on_event = options->on_event;
	minter->argument = options->argument;
	if ((code = check_seconds("ttl", options->ttl, 1, 86400, error)) != FLAKEID_OK ||
		(code = check_seconds("first_ttl", options->first_ttl, 1, 86400, error)) != FLAKEID_OK ||
		(code = check_seconds("max_ahead", options->max_ahead, 0, 3600, error)) != FLAKEID_OK)
		return code;
	minter->max_ahead_us = (int64_t) (options->max_ahead * (double) US_PER_SECOND);
	if (options->owner != NULL)
	{
		if (*options->owner == '\0' || strlen(options->owner) > MAX_OWNER_PREFIX)
			return fail_argument(error, "owner must have 1 to %d bytes", MAX_OWNER_PREFIX);
		snprintf(minter->owner_prefix, sizeof(minter->owner_prefix), "%s", options->owner);
	}
	else
	{
		char		host[100] = "";

		if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
			snprintf(host, sizeof(host), "host");
		snprintf(minter->owner_prefix, sizeof(minter->owner_prefix), "%s-%ld", host,
				 (long) getpid());
	}
	return FLAKEID_OK;
}

/* The thread looks at what there is to do. */
static void
wake(flakeid_pq_minter *minter)
{
	/* If the pipe is full, it is being woken. */
	(void) !write(minter->wake[1], "", 1);
}

static flakeid_code
make_pipe(flakeid_pq_minter *minter, flakeid_error *error)
{
	if (pipe(minter->wake) != 0)
		return fail_argument(error, "could not make a pipe: %s", strerror(errno));
	for (int i = 0; i < 2; i++)
	{
		(void) fcntl(minter->wake[i], F_SETFD, FD_CLOEXEC);
		(void) fcntl(minter->wake[i], F_SETFL, O_NONBLOCK);
	}
	return FLAKEID_OK;
}

static void
free_minter(flakeid_pq_minter *minter, bool is_forked)
{
	flakeid_connection_free(&minter->connection, is_forked);
	(void) close(minter->wake[0]);
	(void) close(minter->wake[1]);
	if (!is_forked)
	{
		(void) pthread_cond_destroy(&minter->changed);
		(void) pthread_mutex_destroy(&minter->mutex);
	}
	free(minter);
}

flakeid_code
flakeid_pq_minter_open(const char *conninfo, const flakeid_pq_minter_options *options,
					   flakeid_pq_minter **result, flakeid_error *error)
{
	flakeid_pq_minter_options defaults;
	flakeid_pq_minter *minter = calloc(1, sizeof(*minter));
	flakeid_code code;

	if (minter == NULL)
		return fail_argument(error, "out of memory");
	if (options == NULL)
	{
		flakeid_pq_minter_options_init(&defaults);
		options = &defaults;
	}
	minter->process = flakeid_process();
	if ((code = take_options(minter, options, error)) != FLAKEID_OK ||
		(code = flakeid_connection_init(&minter->connection, conninfo, options->generator,
										error)) != FLAKEID_OK ||
		(code = make_pipe(minter, error)) != FLAKEID_OK ||
		(code = flakeid_pq_start(&minter->thread, &minter->mutex, &minter->changed,
								 flakeid_pq_minter_run, minter, error)) != FLAKEID_OK)
	{
		flakeid_connection_free(&minter->connection, false);
		if (minter->wake[1] != 0)
		{
			(void) close(minter->wake[0]);
			(void) close(minter->wake[1]);
		}
		free(minter);
		return code;
	}

	pthread_mutex_lock(&minter->mutex);
	while (!minter->is_tried)
		(void) pthread_cond_wait(&minter->changed, &minter->mutex);
	code = minter->last_error.code;
	if (flakeid_pq_is_final(code) && error != NULL)
		*error = minter->last_error;
	pthread_mutex_unlock(&minter->mutex);
	if (flakeid_pq_is_final(code))
	{
		flakeid_pq_minter_close(minter);
		return code;
	}
	*result = minter;
	return FLAKEID_OK;
}

flakeid_minter *
flakeid_pq_minter_core(flakeid_pq_minter *minter)
{
	return __atomic_load_n(&minter->has_core, __ATOMIC_ACQUIRE) ? &minter->core : NULL;
}

bool
flakeid_pq_minter_layout(flakeid_pq_minter *minter, flakeid_layout *layout)
{
	const flakeid_minter *core = flakeid_pq_minter_core(minter);

	if (core != NULL)
		*layout = core->layout;
	return core != NULL;
}

/* Says why there is no lease.  The caller has the mutex. */
static flakeid_code
no_lease(const flakeid_pq_minter *minter, flakeid_code code, flakeid_error *error)
{
	const flakeid_error *why = &minter->last_error;
	char		since[40];
	time_t		since_s = (time_t) (minter->failing_since_us / US_PER_SECOND);
	struct tm	utc;

	/*
	 * By the core's own error, if the latest attempt was none: the clocks
	 * differ.
	 */
	if (why->code == FLAKEID_OK)
		return code;
	if (code == FLAKEID_NOT_CONNECTED)
	{
		if (error != NULL)
			*error = *why;
		return why->code;
	}
	if (gmtime_r(&since_s, &utc) == NULL || strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		snprintf(since, sizeof(since), "%lld", (long long) since_s);
	(void) fail(error, code, NO_RETRY,
				"the lease is over, and renewing has failed since %s: %.400s", since, why->message);
	if (error != NULL)
		memcpy(error->sqlstate, why->sqlstate, sizeof(error->sqlstate));
	return code;
}

/* Tries to mint, and with one id or many does not wait. */
static flakeid_code
try_next(flakeid_pq_minter *minter, int64_t *ids, size_t n, flakeid_error *error)
{
	flakeid_minter *core = flakeid_pq_minter_core(minter);

	if (core == NULL)
		return fail(error, FLAKEID_NOT_CONNECTED, NO_RETRY, "there is no lease yet");
	return n == 1 ? flakeid_next(core, ids, error) : flakeid_next_n(core, ids, n, error);
}

flakeid_code
flakeid_pq_minter_next_n(flakeid_pq_minter *minter, double timeout, int64_t *ids, size_t n,
						 flakeid_error *error)
{
	flakeid_error own_error;
	int64_t		until_ns = 0;	/* unless we have to wait, the clock is not
								 * needed */

	if (error == NULL)
		error = &own_error;
	for (;;)
	{
		flakeid_code code;
		int64_t		left_ns;

		if (flakeid_process() != minter->process)
			return fail(error, FLAKEID_FORKED, NO_RETRY,
						"the minter belongs to the parent process: make one for this process");
		code = try_next(minter, ids, n, error);
		if (code != FLAKEID_NOT_YET && code != FLAKEID_TOO_FAR_AHEAD &&
			code != FLAKEID_LEASE_EXPIRED && code != FLAKEID_NOT_CONNECTED)
			return code;

		if (until_ns == 0)
			until_ns = flakeid_steady_ns() + flakeid_pq_timeout_ns(timeout);
		left_ns = until_ns - flakeid_steady_ns();
		if (code == FLAKEID_NOT_YET || code == FLAKEID_TOO_FAR_AHEAD)
		{
			int64_t		sleep_ns = error->retry_us < LONGEST_SLEEP_NS / 1000
			? error->retry_us * 1000 : LONGEST_SLEEP_NS;

			if (left_ns <= 0)
				return code;
			flakeid_pq_sleep(sleep_ns < left_ns ? sleep_ns : left_ns);
			continue;
		}

		/*
		 * The thread may have slept with the machine: it is to look at the
		 * clock.
		 */
		__atomic_store_n(&minter->is_missed, true, __ATOMIC_RELAXED);
		wake(minter);
		pthread_mutex_lock(&minter->mutex);
		if (left_ns > 0)
		{
			struct timespec until = flakeid_pq_in(left_ns < LONGEST_SLEEP_NS ? left_ns : LONGEST_SLEEP_NS);

			(void) pthread_cond_timedwait(&minter->changed, &minter->mutex, &until);
		}
		else
			code = no_lease(minter, code, error);
		pthread_mutex_unlock(&minter->mutex);
		if (left_ns <= 0)
			return code;
	}
}

flakeid_code
flakeid_pq_minter_next(flakeid_pq_minter *minter, double timeout, int64_t *id,
					   flakeid_error *error)
{
	return flakeid_pq_minter_next_n(minter, timeout, id, 1, error);
}

void
flakeid_pq_minter_close(flakeid_pq_minter *minter)
{
	bool		is_forked;

	if (minter == NULL)
		return;
	is_forked = flakeid_process() != minter->process;
	if (!is_forked)
	{
		pthread_mutex_lock(&minter->mutex);
		minter->is_closing = true;
		pthread_mutex_unlock(&minter->mutex);
		wake(minter);
		flakeid_connection_hurry(&minter->connection, NS_PER_SECOND);
		(void) pthread_join(minter->thread, NULL);
	}
	free_minter(minter, is_forked);
}
