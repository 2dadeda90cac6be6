/*-------------------------------------------------------------------------
 *
 * check_ids.c
 *	  Looks at the ids of many processes, for tests.
 *
 *	check_ids LAYOUT PREFIX...
 *
 * PREFIX.ids has the ids of one minter, 8 bytes little-endian each, and PREFIX.log its
 * leases: see minter.c.  Or PREFIX.txt has ids of a session, one in a line.  Prints how
 * many ids and leases there are.  Fails if an id is there twice, if those of a minter do
 * not ascend, or if one is outside of the leases that its minter had.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flakeid.h"

#define MAX_LINE	4096
#define BUFFERED	4096

typedef struct Lease
{
	int32_t		shard;
	int64_t		not_before;
	int64_t		expires_at;
} Lease;

typedef struct Leases
{
	Lease	   *items;
	size_t		count;
} Leases;

typedef struct Ids
{
	int64_t    *items;
	size_t		count;
	size_t		room;
} Ids;

static void
die(const char *format,...)
{
	va_list		args;

	fflush(stdout);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void *
grow(void *items, size_t count, size_t size)
{
	void	   *result = realloc(items, count * size);

	if (result == NULL)
		die("out of memory");
	return result;
}

static void
add_id(Ids *ids, int64_t id)
{
	if (ids->count == ids->room)
	{
		ids->room = ids->room == 0 ? 1 << 20 : 2 * ids->room;
		ids->items = grow(ids->items, ids->room, sizeof(int64_t));
	}
	ids->items[ids->count++] = id;
}

static FILE *
open_file(const char *prefix, const char *suffix)
{
	char		path[MAX_LINE];

	if (snprintf(path, sizeof(path), "%s%s", prefix, suffix) >= (int) sizeof(path))
		die("the name %s is too long", prefix);
	return fopen(path, "r");
}

static Leases
read_leases(const char *prefix)
{
	FILE	   *log = open_file(prefix, ".log");
	Leases		leases = {NULL, 0};
	char		line[MAX_LINE];

	if (log == NULL)
		die("%s.log cannot be read", prefix);
	while (fgets(line, sizeof(line), log) != NULL)
	{
		Lease		lease;
		int64_t		expires_at;

		if (sscanf(line, "leased %" SCNd32 " %" SCNd64 " %" SCNd64, &lease.shard, &lease.not_before,
				   &lease.expires_at) == 3)
		{
			leases.items = grow(leases.items, leases.count + 1, sizeof(Lease));
			leases.items[leases.count++] = lease;
		}
		else if (sscanf(line, "renewed %" SCNd64, &expires_at) == 1 && leases.count > 0)
			leases.items[leases.count - 1].expires_at = expires_at;
		else if (strncmp(line, "child minted", strlen("child minted")) == 0)
			die("%s: a child has minted with its parent's minter", prefix);
	}
	(void) fclose(log);
	return leases;
}

static int64_t
get_id(const unsigned char *bytes)
{
	uint64_t	id = 0;

	for (int i = 7; i >= 0; i--)
		id = id << 8 | bytes[i];
	return (int64_t) id;
}

/* A process that is killed leaves no part of an id. */
static void
read_minter(const flakeid_layout *layout, const char *prefix, FILE *file, Ids *ids, size_t *nleases)
{
	Leases		leases = read_leases(prefix);
	size_t		current = 0;
	bool		is_first = true;
	int64_t		last = 0;
	unsigned char bytes[BUFFERED][8];
	size_t		count;

	while ((count = fread(bytes, 8, BUFFERED, file)) > 0)
	{
		for (size_t i = 0; i < count; i++)
		{
			int64_t		id = get_id(bytes[i]);
			flakeid_parts parts;
			flakeid_error error;

			if (flakeid_decode(layout, id, &parts, &error) != FLAKEID_OK)
				die("%s: %" PRId64 " cannot be decoded", prefix, id);
			while (current < leases.count &&
				   (leases.items[current].shard != parts.shard ||
					leases.items[current].not_before > parts.time_us ||
					leases.items[current].expires_at <= parts.time_us))
				current++;
			if (current == leases.count)
				die("%s: %" PRId64 " is outside of its leases: shard %" PRId32 ", time %" PRId64, prefix,
					id, parts.shard, parts.time_us);
			if (!is_first && id <= last)
				die("%s: %" PRId64 " is not above %" PRId64 ", the one before", prefix, id, last);
			is_first = false;
			last = id;
			add_id(ids, id);
		}
	}
	*nleases += leases.count;
	free(leases.items);
}

/* The last line may have been cut off. */
static void
read_session(const char *prefix, FILE *file, Ids *ids)
{
	char		line[MAX_LINE];

	while (fgets(line, sizeof(line), file) != NULL)
	{
		char	   *end;
		int64_t		id = strtoll(line, &end, 10);

		if (*end != '\n' && *end != '\0')
			die("%s: \"%s\" is no id", prefix, line);
		if (*end == '\n')
			add_id(ids, id);
	}
}

static int
compare(const void *a, const void *b)
{
	int64_t		id_a = *(const int64_t *) a;
	int64_t		id_b = *(const int64_t *) b;

	return (id_a > id_b) - (id_a < id_b);
}

int
main(int argc, char **argv)
{
	flakeid_layout layout;
	flakeid_error error;
	Ids			ids = {NULL, 0, 0};
	size_t		leases = 0;

	if (argc < 3)
		die("usage: check_ids LAYOUT PREFIX...");
	if (flakeid_layout_parse(argv[1], &layout, &error) != FLAKEID_OK)
		die("%s", error.message);
	for (int i = 2; i < argc; i++)
	{
		FILE	   *minter = open_file(argv[i], ".ids");
		FILE	   *session = open_file(argv[i], ".txt");

		if (minter != NULL)
			read_minter(&layout, argv[i], minter, &ids, &leases);
		else if (session != NULL)
			read_session(argv[i], session, &ids);
		else
			die("%s has no ids", argv[i]);
		if (minter != NULL)
			(void) fclose(minter);
		if (session != NULL)
			(void) fclose(session);
	}
	qsort(ids.items, ids.count, sizeof(int64_t), compare);
	for (size_t i = 1; i < ids.count; i++)
	{
		if (ids.items[i] == ids.items[i - 1])
			die("%" PRId64 " is there twice", ids.items[i]);
	}
	printf("%zu ids in %zu leases\n", ids.count, leases);
	free(ids.items);
	return 0;
}
