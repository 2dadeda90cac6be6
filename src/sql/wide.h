/*-------------------------------------------------------------------------
 *
 * wide.h
 *	  The worker of 128-bit ids, as the settings need it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_WIDE_H
#define FLAKEID_WIDE_H

#include "utils/guc.h"

#pragma GCC visibility push(hidden)

/* The hooks of the setting flakeid.worker. */
extern bool flake_check_worker(char **value, void **extra, GucSource source);
extern void flake_assign_worker(const char *value, void *extra);

#pragma GCC visibility pop

#endif							/* FLAKEID_WIDE_H */
