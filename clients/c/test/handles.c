/*-------------------------------------------------------------------------
 *
 * handles.c
 *	  The handles of flakeid_pq.h, as far as that needs no server: what they refuse, and
 *	  that whoever waits for a database that is away waits idly.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "flakeid_pq.h"

#define NOWHERE		"host=/nonexistent"
#define THREADS		4

static flakeid_error error;

/* What opening a minter says; it must not succeed. */
static flakeid_code
open_minter(const char *conninfo, const flakeid_pq_minter_options *options)
{
	flakeid_pq_minter *minter;
	flakeid_code code = flakeid_pq_minter_open(conninfo, options, &minter, &error);

	CHECK(code != FLAKEID_OK, "opened");
	return code;
}

static void
test_arguments(void)
{
	flakeid_pq_minter_options options;
	flakeid_pq_prefetch_options prefetching;
	flakeid_pq_prefetch *prefetch;

	CHECK(open_minter(NULL, NULL) == FLAKEID_INVALID_ARGUMENT, "no connection string");
	flakeid_pq_minter_options_init(&options);
	options.generator = "";
	CHECK(open_minter(NOWHERE, &options) == FLAKEID_INVALID_ARGUMENT &&
		  strstr(error.message, "generator") != NULL, "%s", error.message);
	for (int i = 0; i < 3; i++)
	{
		double	   *seconds[] = {&options.ttl, &options.first_ttl, &options.max_ahead};
		const double bad[] = {NAN, INFINITY, -INFINITY, -1};

		for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++)
		{
			flakeid_pq_minter_options_init(&options);
			*seconds[i] = bad[j];
			/* A long first lease is as long as any other. */
			if (seconds[i] == &options.first_ttl && bad[j] == INFINITY)
				continue;
			CHECK(open_minter(NOWHERE, &options) == FLAKEID_INVALID_ARGUMENT, "%d %g", i, bad[j]);
		}
	}

	flakeid_pq_prefetch_options_init(&prefetching);
	prefetching.shard = 1;
	prefetching.generator = "";
	CHECK(flakeid_pq_prefetch_open(NOWHERE, &prefetching, &prefetch, &error) == FLAKEID_INVALID_ARGUMENT,
		  "%s", error.message);
	prefetching.generator = NULL;
	prefetching.expires = NAN;
	CHECK(flakeid_pq_prefetch_open(NOWHERE, &prefetching, &prefetch, &error) == FLAKEID_INVALID_ARGUMENT,
		  "%s", error.message);
}

static void *
wait_for_id(void *argument)
{
	int64_t		id;

	CHECK(flakeid_pq_prefetch_next(argument, 1, &id, NULL) == FLAKEID_NOT_CONNECTED, "an id");
	return NULL;
}

static void
test_waiting(void)
{
	flakeid_pq_prefetch_options options;
	flakeid_pq_prefetch *prefetch;
	pthread_t	threads[THREADS];
	clock_t		begun;

	flakeid_pq_prefetch_options_init(&options);
	options.shard = 1;
	CHECK(flakeid_pq_prefetch_open(NOWHERE, &options, &prefetch, &error) == FLAKEID_OK,
		  "%s", error.message);
	begun = clock();
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, wait_for_id, prefetch) == 0, "thread %d", i);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0, "thread %d", i);
	CHECK(clock() - begun < CLOCKS_PER_SEC / 4, "they have kept the processor busy");
	flakeid_pq_prefetch_close(prefetch);
}

int
main(void)
{
	test_arguments();
	test_waiting();
	puts("handles: ok");
	return 0;
}
