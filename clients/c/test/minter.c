/*-------------------------------------------------------------------------
 *
 * minter.c
 *	  A process that mints, for tests that stop, kill and fork such processes.
 *
 *	minter DSN GENERATOR TTL_SECONDS PREFIX [RATE]
 *
 * Mints until SIGTERM, as fast as it can or RATE ids a second.  Appends the ids to
 * PREFIX.ids, 8 bytes little-endian each, and what happens to PREFIX.log, a line each,
 * before any id that it is about.  On SIGUSR1 it forks: the child tries to mint with its
 * parent's minter, then mints with its own for PREFIX.childPID for 2 seconds, and ends.
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
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "flakeid_pq.h"

#define MAX_BUFFERED 4096
#define CHILD_SECONDS 2
#define NS_PER_SECOND INT64_C(1000000000)

typedef struct Files
{
	int			ids;
	int			log;
} Files;

static volatile sig_atomic_t is_to_end = 0;
static volatile sig_atomic_t is_to_fork = 0;

static void
on_term(int signal)
{
	(void) signal;
	is_to_end = 1;
}

static void
on_usr1(int signal)
{
	(void) signal;
	is_to_fork = 1;
}

static void
write_all(int to, const void *bytes, size_t length)
{
	/* In one piece: a file that is appended to takes it whole. */
	ssize_t		written = write(to, bytes, length);

	CHECK(written == (ssize_t) length, "written %zd of %zu: %s", written, length, strerror(errno));
}

__attribute__((format(printf, 2, 3)))
static void
note(const Files *files, const char *format,...)
{
	char		line[700];
	va_list		args;
	int			length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (length > (int) sizeof(line) - 2)
		length = (int) sizeof(line) - 2;
	for (int i = 0; i < length; i++)
	{
		if (line[i] == '\n')
			line[i] = ' ';
	}
	line[length++] = '\n';
	write_all(files->log, line, (size_t) length);
}

static void
on_event(const flakeid_event *event, void *argument)
{
	const Files *files = argument;
	const char *name = flakeid_event_name(event->type);

	switch (event->type)
	{
		case FLAKEID_EVENT_LEASED:
			note(files, "%s %d %" PRId64 " %" PRId64, name, event->shard, event->not_before_us,
				 event->expires_at_us);
			break;
		case FLAKEID_EVENT_RENEWED:
			note(files, "%s %" PRId64, name, event->expires_at_us);
			break;
		case FLAKEID_EVENT_RENEW_FAILED:
			note(files, "%s %s %s", name, *event->error->sqlstate != '\0' ? event->error->sqlstate : "--",
				 event->error->message);
			break;
		default:
			note(files, "%s", name);
	}
}

static Files
open_files(const char *prefix)
{
	Files		files;
	char		path[4096];

	snprintf(path, sizeof(path), "%s.ids", prefix);
	files.ids = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	CHECK(files.ids >= 0, "%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s.log", prefix);
	files.log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	CHECK(files.log >= 0, "%s: %s", path, strerror(errno));
	return files;
}

static void
pause_ns(int64_t ns)
{
	struct timespec pause = {.tv_sec = (time_t) (ns / NS_PER_SECOND),.tv_nsec = (long) (ns % NS_PER_SECOND)};

	(void) nanosleep(&pause, NULL);
}

static void
write_ids(const Files *files, const int64_t *ids, size_t count)
{
	static uint8_t bytes[MAX_BUFFERED * 8];

	for (size_t i = 0; i < count * 8; i++)
		bytes[i] = (uint8_t) ((uint64_t) ids[i / 8] >> (i % 8 * 8));
	if (count > 0)
		write_all(files->ids, bytes, count * 8);
}

static void mint(const char *const *args, const char *prefix, flakeid_pq_minter *minter,
				 int64_t until_ns);

/* In the child of fork() */
static void
mint_in_child(const char *const *args, const Files *files, flakeid_pq_minter *parents)
{
	char		prefix[4000];
	int64_t		id;
	flakeid_error error;
	flakeid_code code = flakeid_pq_minter_next(parents, 0, &id, &error);

	if (code == FLAKEID_OK)
		note(files, "child minted %" PRId64, id);
	else
		note(files, "child %s", flakeid_code_name(code));
	flakeid_pq_minter_close(parents);
	snprintf(prefix, sizeof(prefix), "%s.child%ld", args[3], (long) getpid());
	is_to_end = is_to_fork = 0;
	mint(args, prefix, NULL, flakeid_steady_ns() + CHILD_SECONDS * NS_PER_SECOND);
	_exit(0);
}

/* Opens a minter for a prefix, and mints until it is to end. */
static void
mint(const char *const *args, const char *prefix, flakeid_pq_minter *minter, int64_t until_ns)
{
	Files		files = open_files(prefix);
	int64_t		begun_ns = flakeid_steady_ns();
	int64_t		ids[MAX_BUFFERED];
	size_t		count = 0;
	double		total = 0;
	double		rate = args[4] != NULL ? atof(args[4]) : 0;
	flakeid_pq_minter_options options;
	flakeid_error error;

	flakeid_pq_minter_options_init(&options);
	options.generator = args[1];
	options.ttl = options.first_ttl = atof(args[2]);
	options.on_event = on_event;
	options.argument = &files;
	while (!is_to_end && flakeid_steady_ns() < until_ns)
	{
		flakeid_code code = FLAKEID_OK;

		if (minter == NULL)
			code = flakeid_pq_minter_open(args[0], &options, &minter, &error);
		if (code == FLAKEID_OK && is_to_fork)
		{
			is_to_fork = 0;
			write_ids(&files, ids, count);
			count = 0;
			if (fork() == 0)
				mint_in_child(args, &files, minter);
		}
		if (code == FLAKEID_OK)
			code = flakeid_pq_minter_next(minter, 0.2, &ids[count], &error);
		if (code == FLAKEID_OK)
		{
			count++;
			total++;
			if (count == MAX_BUFFERED || rate > 0)
			{
				write_ids(&files, ids, count);
				count = 0;
			}
			if (rate > 0)
			{
				int64_t		due_ns = begun_ns + (int64_t) (total / rate * (double) NS_PER_SECOND);
				int64_t		now_ns = flakeid_steady_ns();

				if (due_ns > now_ns)
					pause_ns(due_ns - now_ns < NS_PER_SECOND ? due_ns - now_ns : NS_PER_SECOND);
				else if (due_ns < now_ns - NS_PER_SECOND)
				{
					begun_ns = now_ns;
					total = 0;
				}
			}
		}
		else if (code != FLAKEID_TOO_FAR_AHEAD)
		{
			write_ids(&files, ids, count);
			count = 0;
			note(&files, "error %s %s", flakeid_code_name(code), error.message);
			pause_ns(50000000);
		}
	}
	write_ids(&files, ids, count);
	flakeid_pq_minter_close(minter);
	(void) close(files.ids);
	(void) close(files.log);
}

int
main(int argc, char **argv)
{
	const char *args[5] = {NULL};
	struct sigaction action = {.sa_handler = on_term};

	if (argc < 5 || argc > 6)
	{
		fprintf(stderr, "usage: minter DSN GENERATOR TTL_SECONDS PREFIX [RATE]\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		args[i - 1] = argv[i];
	(void) sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_usr1;
	(void) sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = SIG_IGN;	/* children end by themselves */
	action.sa_flags = SA_NOCLDWAIT;
	(void) sigaction(SIGCHLD, &action, NULL);
	mint(args, args[3], NULL, INT64_MAX);
	return 0;
}
