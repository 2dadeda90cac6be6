/*-------------------------------------------------------------------------
 *
 * unit.c
 *	  The core's minter, rule by rule, without a server: the test grants the leases.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "flakeid.h"

#define SECOND	INT64_C(1000000)
#define N		((size_t) 16 * 1024)	/* ids of 16 ticks */

static flakeid_layout layout;
static flakeid_minter minter;
static flakeid_error error;

static int64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * SECOND + now.tv_nsec / 1000;
}

static void
start(const char *text, int64_t max_ahead_us)
{
	CHECK(flakeid_layout_parse(text, &layout, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_minter_init(&minter, &layout, max_ahead_us, &error) == FLAKEID_OK, "%s",
		  error.message);
}

/* A lease from one time to another, as seconds from now. */
static flakeid_code
grant(int32_t shard, double from, double upto)
{
	int64_t		now = now_us();
	flakeid_lease lease = {
		.shard = shard,
		.not_before_us = now + (int64_t) (from * SECOND),
		.expires_at_us = now + (int64_t) (upto * SECOND),
		.deadline_ns = INT64_MAX
	};

	return flakeid_minter_lease(&minter, &lease, &error);
}

static int64_t
mint(void)
{
	int64_t		id;

	CHECK(flakeid_next(&minter, &id, &error) == FLAKEID_OK, "%s", error.message);
	return id;
}

static flakeid_parts
parts_of(int64_t id)
{
	flakeid_parts parts;

	CHECK(flakeid_decode(&layout, id, &parts, &error) == FLAKEID_OK, "%s", error.message);
	return parts;
}

static flakeid_code
refused(void)
{
	int64_t		id = 42;
	flakeid_code code;

	memset(&error, 0, sizeof(error));
	code = flakeid_next(&minter, &id, &error);
	CHECK(code != FLAKEID_OK, "%" PRId64, id);
	CHECK(id == 42, "an error has written an id");
	CHECK(error.code == code && error.message[0] != '\0', "%s", flakeid_code_name(code));
	return code;
}

static void
test_states(void)
{
	start("instagram", 15 * SECOND);
	CHECK(flakeid_minter_state(&minter) == FLAKEID_STATE_LEASING, "new");
	CHECK(refused() == FLAKEID_NOT_CONNECTED, "%s", error.message);
	CHECK(flakeid_minter_renew(&minter, now_us() + SECOND, INT64_MAX, &error) == FLAKEID_NOT_CONNECTED,
		  "nothing to renew");
	CHECK(grant(8192, 0, 10) == FLAKEID_INVALID_ARGUMENT, "no such shard");
	CHECK(grant(-1, 0, 10) == FLAKEID_INVALID_ARGUMENT, "no such shard");
	CHECK(grant(1, 10, 0) == FLAKEID_INVALID_ARGUMENT, "empty");
	CHECK(grant(8191, 0, 10) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_minter_state(&minter) == FLAKEID_STATE_LEASED, "leased");
	CHECK(parts_of(mint()).shard == 8191, "the lease's shard");
	flakeid_minter_end(&minter);
	CHECK(flakeid_minter_state(&minter) == FLAKEID_STATE_LEASING, "lost");
	CHECK(refused() == FLAKEID_LEASE_EXPIRED, "%s", error.message);
	CHECK(grant(7, 0, 10) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_minter_close(&minter) == INT64_MIN, "no id of this lease");
	CHECK(refused() == FLAKEID_CLOSED, "%s", error.message);
	CHECK(grant(7, 0, 10) == FLAKEID_CLOSED, "closed for good");
	CHECK(flakeid_minter_state(&minter) == FLAKEID_STATE_CLOSED, "closed");

	start("instagram", 15 * SECOND);
	CHECK(grant(1, 0, 10) == FLAKEID_OK, "%s", error.message);
	flakeid_parts parts = parts_of(mint());

	CHECK(flakeid_minter_close(&minter) == parts.time_us, "the time of the last id");
}

/* P1, P4, P6 */
static void
test_limits(void)
{
	int64_t		from;
	flakeid_parts parts = {0};

	/* The lease begins later. */
	start("instagram", 0);
	CHECK(grant(1, 0.2, 10) == FLAKEID_OK, "%s", error.message);
	CHECK(refused() == FLAKEID_NOT_YET, "%s", error.message);
	CHECK(error.retry_us > 0 && error.retry_us <= SECOND / 5 + 1000, "%" PRId64, error.retry_us);
	start("instagram", SECOND);
	from = now_us() + SECOND / 5;
	CHECK(grant(1, 0.2, 10) == FLAKEID_OK, "%s", error.message);
	CHECK(parts_of(mint()).time_us >= from, "borrowed from the future");

	/* Its end, without time to wait for: ids run ahead up to there. */
	start("ts:41 shard:13 seq:2 unit=10ms epoch=2020-01-01", 15 * SECOND);
	from = now_us();
	CHECK(grant(1, 0, 1) == FLAKEID_OK, "%s", error.message);
	for (;;)
	{
		int64_t		id;

		if (flakeid_next(&minter, &id, &error) != FLAKEID_OK)
			break;
		parts = parts_of(id);
		CHECK(parts.time_us >= from && parts.time_us < now_us() + SECOND, "outside of the lease");
	}
	CHECK(error.code == FLAKEID_LEASE_EXPIRED, "%s", error.message);
	CHECK(parts.time_us >= from + SECOND - 20000 && parts.sequence == 3, "up to the end");
	CHECK(flakeid_minter_renew(&minter, from + 3 * SECOND, INT64_MAX, &error) == FLAKEID_OK,
		  "%s", error.message);
	CHECK(parts_of(mint()).time_us > parts.time_us, "renewed");
	CHECK(flakeid_minter_renew(&minter, from + 4 * SECOND, 0, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(refused() == FLAKEID_LEASE_EXPIRED, "an earlier deadline counts");
	CHECK(flakeid_minter_renew(&minter, from + 5 * SECOND, INT64_MAX, &error) == FLAKEID_OK, "%s", error.message);
	from = parts_of(mint()).time_us;
	CHECK(from > parts.time_us, "ascends");
	CHECK(flakeid_minter_renew(&minter, 0, INT64_MAX, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(refused() == FLAKEID_LEASE_EXPIRED, "an earlier end counts");
	CHECK(flakeid_minter_close(&minter) >= from, "not before the last id");

	/* max_ahead */
	start("ts:41 shard:4 seq:1 unit=100ms epoch=2020-01-01", SECOND);
	CHECK(grant(1, 0, 1000) == FLAKEID_OK, "%s", error.message);
	while (flakeid_next(&minter, &from, &error) == FLAKEID_OK)
		CHECK(parts_of(from).time_us <= now_us() + SECOND, "too far ahead");
	CHECK(error.code == FLAKEID_TOO_FAR_AHEAD, "%s", error.message);
	CHECK(error.retry_us >= 0 && error.retry_us <= 100000, "%" PRId64, error.retry_us);
	usleep((useconds_t) error.retry_us + 1000);
	(void) mint();

	/* max_ahead is shorter than a tick: the clock's own tick is allowed. */
	start("ts:41 shard:4 seq:10 unit=1h epoch=2020-01-01", 15 * SECOND);
	CHECK(grant(1, -3600, 7200) == FLAKEID_OK, "%s", error.message);
	(void) mint();

	/* The deadline, whatever the wall clock says */
	start("instagram", 15 * SECOND);
	flakeid_lease lease = {
		.shard = 1,
		.not_before_us = now_us(),
		.expires_at_us = now_us() + 100 * SECOND,
		.deadline_ns = flakeid_deadline_ns(flakeid_steady_ns(), 0, SECOND / 4)
	};

	CHECK(flakeid_minter_lease(&minter, &lease, &error) == FLAKEID_OK, "%s", error.message);
	(void) mint();
	usleep(260000);
	CHECK(refused() == FLAKEID_LEASE_EXPIRED, "%s", error.message);
	CHECK(flakeid_deadline_ns(5, 0, INT64_MAX) == INT64_MAX, "no overflow");
	CHECK(flakeid_deadline_ns(5, INT64_MAX, INT64_MIN) == INT64_MIN, "no overflow");
}

/* The first and the last ids of a lifetime */
static void
test_lifetime(void)
{
	char		text[100];
	int64_t		now = now_us();
	int64_t		id;
	int64_t		last = 0;
	flakeid_lease lease = {.shard = 3,.deadline_ns = INT64_MAX};

	/*
	 * Of 64 bits, the time has 31 with its sign: the last one is the present
	 * second.
	 */
	snprintf(text, sizeof(text), "ts:31 shard:11 seq:22 unit=1s epoch=%" PRId64,
			 now / SECOND * 1000 - (INT64_C(1) << 30) * 1000 + 1000);
	start(text, 3600 * SECOND);
	lease.not_before_us = now / SECOND * SECOND;
	lease.expires_at_us = now + 10 * SECOND;
	CHECK(flakeid_minter_lease(&minter, &lease, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_layout_ends(&layout, &last) && last == now / SECOND * SECOND + SECOND,
		  "ends in this second");
	{
		int64_t    *ids = malloc(1000000 * sizeof(int64_t));
		int			count = 0;

		while (flakeid_next_n(&minter, ids, 1000000, &error) == FLAKEID_OK && count < 3000)
		{
			CHECK(count == 0 || ids[0] > last, "%" PRId64 " after %" PRId64, ids[0], last);
			last = ids[999999];
			CHECK(parts_of(last).shard == 3 && parts_of(last).time_us < lease.expires_at_us, "id");
			count++;
		}
		free(ids);
	}
	CHECK(error.code == FLAKEID_LIFETIME_OVER, "%s", error.message);

	/* Too far ahead, but waiting would not help. */
	snprintf(text, sizeof(text), "ts:10 shard:11 seq:1 unit=30min epoch=%" PRId64,
			 (now / (1800 * SECOND) + 2 - (1 << 10)) * 1800000);
	start(text, 1800 * SECOND);
	lease.not_before_us = now / (1800 * SECOND) * 1800 * SECOND;
	lease.expires_at_us = now + 36000 * SECOND;
	CHECK(flakeid_minter_lease(&minter, &lease, &error) == FLAKEID_OK, "%s", error.message);
	for (int i = 0; i < 4; i++)
		(void) mint();
	CHECK(refused() == FLAKEID_LIFETIME_OVER, "%s", error.message);

	/* A lease that begins after it */
	start("ts:31 shard:11 seq:22 unit=1s epoch=1992-01-01", SECOND);
	CHECK(flakeid_layout_ends(&layout, &last) && last < now, "%s", text);
	lease.not_before_us = now + 20 * SECOND;
	lease.expires_at_us = now + 30 * SECOND;
	CHECK(flakeid_minter_lease(&minter, &lease, &error) == FLAKEID_INVALID_ARGUMENT, "too late");

	/* Negative ids: the epoch is in the future. */
	start("ts:41 shard:13 seq:10 epoch=2050-01-01", SECOND);
	CHECK(grant(5, 0, 10) == FLAKEID_OK, "%s", error.message);
	id = mint();
	CHECK(id < 0 && parts_of(id).shard == 5, "%" PRId64, id);
	CHECK(mint() > id, "ascends");
	CHECK(llabs((long long) (parts_of(id).time_us - now_us())) < SECOND, "its time");
}

/* start= */
static void
test_starts(void)
{
	int64_t		last = -1;
	int			different = 0;

	start("ts:41 shard:13 seq:10 epoch=2020-01-01 start=continue", SECOND);
	CHECK(grant(5, 0, 10) == FLAKEID_OK, "%s", error.message);
	for (int i = 0; i < 1100; i++)
	{
		flakeid_parts parts = parts_of(mint());

		CHECK(last < 0 || parts.sequence == (last + 1) % 1024, "continues");
		last = parts.sequence;
		if (i % 100 == 0)
			usleep(1100);
	}

	start("ts:41 shard:13 seq:10 epoch=2020-01-01 start=zero", SECOND);
	CHECK(grant(5, 0, 10) == FLAKEID_OK, "%s", error.message);
	for (int i = 0; i < 20; i++)
	{
		flakeid_parts parts = parts_of(mint());

		CHECK(parts.sequence == 0, "%" PRId64, parts.sequence);
		usleep(2100);
	}

	start("ts:41 shard:13 seq:10 epoch=2020-01-01 start=random:10", SECOND);
	CHECK(grant(5, 0, 10) == FLAKEID_OK, "%s", error.message);
	for (int i = 0; i < 40; i++)
	{
		flakeid_parts parts = parts_of(mint());

		CHECK(parts.sequence < 10, "%" PRId64, parts.sequence);
		different |= 1 << parts.sequence;
		usleep(2100);
	}
	CHECK((different & (different - 1)) != 0, "always the same");

	start("ts:41 seq:22 shard:1 epoch=2020-01-01 start=random", SECOND);
	CHECK(grant(0, 0, 10) == FLAKEID_OK, "%s", error.message);
	CHECK(parts_of(mint()).shard == 0, "%s", error.message);

	/* Many at once do not run into the next tick because of the start. */
	start("ts:41 shard:13 seq:10 epoch=2020-01-01 start=random", SECOND);
	CHECK(grant(5, 0, 10) == FLAKEID_OK, "%s", error.message);
	for (int i = 0; i < 10; i++)
	{
		int64_t		ids[1024];

		CHECK(flakeid_next_n(&minter, ids, 1024, &error) == FLAKEID_OK, "%s", error.message);
		CHECK(parts_of(ids[0]).time_us == parts_of(ids[1023]).time_us, "one tick");
		CHECK(ids[1023] == ids[0] + 1023, "consecutive");
		usleep(3000);
	}
}

static void
test_next_n(void)
{
	static int64_t ids[N];
	int64_t		last;

	start("instagram", INT64_C(15000)); /* 15 ticks */
	CHECK(grant(5, 0, 10) == FLAKEID_OK, "%s", error.message);
	usleep(2000);				/* a lease begins with the next tick */
	CHECK(flakeid_next_n(&minter, ids, 0, &error) == FLAKEID_INVALID_ARGUMENT, "none");
	CHECK(flakeid_next_n(&minter, ids, N + 1, &error) == FLAKEID_INVALID_ARGUMENT, "too many");
	CHECK(flakeid_next_n(&minter, ids, SIZE_MAX, &error) == FLAKEID_INVALID_ARGUMENT, "too many");
	CHECK(flakeid_next_n(&minter, ids, N, &error) == FLAKEID_OK, "%s", error.message);
	for (size_t i = 1; i < N; i++)
		CHECK(ids[i] > ids[i - 1], "ascend");
	last = ids[N - 1];
	CHECK(flakeid_next_n(&minter, ids, N, &error) == FLAKEID_TOO_FAR_AHEAD, "%s",
		  error.message);
	CHECK(ids[N - 1] == last, "all or none");
}

/* P2: a later lease, also of an earlier time, begins with a later tick. */
static void
test_new_lease(void)
{
	flakeid_parts before;
	flakeid_parts after;

	start("instagram", 15 * SECOND);
	CHECK(grant(5, 2, 10) == FLAKEID_OK, "%s", error.message);
	before = parts_of(mint());
	CHECK(grant(6, 0, 10) == FLAKEID_OK, "%s", error.message);
	after = parts_of(mint());
	CHECK(after.shard == 6 && after.time_us > before.time_us, "a later tick");
	flakeid_minter_end(&minter);
	CHECK(grant(7, 0, 10) == FLAKEID_OK, "%s", error.message);
	CHECK(parts_of(mint()).time_us > after.time_us, "a later tick, after a loss");

	/* By a clock that is ahead */
	CHECK(grant(8, -20, -10) == FLAKEID_OK, "%s", error.message);
	CHECK(refused() == FLAKEID_LEASE_EXPIRED && strstr(error.message, "s past its end") != NULL,
		  "%s", error.message);

	/* Not beyond the new one */
	CHECK(grant(8, 0, 1) == FLAKEID_OK, "%s", error.message);
	CHECK(refused() == FLAKEID_LEASE_EXPIRED, "%s", error.message);
}

/* P3.  The child ends with the code that it got, plus that of its own minter. */
static int
try_in_child(void)
{
	int64_t		id;
	int64_t		ids[2];
	flakeid_code code = flakeid_next(&minter, &id, NULL);

	if (flakeid_next_n(&minter, ids, 2, NULL) != code || !flakeid_minter_is_forked(&minter))
		return 100;
	if (grant(4, 0, 10) != FLAKEID_FORKED || flakeid_minter_close(&minter) != INT64_MIN)
		return 101;
	start("instagram", SECOND);
	if (grant(4, 0, 10) != FLAKEID_OK || flakeid_next(&minter, &id, NULL) != FLAKEID_OK)
		return 102;
	return (int) code;
}

/* QEMU takes the advice, and does nothing. */
static bool
page_is_wiped(void)
{
	bool		is_wiped = false;
#ifdef MADV_WIPEONFORK
	size_t		size = (size_t) sysconf(_SC_PAGESIZE);
	char	   *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int			status;
	pid_t		child;

	CHECK(page != MAP_FAILED, "mmap");
	*page = 1;
	(void) madvise(page, size, MADV_WIPEONFORK);
	if ((child = fork()) == 0)
		_exit(*page);
	waitpid(child, &status, 0);
	is_wiped = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	(void) munmap(page, size);
#endif
	return is_wiped;
}

static void
test_fork(void)
{
	bool		is_wiped = page_is_wiped();
	int64_t		last;

	for (int how = 0; how < 3; how++)
	{
		int			status;
		pid_t		child;

		start("instagram", SECOND);
		CHECK(grant(5, 0, 10) == FLAKEID_OK, "%s", error.message);
		last = mint();
#ifdef SYS_clone
		/* Past all handlers of pthread_atfork() */
		if (how == 1 && is_wiped)
			child = (pid_t) syscall(SYS_clone, (long) SIGCHLD, NULL, NULL, NULL, NULL);
		else
#endif
			child = fork();
		CHECK(child >= 0, "fork");
		if (child == 0)
		{
			/* And a grandchild */
			if (how == 2 && (child = fork()) > 0)
			{
				waitpid(child, &status, 0);
				_exit(WEXITSTATUS(status));
			}
			_exit(try_in_child());
		}
		waitpid(child, &status, 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == FLAKEID_FORKED, "child %d: %x", how, status);
		CHECK(mint() > last, "the parent goes on");
	}
}

static void
test_layouts(void)
{
	CHECK(flakeid_layout_parse("segment", &layout, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_minter_init(&minter, &layout, SECOND, &error) == FLAKEID_UNSUPPORTED_LAYOUT, "no time");
	CHECK(flakeid_layout_parse("uuidv7", &layout, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_minter_init(&minter, &layout, SECOND, &error) == FLAKEID_UNSUPPORTED_LAYOUT, "UUIDs");
	CHECK(flakeid_layout_parse("simpleflake", &layout, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_minter_init(&minter, &layout, SECOND, &error) == FLAKEID_UNSUPPORTED_LAYOUT, "no shards");
	CHECK(flakeid_layout_parse("instagram", &layout, &error) == FLAKEID_OK, "%s", error.message);
	CHECK(flakeid_minter_init(&minter, &layout, -1, &error) == FLAKEID_INVALID_ARGUMENT, "max_ahead");
	CHECK(flakeid_minter_init(&minter, &layout, 3601 * SECOND, &error) == FLAKEID_INVALID_ARGUMENT, "max_ahead");
	CHECK(flakeid_layout_parse("nothing", &layout, &error) == FLAKEID_INVALID_ARGUMENT, "no preset");
	CHECK(strcmp(flakeid_code_name(error.code), "InvalidArgument") == 0, "its name");
	CHECK(flakeid_layout_parse("ts:41", &layout, NULL) == FLAKEID_INVALID_ARGUMENT, "without a text");
}

/* As the server, nothing takes or gives a time that no timestamptz can hold. */
static void
test_times(void)
{
	flakeid_field fields[FLAKEID_MAX_FIELDS];
	int			count = 0;
	int64_t		id = 0;

	CHECK(flakeid_layout_parse("ts:50 seq:4 node:8 epoch=1970-01-01 unit=1s", &layout, &error) == FLAKEID_OK,
		  "%s", error.message);
	CHECK(flakeid_fields(&layout, INT64_MAX, fields, &count, &error) == FLAKEID_INVALID_ARGUMENT, "fields");
	CHECK(flakeid_fields(&layout, 0, fields, &count, &error) == FLAKEID_OK && count == 3, "%d", count);
	CHECK(flakeid_encode(&layout, INT64_C(-210866803200000000), 0, 0, &id, &error) == FLAKEID_OK,
		  "%s", error.message);
	CHECK(flakeid_encode(&layout, INT64_C(-210866803200000001), 0, 0, &id, &error) == FLAKEID_INVALID_ARGUMENT,
		  "encode");
}

int
main(void)
{
	test_layouts();
	test_times();
	test_states();
	test_limits();
	test_lifetime();
	test_starts();
	test_next_n();
	test_new_lease();
	test_fork();
	puts("unit: ok");
	return 0;
}
