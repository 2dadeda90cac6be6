/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Reading text piece by piece: numbers, digits, one character.
 *
 * Each function moves past what it has read.  Nothing here needs a running
 * server.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SCAN_H
#define FLAKEID_SCAN_H

#include "common/int.h"

#pragma GCC visibility push(hidden)

/* Reads a decimal number without a sign; *end is set to what follows. */
static inline bool
flake_scan_number(const char *text, const char **end, int64 *number)
{
	*number = 0;
	*end = text;

	for (; **end >= '0' && **end <= '9'; (*end)++)
	{
		if (pg_mul_s64_overflow(*number, 10, number) ||
			pg_add_s64_overflow(*number, **end - '0', number))
			return false;
	}
	return *end > text;
}

/* Reads exactly so many digits and moves past them. */
static inline bool
flake_scan_digits(const char **text, int count, int *number)
{
	*number = 0;
	for (; count > 0; count--, (*text)++)
	{
		if (**text < '0' || **text > '9')
			return false;
		*number = *number * 10 + (**text - '0');
	}
	return true;
}

/* Moves past one character if it is that one. */
static inline bool
flake_scan_char(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

#pragma GCC visibility pop

#endif							/* FLAKEID_SCAN_H */
