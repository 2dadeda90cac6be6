/*-------------------------------------------------------------------------
 *
 * postgres.h
 *	  What src/layout/ of the extension needs of PostgreSQL, so that the client
 *	  library is built from the very same files, without PostgreSQL.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SERVER_POSTGRES_H
#define FLAKEID_SERVER_POSTGRES_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint8_t uint8;
typedef int32_t int32;
typedef uint32_t uint32;
typedef int64_t int64;
typedef uint64_t uint64;

#define INT64CONST(n)	INT64_C(n)
#define UINT64CONST(n)	UINT64_C(n)
#define PG_INT64_MIN	INT64_MIN
#define PG_INT64_MAX	INT64_MAX

#define Min(a, b)		((a) < (b) ? (a) : (b))
#define Max(a, b)		((a) > (b) ? (a) : (b))
#define lengthof(array) (sizeof(array) / sizeof((array)[0]))
#define Assert(condition)	assert(condition)
#define StaticAssertDecl(condition, message)	_Static_assert(condition, message)
#define likely(condition)	__builtin_expect((condition) != 0, 1)
#define unlikely(condition) __builtin_expect((condition) != 0, 0)
#define pg_attribute_printf(f, a) __attribute__((format(printf, f, a)))

/* Copies text, cut to what there is room for. */
static inline size_t
flakeid_strlcpy(char *to, const char *from, size_t size)
{
	size_t		length = strlen(from);

	if (size > 0)
	{
		size_t		copied = Min(length, size - 1);

		memcpy(to, from, copied);
		to[copied] = '\0';
	}
	return length;
}

#undef strlcpy
#define strlcpy flakeid_strlcpy

#endif							/* FLAKEID_SERVER_POSTGRES_H */
