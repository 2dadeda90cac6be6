/*-------------------------------------------------------------------------
 *
 * range_minter.c
 *	  A process that mints for t/torture_ranges.pl, and notes ranges of ids.
 *
 *	range_minter DSN GENERATOR TTL_SECONDS FILE CLIENT RATE
 *
 * Mints RATE ids a second by leases of the generator, until SIGTERM.  Each tenth of a
 * second it appends a line to FILE as t/lib/TortureClient.pm has them: the first and the
 * last id, how many there were, and when.  All of them are of one shard and ascend,
 * or the program says so and ends.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "flakeid_pq.h"

#define LINES_PER_SECOND 10
#define AT_ONCE 1000

/* Ids that are not written yet. */
typedef struct Range
{
	int32_t		shard;
	int64_t		first;
	int64_t		last;
	int64_t		count;
	int64_t		sent_us;		/* before the first was minted */
} Range;

static volatile sig_atomic_t is_to_end = 0;

static void
on_term(int signal)
{
	(void) signal;
	is_to_end = 1;
}

static int64_t
microseconds(clockid_t clock)
{
	struct timespec now;

	CHECK(clock_gettime(clock, &now) == 0, "%s", strerror(errno));
	return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void
pause_us(int64_t us)
{
	struct timespec pause = {.tv_sec = (time_t) (us / 1000000),.tv_nsec = (long) (us % 1000000 * 1000)};

	(void) nanosleep(&pause, NULL);
}

static void
write_range(int to, const char *client, const char *generator, Range *range)
{
	static int64_t request = 0;
	char		line[500];
	int			length;

	if (range->count > 0)
	{
		/* The lease was committed, so a failover loses none of them. */
		length = snprintf(line, sizeof(line),
						  "%s\t%" PRId32 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
						  "\t15s\t1\t%s\t%" PRId64 "\t1\t%" PRId64 "\t%" PRId64 "\t1\n",
						  generator, range->shard, range->first, range->sent_us,
						  microseconds(CLOCK_MONOTONIC), microseconds(CLOCK_REALTIME), client,
						  ++request, range->last, range->count);
		CHECK(write(to, line, (size_t) length) == length, "%s", strerror(errno));
	}
	range->count = 0;
}

static void
take(const flakeid_layout *layout, const int64_t *ids, size_t n, Range *range, int to,
	 const char *client, const char *generator, int64_t sent_us)
{
	for (size_t i = 0; i < n; i++)
	{
		int32_t		shard;
		flakeid_error error;

		CHECK(flakeid_shard(layout, ids[i], &shard, &error) == FLAKEID_OK, "%s", error.message);
		if (range->count > 0 && shard != range->shard)
		{
			CHECK(i == 0, "%" PRId64 " is of another shard than its neighbors", ids[i]);
			write_range(to, client, generator, range);
		}
		if (range->count == 0)
		{
			range->shard = shard;
			range->first = ids[i];
			range->sent_us = sent_us;
		}
		CHECK(range->count == 0 || ids[i] > range->last,
			  "%" PRId64 " comes after %" PRId64, ids[i], range->last);
		range->last = ids[i];
		range->count++;
	}
}

int
main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_term};
	flakeid_pq_minter *minter = NULL;
	flakeid_pq_minter_options options;
	flakeid_layout layout;
	Range		range = {0};
	int64_t		ids[AT_ONCE];
	int64_t		due_us = microseconds(CLOCK_MONOTONIC);
	int64_t		written_us = due_us;
	int64_t		pause_per_batch_us;
	int			to;

	if (argc != 7)
	{
		fprintf(stderr, "usage: range_minter DSN GENERATOR TTL_SECONDS FILE CLIENT RATE\n");
		return 2;
	}
	(void) sigaction(SIGTERM, &action, NULL);
	pause_per_batch_us = (int64_t) (AT_ONCE * 1000000 / atof(argv[6]));
	to = open(argv[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	CHECK(to >= 0, "%s: %s", argv[4], strerror(errno));

	flakeid_pq_minter_options_init(&options);
	options.generator = argv[2];
	options.ttl = options.first_ttl = atof(argv[3]);
	while (!is_to_end)
	{
		int64_t		sent_us = microseconds(CLOCK_MONOTONIC);
		flakeid_error error;
		flakeid_code code = FLAKEID_OK;

		if (sent_us >= written_us + 1000000 / LINES_PER_SECOND)
		{
			write_range(to, argv[5], argv[2], &range);
			written_us = sent_us;
		}
		if (minter == NULL)
			code = flakeid_pq_minter_open(argv[1], &options, &minter, &error);
		if (code == FLAKEID_OK)
			code = flakeid_pq_minter_next_n(minter, 0.2, ids, AT_ONCE, &error);
		if (code != FLAKEID_OK)
		{
			pause_us(50000);
			continue;
		}
		CHECK(flakeid_pq_minter_layout(minter, &layout), "there is no layout");
		take(&layout, ids, AT_ONCE, &range, to, argv[5], argv[2], sent_us);

		/* What was missed is not made up for. */
		due_us += pause_per_batch_us;
		if (due_us > sent_us)
			pause_us(due_us - sent_us);
		else
			due_us = sent_us;
	}
	write_range(to, argv[5], argv[2], &range);
	flakeid_pq_minter_close(minter);
	return 0;
}
