/*-------------------------------------------------------------------------
 *
 * ask.c
 *	  Asks for one id, or more, and says what came of it; for t/client_c.pl.
 *
 *	ask DSN [NAME=VALUE ...]
 *
 * Names are the options of the minter (generator, ttl, first_ttl, max_ahead, owner), or
 * with shard those of prefetching (shard, generator, batch, expires); timeout; count, how
 * many ids; pause, the seconds in between; die=1, to be gone then without a word.
 *
 * Prints each id on a line, or "CLASS SQLSTATE-or-- MESSAGE" for an error; before it "open"
 * if there is no handle.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "flakeid_pq.h"

static void
say(const char *when, const flakeid_error *error)
{
	printf("%s%s %s %s\n", when, flakeid_code_name(error->code),
		   *error->sqlstate != '\0' ? error->sqlstate : "--", error->message);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	flakeid_pq_minter_options options;
	flakeid_pq_prefetch_options prefetch_options;
	flakeid_pq_minter *minter = NULL;
	flakeid_pq_prefetch *prefetch = NULL;
	flakeid_error error;
	flakeid_code code;
	double		timeout = FLAKEID_DEFAULT_TIMEOUT;
	struct timespec pause = {0};
	long		count = 1;
	bool		has_shard = false;
	bool		dies = false;

	CHECK(argc >= 2, "usage: ask DSN [NAME=VALUE ...]");
	flakeid_pq_minter_options_init(&options);
	flakeid_pq_prefetch_options_init(&prefetch_options);
	for (int i = 2; i < argc; i++)
	{
		char	   *value = strchr(argv[i], '=');

		CHECK(value != NULL, "%s", argv[i]);
		*value++ = '\0';
		if (strcmp(argv[i], "generator") == 0)
			options.generator = prefetch_options.generator = value;
		else if (strcmp(argv[i], "ttl") == 0)
			options.ttl = atof(value);
		else if (strcmp(argv[i], "first_ttl") == 0)
			options.first_ttl = atof(value);
		else if (strcmp(argv[i], "max_ahead") == 0)
			options.max_ahead = atof(value);
		else if (strcmp(argv[i], "owner") == 0)
			options.owner = value;
		else if (strcmp(argv[i], "batch") == 0)
			prefetch_options.batch = atoi(value);
		else if (strcmp(argv[i], "expires") == 0)
			prefetch_options.expires = atof(value);
		else if (strcmp(argv[i], "timeout") == 0)
			timeout = atof(value);
		else if (strcmp(argv[i], "count") == 0)
			count = atol(value);
		else if (strcmp(argv[i], "pause") == 0)
		{
			pause.tv_sec = (time_t) atof(value);
			pause.tv_nsec = (long) ((atof(value) - (double) pause.tv_sec) * 1e9);
		}
		else if (strcmp(argv[i], "die") == 0)
			dies = true;
		else if (strcmp(argv[i], "shard") == 0)
		{
			has_shard = true;
			prefetch_options.shard = atoi(value);
		}
		else
			CHECK(false, "%s", argv[i]);
	}

	code = has_shard ? flakeid_pq_prefetch_open(argv[1], &prefetch_options, &prefetch, &error)
		: flakeid_pq_minter_open(argv[1], &options, &minter, &error);
	if (code != FLAKEID_OK)
	{
		say("open ", &error);
		return 1;
	}
	for (long i = 0; i < count; i++)
	{
		int64_t		id;

		code = has_shard ? flakeid_pq_prefetch_next(prefetch, timeout, &id, &error)
			: flakeid_pq_minter_next(minter, timeout, &id, &error);
		if (code == FLAKEID_OK)
			printf("%" PRId64 "\n", id);
		else
			say("", &error);
		fflush(stdout);
		(void) nanosleep(&pause, NULL);
	}
	if (dies)
		(void) raise(SIGKILL);
	flakeid_pq_minter_close(minter);
	flakeid_pq_prefetch_close(prefetch);
	return 0;
}
