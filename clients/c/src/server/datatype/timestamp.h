/*-------------------------------------------------------------------------
 *
 * timestamp.h
 *	  The type timestamptz: microseconds since 2000.  See postgres.h beside this
 *	  folder.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SERVER_TIMESTAMP_H
#define FLAKEID_SERVER_TIMESTAMP_H

#include "postgres.h"

typedef int64 TimestampTz;

#define USECS_PER_DAY		INT64CONST(86400000000)
#define USECS_PER_HOUR		INT64CONST(3600000000)
#define USECS_PER_MINUTE	INT64CONST(60000000)
#define USECS_PER_SEC		INT64CONST(1000000)

/* Julian days of 1970-01-01 and 2000-01-01. */
#define UNIX_EPOCH_JDATE		2440588
#define POSTGRES_EPOCH_JDATE	2451545

/* From 4714-11-24 BC to before 294277-01-01. */
#define IS_VALID_TIMESTAMP(ts) \
	((ts) >= INT64CONST(-211813488000000000) && (ts) < INT64CONST(9223371331200000000))

#endif							/* FLAKEID_SERVER_TIMESTAMP_H */
