/*-------------------------------------------------------------------------
 *
 * instant.h
 *	  Instants as the text of a layout has them, for its epoch.
 *
 * Nothing here needs a running server.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_INSTANT_H
#define FLAKEID_INSTANT_H

#include "datatype/timestamp.h"

#pragma GCC visibility push(hidden)

/* 1970-01-01 as a timestamptz, which counts from 2000-01-01. */
#define FLAKE_UNIX_EPOCH \
	((UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)

/* Room for any instant's text. */
#define FLAKE_INSTANT_LEN	64

/*
 * Reads an instant of the years 1 to 9999: as ISO 8601 writes it in UTC, or in
 * milliseconds since 1970.  False if it is neither.
 */
extern bool flake_instant_read(const char *text, TimestampTz *instant);

/* Writes an instant of these years as ISO 8601 does, in UTC. */
extern void flake_instant_print(TimestampTz instant,
								char text[FLAKE_INSTANT_LEN]);

#pragma GCC visibility pop

#endif							/* FLAKEID_INSTANT_H */
