/*-------------------------------------------------------------------------
 *
 * wide.h
 *	  Ids of 128 and 96 bits.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_WIDE_H
#define FLAKEID_WIDE_H

#include "utils/guc.h"
#include "utils/uuid.h"

#pragma GCC visibility push(hidden)

/* The hooks of the setting flakeid.worker. */
extern bool flake_check_worker(char **value, void **extra, GucSource source);
extern void flake_assign_worker(const char *value, void *extra);

/* The largest UUID and ObjectID of a tick, whatever its worker. */
extern pg_uuid_t *flake_last_uuid(int64 tick);
extern text * flake_last_objectid(int64 tick);

#pragma GCC visibility pop

#endif							/* FLAKEID_WIDE_H */
