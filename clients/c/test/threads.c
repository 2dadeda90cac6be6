/*-------------------------------------------------------------------------
 *
 * threads.c
 *	  Many threads mint while another one changes the lease all the time.
 *
 * Each lease has another shard, and a time of its own, all of which are in the future.  So
 * an id that was made of the words of two leases has a time that is not its shard's.
 * A signal stops who changes it again and again, at any instruction, for longer than an
 * id takes.
 *
 * No packed value may come twice, over all threads and leases, and those of each
 * thread ascend.
 *
 *	threads [SECONDS [THREADS]]
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "flakeid.h"

#define MAX_THREADS 16
#define MAX_IDS		((size_t) 4 * 1024 * 1024)
#define SEQUENCE_BITS 8
#define SHARD_BITS	14
#define UNIT_US		INT64_C(1000)
#define MAX_LEASES	1700000		/* within max_ahead */
#define LEASE_US	(2 * UNIT_US)
#define MAX_AHEAD_US INT64_C(3600000000)

typedef struct Worker
{
	pthread_t	thread;
	int64_t    *ids;
	size_t		count;
	bool		many;
} Worker;

static flakeid_layout layout;
static flakeid_minter minter;
static int	stop = 0;
static int64_t base_us;

/* From when on there is lease so and so, which lasts up to the next one. */
static int64_t
begins_us(int64_t lease)
{
	return base_us + lease * LEASE_US;
}

static void *
work(void *argument)
{
	Worker	   *worker = argument;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && worker->count + 7 < MAX_IDS)
	{
		size_t		n = worker->many ? 1 + worker->count % 7 : 1;

		if ((n == 1 ? flakeid_next(&minter, worker->ids + worker->count, NULL)
			 : flakeid_next_n(&minter, worker->ids + worker->count, n, NULL)) == FLAKEID_OK)
			worker->count += n;
	}
	return NULL;
}

static void
linger(int signal)
{
	const struct timespec pause = {.tv_nsec = 30000};

	(void) signal;
	(void) nanosleep(&pause, NULL);
}

static void *
disturb(void *argument)
{
	const struct timespec pause = {.tv_nsec = 50000};
	const pthread_t *whom = argument;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
	{
		(void) pthread_kill(*whom, SIGUSR1);
		(void) nanosleep(&pause, NULL);
	}
	return NULL;
}

static int64_t
packed(int64_t id)
{
	return (id >> (SHARD_BITS + SEQUENCE_BITS) << SEQUENCE_BITS) | (id & ((1 << SEQUENCE_BITS) - 1));
}

static int
compare(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	double		seconds = argc > 1 ? atof(argv[1]) : 1;
	int			threads = argc > 2 ? atoi(argv[2]) : 4;
	Worker		workers[MAX_THREADS];
	flakeid_error error;
	const struct sigaction action = {.sa_handler = linger,.sa_flags = SA_RESTART};
	const pthread_t self = pthread_self();
	pthread_t	disturber;
	struct timespec now;
	int64_t		until_ns;
	long		leases = 0;
	size_t		total = 0;
	size_t		shards = 0;
	int64_t    *all;

	CHECK(threads >= 1 && threads <= MAX_THREADS, "%d", threads);
	CHECK(flakeid_layout_parse("ts:42 shard:14 seq:8 epoch=2020-01-01", &layout, &error) == FLAKEID_OK,
		  "%s", error.message);
	CHECK(flakeid_minter_init(&minter, &layout, MAX_AHEAD_US, &error) == FLAKEID_OK, "%s", error.message);
	clock_gettime(CLOCK_REALTIME, &now);
	base_us = (now.tv_sec + 100) * INT64_C(1000000);
	memset(workers, 0, sizeof(workers));
	for (int i = 0; i < threads; i++)
	{
		workers[i].ids = malloc(MAX_IDS * sizeof(int64_t));
		workers[i].many = i % 2 == 1;
		CHECK(workers[i].ids != NULL, "memory");
		CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "thread");
	}

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0, "signal");
	CHECK(pthread_create(&disturber, NULL, disturb, (void *) &self) == 0, "thread");

	until_ns = flakeid_steady_ns() + (int64_t) (seconds * 1e9);
	while (flakeid_steady_ns() < until_ns && leases < MAX_LEASES)
	{
		flakeid_lease lease = {
			.shard = (int32_t) (leases % (1 << SHARD_BITS)),
			.not_before_us = begins_us(leases),
			.expires_at_us = begins_us(leases + 1) - (leases % 5 == 0 ? UNIT_US : 0),
			.deadline_ns = until_ns * 2
		};

		CHECK(flakeid_minter_lease(&minter, &lease, &error) == FLAKEID_OK, "%s", error.message);
		if (leases % 5 == 0)
			CHECK(flakeid_minter_renew(&minter, begins_us(leases + 1), until_ns * 2, &error) == FLAKEID_OK,
				  "%s", error.message);
		leases++;
		if (leases % 11 == 0)
			flakeid_minter_end(&minter);

		/* Let the others mint, too. */
		if (leases % 256 == 0)
			linger(0);
	}
	flakeid_minter_close(&minter);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK(pthread_join(disturber, NULL) == 0, "thread");
	for (int i = 0; i < threads; i++)
	{
		CHECK(pthread_join(workers[i].thread, NULL) == 0, "thread");
		total += workers[i].count;
	}

	all = malloc((total + 1) * sizeof(int64_t));
	CHECK(all != NULL, "memory");
	total = 0;
	for (int i = 0; i < threads; i++)
	{
		for (size_t j = 0; j < workers[i].count; j++)
		{
			int64_t		id = workers[i].ids[j];
			flakeid_parts parts;

			CHECK(flakeid_decode(&layout, id, &parts, &error) == FLAKEID_OK, "%s", error.message);
			CHECK(parts.time_us >= base_us &&
				  (parts.time_us - base_us) / LEASE_US % (1 << SHARD_BITS) == parts.shard,
				  "id %" PRId64 " of shard %d is outside of its lease", id, parts.shard);
			CHECK(j == 0 || packed(id) > packed(workers[i].ids[j - 1]), "thread %d does not ascend", i);
			shards += j == 0 || ((id ^ workers[i].ids[j - 1]) >> SEQUENCE_BITS & ((1 << SHARD_BITS) - 1)) != 0;
			all[total++] = packed(id);
		}
		free(workers[i].ids);
	}
	qsort(all, total, sizeof(int64_t), compare);
	for (size_t i = 1; i < total; i++)
		CHECK(all[i] != all[i - 1], "packed value %" PRId64 " comes twice", all[i]);
	free(all);
	CHECK(total > 1000 && shards > 10, "only %zu ids of %zu leases", total, shards);
	printf("threads: ok, %zu ids, %ld leases, of which threads saw %zu\n", total, leases, shards);
	return 0;
}
