/*-------------------------------------------------------------------------
 *
 * prefetch.c
 *	  Ids that the database mints, fetched in batches before they are wanted.
 *
 * A thread asks for the next batch when half of the present one is used and somebody
 * wants an id; one request is under way at a time.  So there are two batches at most, and
 * the ids of each ascend.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "pq/minter.h"

#include <stdlib.h>

#define MAX_BATCH	1000000

typedef struct Batch
{
	int64_t    *ids;
	int			count;
	int			used;
	int64_t		expires_ns;		/* by flakeid_steady_ns() */
} Batch;

struct flakeid_pq_prefetch
{
	uint32_t	process;
	int32_t		shard;
	int			batch;
	int64_t		expires_ns;
	Connection	connection;		/* the thread's own */
	int			failures;		/* the same */

	/* Guarded by the mutex */
	pthread_t	thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	Batch		batches[2];		/* the present one, and the next one */
	bool		is_wanted;		/* the next one, by somebody who takes an id */
	bool		is_closing;
	bool		is_tried;
	int64_t		next_ns;		/* not to be asked before, after a failure */
	flakeid_error last_error;
};

void
flakeid_pq_prefetch_options_init(flakeid_pq_prefetch_options *options)
{
	memset(options, 0, sizeof(*options));
	options->shard = -1;
	options->batch = 100;
	options->expires = 600;
}

static int
left_in(const Batch *batch)
{
	return batch->count - batch->used;
}

/* Throws away what is too old, and goes on to the next batch.  Needs the mutex. */
static void
tidy(flakeid_pq_prefetch *prefetch)
{
	int64_t		now_ns = flakeid_steady_ns();
	Batch	   *present = &prefetch->batches[0];
	Batch	   *next = &prefetch->batches[1];

	for (int i = 0; i < 2; i++)
	{
		if (now_ns >= prefetch->batches[i].expires_ns)
			prefetch->batches[i].used = prefetch->batches[i].count;
	}
	if (left_in(present) == 0 && left_in(next) > 0)
	{
		Batch		swapped = *present;

		*present = *next;
		*next = swapped;
	}
}

/*
 * Whether half of the batch is used, and the next one is not there.  To be called after
 * tidy().
 */
static bool
is_low(const flakeid_pq_prefetch *prefetch)
{
	return left_in(&prefetch->batches[1]) == 0 &&
		left_in(&prefetch->batches[0]) <= prefetch->batch / 2;
}

/* Has the thread fetch a batch, if it is low.  Needs the mutex. */
static void
want(flakeid_pq_prefetch *prefetch)
{
	if (prefetch->is_wanted || !is_low(prefetch))
		return;
	prefetch->is_wanted = true;
	pthread_cond_broadcast(&prefetch->changed);
}

static flakeid_code
fetch(flakeid_pq_prefetch *prefetch, Batch *batch, flakeid_error *error)
{
	char		shard[20];
	char		count[20];
	const char *params[] = {shard, count, NULL};
	int64_t		sent_ns = flakeid_steady_ns();
	PGresult   *result;
	flakeid_code code;

	flakeid_connection_limit(&prefetch->connection, ATTEMPT_NS);
	code = flakeid_connection_open(&prefetch->connection, error);
	if (code != FLAKEID_OK)
		return code;
	snprintf(shard, sizeof(shard), "%d", prefetch->shard);
	snprintf(count, sizeof(count), "%d", prefetch->batch);
	params[2] = flakeid_connection_generator(&prefetch->connection);

	/*
	 * The message makes it wait for a synchronous standby, as a transaction
	 * with rows does.
	 */
	result = flakeid_connection_query(&prefetch->connection,
									  "SELECT i FROM $S.flake_ids($1::pg_catalog.int4, $2::pg_catalog.int4, $3::pg_catalog.regclass) AS i "
									  "CROSS JOIN pg_catalog.pg_logical_emit_message(true, 'flakeid'::pg_catalog.text, ''::pg_catalog.text)",
									  3, params, error);
	if (result == NULL)
	{
		/* Leases mean something else by these SQLSTATEs. */
		if (error->code == FLAKEID_NO_SHARD_LEFT || error->code == FLAKEID_LIFETIME_OVER)
			error->code = FLAKEID_SERVER_ERROR;
		return error->code;
	}
	batch->count = PQntuples(result) < prefetch->batch ? PQntuples(result) : prefetch->batch;
	batch->used = 0;
	for (int i = 0; i < batch->count; i++)
		batch->ids[i] = strtoll(PQgetvalue(result, i, 0), NULL, 10);
	batch->expires_ns = sent_ns + prefetch->expires_ns;
	PQclear(result);
	return FLAKEID_OK;
}

static void *
run(void *argument)
{
	flakeid_pq_prefetch *prefetch = argument;

	pthread_mutex_lock(&prefetch->mutex);
	while (!prefetch->is_closing)
	{
		int64_t		wait_ns = prefetch->next_ns - flakeid_steady_ns();
		Batch		batch;
		flakeid_error error;
		flakeid_code code;

		tidy(prefetch);
		if (!prefetch->is_wanted || !is_low(prefetch))
		{
			prefetch->is_wanted = false;
			(void) pthread_cond_wait(&prefetch->changed, &prefetch->mutex);
			continue;
		}
		if (wait_ns > 0)
		{
			struct timespec until = flakeid_pq_in(wait_ns);

			(void) pthread_cond_timedwait(&prefetch->changed, &prefetch->mutex, &until);
			continue;
		}

		/*
		 * Nobody takes ids of an empty batch, and so this one is ours
		 * meanwhile.
		 */
		batch = prefetch->batches[1];
		prefetch->is_wanted = false;
		pthread_mutex_unlock(&prefetch->mutex);
		code = fetch(prefetch, &batch, &error);
		if (code != FLAKEID_OK)
			flakeid_connection_drop(&prefetch->connection);
		pthread_mutex_lock(&prefetch->mutex);

		prefetch->is_tried = true;
		if (code == FLAKEID_OK)
		{
			prefetch->batches[1] = batch;
			prefetch->failures = 0;
			prefetch->last_error.code = FLAKEID_OK;
		}
		else
		{
			prefetch->next_ns = flakeid_steady_ns() + flakeid_pq_backoff_ns(++prefetch->failures);
			prefetch->last_error = error;
		}
		pthread_cond_broadcast(&prefetch->changed);
	}
	pthread_mutex_unlock(&prefetch->mutex);
	return NULL;
}

static void
free_prefetch(flakeid_pq_prefetch *prefetch, bool is_forked)
{
	flakeid_connection_free(&prefetch->connection, is_forked);
	free(prefetch->batches[0].ids);
	free(prefetch->batches[1].ids);
	free(prefetch);
}

flakeid_code
flakeid_pq_prefetch_open(const char *conninfo, const flakeid_pq_prefetch_options *options,
						 flakeid_pq_prefetch **result, flakeid_error *error)
{
	flakeid_pq_prefetch *prefetch;
	size_t		size;
	flakeid_code code;

	if (options == NULL || options->shard < 0)
		return fail_argument(error, "shard must be given, and must not be negative");
	if (options->batch < 1 || options->batch > MAX_BATCH)
		return fail_argument(error, "batch must be from 1 to %d, and is %d", MAX_BATCH,
							 options->batch);
	if (!(options->expires >= 0.001))
		return fail_argument(error, "expires must be at least 0.001 seconds, and is %g",
							 options->expires);
	prefetch = calloc(1, sizeof(*prefetch));
	if (prefetch == NULL)
		return fail_argument(error, "out of memory");
	prefetch->process = flakeid_process();
	prefetch->shard = options->shard;
	prefetch->batch = options->batch;
	prefetch->is_wanted = true;
	prefetch->expires_ns = flakeid_pq_timeout_ns(options->expires);
	size = (size_t) options->batch * sizeof(int64_t);
	prefetch->batches[0].ids = malloc(size);
	prefetch->batches[1].ids = malloc(size);
	if (prefetch->batches[0].ids == NULL || prefetch->batches[1].ids == NULL)
		code = fail_argument(error, "out of memory");
	else
		code = flakeid_connection_init(&prefetch->connection, conninfo, options->generator, error);
	if (code == FLAKEID_OK)
	{
		prefetch->connection.rights = "Grant EXECUTE on flake_ids and pg_logical_emit_message(boolean, text, text), and USAGE on the generator.";
		code = flakeid_pq_start(&prefetch->thread, &prefetch->mutex, &prefetch->changed, run,
								prefetch, error);
	}
	if (code != FLAKEID_OK)
	{
		free_prefetch(prefetch, false);
		return code;
	}

	pthread_mutex_lock(&prefetch->mutex);
	while (!prefetch->is_tried)
		(void) pthread_cond_wait(&prefetch->changed, &prefetch->mutex);
	code = prefetch->last_error.code;
	if (error != NULL && code != FLAKEID_OK)
		*error = prefetch->last_error;
	pthread_mutex_unlock(&prefetch->mutex);
	if (flakeid_pq_is_final(code))
	{
		flakeid_pq_prefetch_close(prefetch);
		return code;
	}
	*result = prefetch;
	return FLAKEID_OK;
}

flakeid_code
flakeid_pq_prefetch_next(flakeid_pq_prefetch *prefetch, double timeout, int64_t *id,
						 flakeid_error *error)
{
	int64_t		until_ns = flakeid_steady_ns() + flakeid_pq_timeout_ns(timeout);
	flakeid_code code = FLAKEID_OK;

	/* P3 */
	if (flakeid_process() != prefetch->process)
		return fail(error, FLAKEID_FORKED, NO_RETRY,
					"the ids belong to the parent process: fetch some for this process");
	pthread_mutex_lock(&prefetch->mutex);
	for (;;)
	{
		Batch	   *present = &prefetch->batches[0];
		int64_t		left_ns;

		tidy(prefetch);
		if (left_in(present) > 0)
		{
			*id = present->ids[present->used++];
			tidy(prefetch);
			want(prefetch);
			break;
		}
		want(prefetch);
		left_ns = until_ns - flakeid_steady_ns();
		if (left_ns > 0)
		{
			struct timespec until = flakeid_pq_in(left_ns);

			(void) pthread_cond_timedwait(&prefetch->changed, &prefetch->mutex, &until);
			continue;
		}
		code = prefetch->last_error.code;
		if (code == FLAKEID_OK)
			code = fail(error, FLAKEID_NOT_CONNECTED, NO_RETRY,
						"the database has not answered yet");
		else if (error != NULL)
			*error = prefetch->last_error;
		break;
	}
	pthread_mutex_unlock(&prefetch->mutex);
	return code;
}

void
flakeid_pq_prefetch_close(flakeid_pq_prefetch *prefetch)
{
	bool		is_forked;

	if (prefetch == NULL)
		return;
	is_forked = flakeid_process() != prefetch->process;
	if (!is_forked)
	{
		pthread_mutex_lock(&prefetch->mutex);
		prefetch->is_closing = true;
		pthread_cond_broadcast(&prefetch->changed);
		pthread_mutex_unlock(&prefetch->mutex);
		flakeid_connection_hurry(&prefetch->connection, 0);
		(void) pthread_join(prefetch->thread, NULL);
		(void) pthread_cond_destroy(&prefetch->changed);
		(void) pthread_mutex_destroy(&prefetch->mutex);
	}
	free_prefetch(prefetch, is_forked);
}
