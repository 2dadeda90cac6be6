/*-------------------------------------------------------------------------
 *
 * vectors.c
 *	  The library says what the server says: see clients/vectors/README.md.
 *
 *	vectors DIRECTORY
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "flakeid_seal.h"

#define MAX_COLUMNS 8
#define MAX_ROW		65536

static const char *directory;
static const char *file;
static int	row;
static flakeid_error error;

/* A check that names the row */
#define SAME(condition, ...) \
	do { \
		bool		is_so = (condition); \
		\
		if (!is_so) \
			fprintf(stderr, "%s, row %d: %s: ", file, row, #condition); \
		CHECK(is_so, __VA_ARGS__); \
	} while (0)

/*
 * Reads a row of RFC 4180 into buffer, and says how many columns it has; 0 at the end of
 * the file.
 */
static int
read_row(FILE *in, char buffer[MAX_ROW], char *columns[MAX_COLUMNS])
{
	int			count = 1;
	size_t		length = 0;
	bool		is_quoted = false;
	int			c = getc(in);

	if (c == EOF)
		return 0;
	columns[0] = buffer;
	for (;; c = getc(in))
	{
		CHECK(length < MAX_ROW - 1, "%s, row %d is too long", file, row);
		if (c == '"' && is_quoted)
		{
			int			next = getc(in);

			if (next == '"')
				buffer[length++] = '"';
			else
			{
				is_quoted = false;
				ungetc(next, in);
			}
		}
		else if (c == '"')
			is_quoted = true;
		else if (is_quoted)
		{
			CHECK(c != EOF, "%s ends in quotes", file);
			buffer[length++] = (char) c;
		}
		else if (c == ',' || c == '\n' || c == EOF)
		{
			buffer[length++] = '\0';
			if (c != ',')
				return count;
			CHECK(count < MAX_COLUMNS, "%s, row %d has too many columns", file, row);
			columns[count++] = buffer + length;
		}
		else
			buffer[length++] = (char) c;
	}
}

static int64_t
number(const char *text)
{
	char	   *end;
	long long	value;

	errno = 0;
	value = strtoll(text, &end, 10);
	SAME(*text != '\0' && *end == '\0' && errno == 0, "not a number: %s", text);
	return value;
}

static int
bytes_of(const char *hex, uint8_t *bytes)
{
	int			count = 0;
	int			digits = 0;

	for (; *hex != '\0'; hex++)
	{
		const char *found = strchr("0123456789abcdef", *hex | 0x20);

		if (*hex == '-')
			continue;
		SAME(found != NULL, "not hexadecimal: %s", hex);
		bytes[count] = (uint8_t) ((digits % 2 ? bytes[count] << 4 : 0) |
								  (found - "0123456789abcdef"));
		if (++digits % 2 == 0)
			count++;
	}
	return count;
}

static flakeid_layout
layout_of(const char *text)
{
	flakeid_layout layout;

	SAME(flakeid_layout_parse(text, &layout, &error) == FLAKEID_OK, "%s", error.message);
	return layout;
}

static void
same_or_none(bool has, int64_t time_us, const char *expected)
{
	if (*expected == '\0')
		SAME(!has, "%" PRId64 " in the place of none", time_us);
	else
		SAME(has && time_us == number(expected), "%" PRId64 " in the place of %s", time_us, expected);
}

static void
check_layouts(char **columns)
{
	flakeid_layout layout = layout_of(columns[0]);
	flakeid_layout again;
	char		text[FLAKEID_LAYOUT_TEXT_LEN];
	int64_t		time_us = 0;
	bool		has;

	flakeid_layout_text(&layout, text);
	SAME(strcmp(text, columns[1]) == 0, "%s", text);
	again = layout_of(text);
	SAME(memcmp(&layout, &again, sizeof(layout)) == 0, "not the same when read again");
	SAME(flakeid_layout_max_shard(&layout) == number(columns[2]), "%d", flakeid_layout_max_shard(&layout));
	SAME(flakeid_layout_ids_per_tick(&layout) == (*columns[3] == '\0' ? 0 : strtoull(columns[3], NULL, 10)),
		 "%" PRIu64, flakeid_layout_ids_per_tick(&layout));
	SAME(flakeid_layout_has_time(&layout) == (*columns[3] != '\0'), "has time");
	has = flakeid_layout_starts(&layout, &time_us);
	same_or_none(has, time_us, columns[4]);
	has = flakeid_layout_ends(&layout, &time_us);
	same_or_none(has, time_us, columns[5]);
}

static void
check_layouts_invalid(char **columns)
{
	flakeid_layout layout;

	SAME(flakeid_layout_parse(columns[0], &layout, &error) == FLAKEID_INVALID_ARGUMENT, "%s", columns[0]);
}

static void
check_decode_any(char **columns)
{
	flakeid_layout layout = layout_of(columns[0]);
	int64_t		id = number(columns[1]);
	flakeid_parts parts;
	int64_t		time_us;
	int32_t		shard;

	SAME(flakeid_decode(&layout, id, &parts, &error) == FLAKEID_OK, "%s", error.message);
	same_or_none(parts.has_time, parts.time_us, columns[2]);
	SAME(parts.shard == number(columns[3]), "%d", parts.shard);
	SAME(parts.sequence == number(columns[4]), "%" PRId64, parts.sequence);
	SAME(flakeid_shard(&layout, id, &shard, NULL) == FLAKEID_OK && shard == parts.shard, "shard");
	SAME(flakeid_sequence(&layout, id) == parts.sequence, "sequence");
	SAME(flakeid_timestamp(&layout, id, &time_us, NULL) ==
		 (parts.has_time ? FLAKEID_OK : FLAKEID_INVALID_ARGUMENT), "timestamp");
	SAME(!parts.has_time || time_us == parts.time_us, "timestamp");
}

static void
check_decode(char **columns)
{
	flakeid_layout layout = layout_of(columns[0]);
	int64_t		id;

	check_decode_any(columns);
	if (*columns[2] == '\0')
		return;
	SAME(flakeid_encode(&layout, number(columns[2]), (int32_t) number(columns[3]),
						number(columns[4]), &id, &error) == FLAKEID_OK, "%s", error.message);
	SAME(id == number(columns[1]), "%" PRId64, id);
}

/* Their JSON has the timestamp, too, as text, which is not the library's. */
static void
check_fields(char **columns)
{
	flakeid_layout layout = layout_of(columns[0]);
	flakeid_field fields[FLAKEID_MAX_FIELDS];
	int			count;
	int			expected = 0;

	SAME(flakeid_fields(&layout, number(columns[1]), fields, &count, &error) == FLAKEID_OK, "%s",
		 error.message);
	for (int i = 0; i < count; i++)
	{
		char		field[60];
		size_t		length = (size_t) snprintf(field, sizeof(field), "\"%s\": %" PRId64,
											   fields[i].name, fields[i].value);
		const char *found = strstr(columns[2], field);

		SAME(found != NULL && (found[length] == ',' || found[length] == '}'), "%s", field);
	}
	for (const char *at = columns[2]; (at = strstr(at, "\": ")) != NULL; at++)
		expected++;
	SAME(count + flakeid_layout_has_time(&layout) == expected, "%d fields", count);
}

static void
check_ranges(char **columns)
{
	flakeid_layout layout = layout_of(columns[0]);
	int64_t		lower;
	int64_t		upper;

	SAME(flakeid_lower(&layout, number(columns[1]), &lower, &error) == FLAKEID_OK, "%s", error.message);
	SAME(flakeid_upper(&layout, number(columns[1]), &upper, &error) == FLAKEID_OK, "%s", error.message);
	SAME(lower == number(columns[2]), "%" PRId64, lower);
	SAME(upper == number(columns[3]), "%" PRId64, upper);
}

static void
check_text_accepted(char **columns)
{
	int64_t		id;

	SAME(flakeid_from_text(columns[2], (int) number(columns[1]), &id, &error) == FLAKEID_OK, "%s",
		 error.message);
	SAME(id == number(columns[0]), "%" PRId64, id);
}

static void
check_text(char **columns)
{
	char		text[FLAKEID_TEXT_LEN];

	check_text_accepted(columns);
	SAME(flakeid_to_text(number(columns[0]), (int) number(columns[1]), text, &error) == FLAKEID_OK,
		 "%s", error.message);
	SAME(strcmp(text, columns[2]) == 0, "%s", text);
}

static void
check_text_invalid(char **columns)
{
	int64_t		id;

	SAME(flakeid_from_text(columns[1], (int) number(columns[0]), &id, &error) == FLAKEID_INVALID_ARGUMENT,
		 "%" PRId64, id);
}

static void
check_seal(char **columns)
{
	uint8_t		bytes[64];
	size_t		length = (size_t) bytes_of(columns[1], bytes);
	int32_t		version = (int32_t) number(columns[2]);
	char		text[FLAKEID_SEALED_TEXT_LEN];
	flakeid_seal_key *key;
	int64_t		id;

	SAME(flakeid_seal_key_new(bytes, length, &key, &error) == FLAKEID_OK, "%s", error.message);
	SAME(flakeid_seal(key, number(columns[0])) == number(columns[3]), "%" PRId64,
		 flakeid_seal(key, number(columns[0])));
	SAME(flakeid_unseal(key, number(columns[3])) == number(columns[0]), "unsealed");
	SAME(flakeid_seal_text(key, version, number(columns[0]), text, &error) == FLAKEID_OK, "%s",
		 error.message);
	SAME(strcmp(text, columns[4]) == 0, "%s", text);
	SAME(flakeid_unseal_text(key, version, text, &id, &error) == FLAKEID_OK && id == number(columns[0]),
		 "unsealed");
	SAME(flakeid_unseal_text(key, version == 1 ? 2 : version - 1, text, &id, &error) == FLAKEID_INVALID_ARGUMENT,
		 "another version");
	flakeid_seal_key_free(key);
}

static void
check_seal_invalid(char **columns)
{
	static const uint8_t bytes[16] = {0};
	flakeid_seal_key *key;
	int32_t		version;
	int64_t		id;

	SAME(flakeid_seal_key_new(bytes, 16, &key, &error) == FLAKEID_OK, "%s", error.message);
	SAME(flakeid_sealed_version(columns[0], &version, &error) != FLAKEID_OK ||
		 flakeid_unseal_text(key, version, columns[0], &id, &error) == FLAKEID_INVALID_ARGUMENT,
		 "%s", columns[0]);
	flakeid_seal_key_free(key);
}

static void
check_shard_for(char **columns)
{
	int32_t		shards = (int32_t) number(columns[2]);
	int32_t		shard = -1;
	uint8_t		uuid[64];
	flakeid_code code;

	if (strcmp(columns[0], "bigint") == 0)
		code = flakeid_shard_for_bigint(number(columns[1]), shards, &shard, &error);
	else if (strcmp(columns[0], "text") == 0)
		code = flakeid_shard_for_text(columns[1], strlen(columns[1]), shards, &shard, &error);
	else
	{
		SAME(strcmp(columns[0], "uuid") == 0 && bytes_of(columns[1], uuid) == 16, "%s", columns[0]);
		code = flakeid_shard_for_uuid(uuid, shards, &shard, &error);
	}
	SAME(code == FLAKEID_OK, "%s", error.message);
	SAME(shard == number(columns[3]), "%d", shard);
}

static void
check_uuidv7(char **columns)
{
	uint8_t		uuid[64];
	flakeid_parts parts;

	SAME(bytes_of(columns[0], uuid) == 16, "%s", columns[0]);
	SAME(flakeid_uuidv7_decode(uuid, &parts, &error) == FLAKEID_OK, "%s", error.message);
	SAME(parts.has_time && parts.time_us == number(columns[1]), "%" PRId64, parts.time_us);
	SAME(parts.sequence == number(columns[2]), "%" PRId64, parts.sequence);
	SAME(parts.shard == number(columns[3]), "%d", parts.shard);
}

static void
check_uuidv7_invalid(char **columns)
{
	uint8_t		uuid[64];
	flakeid_parts parts;

	SAME(bytes_of(columns[0], uuid) == 16, "%s", columns[0]);
	SAME(flakeid_uuidv7_decode(uuid, &parts, &error) == FLAKEID_INVALID_ARGUMENT, "%s", columns[0]);
}

static void
check_file(const char *name, int ncolumns, void (*check) (char **columns))
{
	static char buffer[MAX_ROW];
	char	   *columns[MAX_COLUMNS];
	char		path[4096];
	FILE	   *in;
	int			count;

	file = name;
	snprintf(path, sizeof(path), "%s/%s.csv", directory, name);
	in = fopen(path, "r");
	CHECK(in != NULL, "%s: %s", path, strerror(errno));
	for (row = 0; (count = read_row(in, buffer, columns)) > 0; row++)
	{
		SAME(count == ncolumns, "%d columns", count);
		if (row > 0)
			check(columns);
	}
	CHECK(row > 1, "%s has no rows", path);
	fclose(in);
	printf("vectors: %s: %d rows\n", name, row - 1);
}

int
main(int argc, char **argv)
{
	CHECK(argc == 2, "usage: vectors DIRECTORY");
	directory = argv[1];
	check_file("layouts", 6, check_layouts);
	check_file("layouts_invalid", 1, check_layouts_invalid);
	check_file("decode", 5, check_decode);
	check_file("decode_any", 5, check_decode_any);
	check_file("fields", 3, check_fields);
	check_file("ranges", 4, check_ranges);
	check_file("text", 3, check_text);
	check_file("text_accepted", 3, check_text_accepted);
	check_file("text_invalid", 2, check_text_invalid);
	check_file("seal", 5, check_seal);
	check_file("seal_invalid", 1, check_seal_invalid);
	check_file("shard_for", 4, check_shard_for);
	check_file("uuidv7", 4, check_uuidv7);
	check_file("uuidv7_invalid", 1, check_uuidv7_invalid);
	return 0;
}
