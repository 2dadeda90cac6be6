/*-------------------------------------------------------------------------
 *
 * uuidv7.h
 *	  UUIDs of version 7.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_UUIDV7_H
#define FLAKEID_UUIDV7_H

#include "utils/uuid.h"

#pragma GCC visibility push(hidden)

/*
 * The head and the shard of a UUID of version 7; false for others.  In one that is
 * not flakeid's, what is in the place of the shard is of no meaning.
 */
extern bool flake_uuidv7_read(const pg_uuid_t *uuid, int64 *head, int32 *shard);

/* The smallest head of which no UUID of version 7 is below one of any version. */
extern int64 flake_uuidv7_first_head(const pg_uuid_t *uuid);

/* The largest UUID of a head, whatever its shard. */
extern pg_uuid_t *flake_last_uuidv7(int64 head);

#pragma GCC visibility pop

#endif							/* FLAKEID_UUIDV7_H */
