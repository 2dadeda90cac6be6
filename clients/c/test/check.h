/* For the tests: says what is not so, and ends.
 *
 * Copyright (c) 2026, the flakeid developers
 */
#ifndef FLAKEID_CHECK_H
#define FLAKEID_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition, ...) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__); \
			fputc('\n', stderr); \
			exit(1); \
		} \
	} while (0)

#endif							/* FLAKEID_CHECK_H */
