/*-------------------------------------------------------------------------
 *
 * fail.h
 *	  How the functions of the libraries say what is wrong.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_FAIL_H
#define FLAKEID_FAIL_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flakeid.h"

/* It is not known when it can be tried again, or that will not help. */
#define NO_RETRY	INT64_C(-1)

/* Fills in *error, unless it is NULL, and returns the code. */
__attribute__((format(printf, 4, 5), unused))
static flakeid_code
fail(flakeid_error *error, flakeid_code code, int64_t retry_us, const char *format,...)
{
	va_list		args;

	if (error == NULL)
		return code;
	error->code = code;
	error->sqlstate[0] = '\0';
	error->retry_us = retry_us;
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return code;
}

#define fail_argument(error, ...) \
	fail(error, FLAKEID_INVALID_ARGUMENT, NO_RETRY, __VA_ARGS__)

#endif							/* FLAKEID_FAIL_H */
