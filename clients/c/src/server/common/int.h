/*-------------------------------------------------------------------------
 *
 * int.h
 *	  Arithmetic that notices overflows: see postgres.h beside this folder.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SERVER_INT_H
#define FLAKEID_SERVER_INT_H

#include "postgres.h"

static inline bool
pg_add_s64_overflow(int64 a, int64 b, int64 *result)
{
	return __builtin_add_overflow(a, b, result);
}

static inline bool
pg_sub_s64_overflow(int64 a, int64 b, int64 *result)
{
	return __builtin_sub_overflow(a, b, result);
}

static inline bool
pg_mul_s64_overflow(int64 a, int64 b, int64 *result)
{
	return __builtin_mul_overflow(a, b, result);
}

#endif							/* FLAKEID_SERVER_INT_H */
