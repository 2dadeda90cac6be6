/*-------------------------------------------------------------------------
 *
 * bench.c
 *	  Ids per second of the core, which needs no server, and with PGHOST or DATABASE_URL of
 *	  a minter that has its lease from one.
 *
 *	bench [SECONDS]
 *
 * Prints "name<TAB>ids per second" for each case, which takes so many seconds, 1 if not said.
 * In a burst ids run ahead of the clock, up to max_ahead; sustained, they come no faster than
 * the layout has them.  The seconds are those of the processor, so that other programs do not
 * count; but the clock's where ids are sustained, or of two threads, which are to meet.  The
 * lines of clocks are readings per second: two of them go into each id.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../test/check.h"
#include "flakeid_pq.h"

#define SECOND_NS	INT64_C(1000000000)
#define MANY		100

static flakeid_layout layout;
static flakeid_minter minter;
static flakeid_pq_minter *leased;
static double seconds = 1;

/* A minter whose time begins anew, with the layout, and two hours' lease of a shard */
static void
init_minter(flakeid_minter *started, int shard, int64_t max_ahead_us)
{
	flakeid_error error;
	struct timespec now;
	flakeid_lease lease = {.shard = shard,.deadline_ns = INT64_MAX};

	CHECK(flakeid_minter_init(started, &layout, max_ahead_us, &error) == FLAKEID_OK, "%s",
		  error.message);
	clock_gettime(CLOCK_REALTIME, &now);
	lease.not_before_us = now.tv_sec * INT64_C(1000000);
	lease.expires_at_us = lease.not_before_us + INT64_C(7200000000);
	CHECK(flakeid_minter_lease(started, &lease, &error) == FLAKEID_OK, "%s", error.message);
}

/* The minter that all threads share */
static void
start(const char *text, int64_t max_ahead_us)
{
	flakeid_error error;

	CHECK(flakeid_layout_parse(text, &layout, &error) == FLAKEID_OK, "%s", error.message);
	init_minter(&minter, 1, max_ahead_us);
}

/*
 * The same with a layout of 1,024 ids a millisecond, and the burst behind it.  It can be 0.1 s
 * ahead, so that it loses nothing while other programs have the processor.
 */
static void
start_sustained(void)
{
	int64_t		id;

	start("instagram", 100000);
	while (flakeid_next(&minter, &id, NULL) == FLAKEID_OK)
		;
}

static void *
mint_one_by_one(void *argument)
{
	int64_t		until_ns = flakeid_steady_ns() + (int64_t) (seconds * SECOND_NS);
	int64_t    *count = argument;
	int64_t		id;

	do
	{
		for (int i = 0; i < 10000; i++)
			*count += flakeid_next(&minter, &id, NULL) == FLAKEID_OK;
	} while (flakeid_steady_ns() < until_ns);
	return NULL;
}

/* With a minter of the thread's own; other threads have other shards. */
static void *
mint_with_own(void *argument)
{
	static atomic_int shards = 1;
	int64_t		until_ns = flakeid_steady_ns() + (int64_t) (seconds * SECOND_NS);
	int64_t    *count = argument;
	int64_t		id;
	flakeid_minter own;

	init_minter(&own, atomic_fetch_add(&shards, 1), INT64_C(3600000000));
	do
	{
		for (int i = 0; i < 10000; i++)
			*count += flakeid_next(&own, &id, NULL) == FLAKEID_OK;
	} while (flakeid_steady_ns() < until_ns);
	return NULL;
}

static void *
mint_many(void *argument)
{
	int64_t		until_ns = flakeid_steady_ns() + (int64_t) (seconds * SECOND_NS);
	int64_t    *count = argument;
	int64_t		ids[MANY];

	do
	{
		for (int i = 0; i < 10000; i++)
		{
			if (flakeid_next_n(&minter, ids, MANY, NULL) == FLAKEID_OK)
				*count += MANY;
		}
	} while (flakeid_steady_ns() < until_ns);
	return NULL;
}

static void *
mint_leased(void *argument)
{
	int64_t		until_ns = flakeid_steady_ns() + (int64_t) (seconds * SECOND_NS);
	int64_t    *count = argument;
	int64_t		id;

	do
	{
		for (int i = 0; i < 10000; i++)
			*count += flakeid_pq_minter_next(leased, 0, &id, NULL) == FLAKEID_OK;
	} while (flakeid_steady_ns() < until_ns);
	return NULL;
}

static int64_t
read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* By CLOCK_PROCESS_CPUTIME_ID or CLOCK_MONOTONIC */
static void
measure(const char *name, clockid_t clock, int threads, void *(*work) (void *))
{
	/* Each on cache lines of its own */
	static struct
	{
		int64_t		count[16];
	}			counts[8];
	pthread_t	workers[8];
	int64_t		begun_ns = read_ns(clock);
	double		total = 0;

	memset(counts, 0, sizeof(counts));
	for (int i = 0; i < threads; i++)
		CHECK(pthread_create(&workers[i], NULL, work, counts[i].count) == 0, "thread");
	for (int i = 0; i < threads; i++)
	{
		CHECK(pthread_join(workers[i], NULL) == 0, "thread");
		total += (double) counts[i].count[0];
	}
	printf("%s\t%.0f\n", name, total / ((double) (read_ns(clock) - begun_ns) / SECOND_NS));
	fflush(stdout);
}

static void
measure_clock(const char *name, clockid_t clock)
{
	int64_t		until_ns = flakeid_steady_ns() + (int64_t) (seconds * SECOND_NS);
	int64_t		begun_ns = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	int64_t		count = 0;
	struct timespec now;

	do
	{
		for (int i = 0; i < 10000; i++)
			(void) clock_gettime(clock, &now);
		count += 10000;
	} while (flakeid_steady_ns() < until_ns);
	printf("%s\t%.0f\n", name,
		   (double) count / ((double) (read_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns) / SECOND_NS));
}

/* With the lease of a server, conninfo */
static void
measure_leased(const char *conninfo)
{
	flakeid_pq_minter_options options;
	flakeid_error error;

	flakeid_pq_minter_options_init(&options);
	options.ttl = options.first_ttl = 7200;
	options.max_ahead = 3600;
	CHECK(flakeid_pq_minter_open(conninfo, &options, &leased, &error) == FLAKEID_OK, "%s",
		  error.message);
	measure("flakeid_pq_minter_next, burst", CLOCK_PROCESS_CPUTIME_ID, 1, mint_leased);
	flakeid_pq_minter_close(leased);
}

int
main(int argc, char **argv)
{
	/* So many ids per tick that a burst of an hour's worth does not end */
	const char *wide = "ts:41 shard:3 seq:20 epoch=2020-01-01";
	int64_t		hour_us = INT64_C(3600000000);
	const char *url = getenv("DATABASE_URL");

	if (argc > 1)
		seconds = atof(argv[1]);
	measure_clock("clock_gettime(CLOCK_REALTIME)", CLOCK_REALTIME);
#ifdef CLOCK_REALTIME_COARSE
	measure_clock("clock_gettime(CLOCK_REALTIME_COARSE)", CLOCK_REALTIME_COARSE);
#endif
	measure_clock("clock_gettime(CLOCK_MONOTONIC)", CLOCK_MONOTONIC);
#ifdef CLOCK_BOOTTIME
	measure_clock("clock_gettime(CLOCK_BOOTTIME)", CLOCK_BOOTTIME);
#endif
	start(wide, hour_us);
	measure("flakeid_next, as the clock goes", CLOCK_PROCESS_CPUTIME_ID, 1, mint_one_by_one);
	start("instagram", hour_us);
	measure("flakeid_next, burst", CLOCK_PROCESS_CPUTIME_ID, 1, mint_one_by_one);
	start("instagram", hour_us);
	measure("flakeid_next, burst, 2 threads", CLOCK_MONOTONIC, 2, mint_one_by_one);
	measure("flakeid_next, burst, 2 threads with a minter each", CLOCK_MONOTONIC, 2, mint_with_own);
	if (url != NULL || getenv("PGHOST") != NULL)
		measure_leased(url != NULL ? url : "");
	start("instagram", hour_us);
	measure("flakeid_next_n of 100, burst", CLOCK_PROCESS_CPUTIME_ID, 1, mint_many);
	start("instagram", hour_us);
	measure("flakeid_next_n of 100, burst, 2 threads", CLOCK_MONOTONIC, 2, mint_many);
	start_sustained();
	measure("flakeid_next, sustained", CLOCK_MONOTONIC, 1, mint_one_by_one);
	start_sustained();
	measure("flakeid_next_n of 100, sustained", CLOCK_MONOTONIC, 1, mint_many);
	return 0;
}
