/*-------------------------------------------------------------------------
 *
 * replay.c
 *	  Hands files to a fuzzer's target, without a fuzzer.
 *
 * Usage: replay_TARGET FILE...
 *
 * Any compiler will do, so that the tests can go through what the fuzzers
 * have found.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check.h"

/* Longer than any input that is worth keeping. */
#define MAX_SIZE	65536

static void
replay(const char *name)
{
	uint8	   *data = malloc(MAX_SIZE);
	FILE	   *file = fopen(name, "rb");
	size_t		size;

	if (data == NULL || file == NULL)
	{
		perror(name);
		exit(1);
	}
	size = fread(data, 1, MAX_SIZE, file);
	if (ferror(file) || !feof(file))
	{
		fprintf(stderr, "%s: cannot be read, or is too long\n", name);
		exit(1);
	}
	fclose(file);

	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int
main(int argc, char **argv)
{
	if (argc < 2)
	{
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 1;
	}
	for (int i = 1; i < argc; i++)
	{
		/* The last one that is named is the one that failed. */
		fprintf(stderr, "%s\n", argv[i]);
		replay(argv[i]);
	}
	return 0;
}
