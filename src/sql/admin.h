/*-------------------------------------------------------------------------
 *
 * admin.h
 *	  Creating, showing and changing generators.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_ADMIN_H
#define FLAKEID_ADMIN_H

#include "layout/layout.h"

#pragma GCC visibility push(hidden)

/*
 * The packed value that ids must be above to exceed an id.  ERROR if none can.
 * ERROR, with a hint what to do, if the id is of a time that is further ahead
 * than a caller may have to wait for; with at_once, if the next id is.  That can
 * be in the tick after the id's.
 */
extern int64 flake_packed_to_exceed(const FlakeLayout *layout, int64 id,
									bool at_once, const char *hint);

/* Registers the provider of the labels that layouts are; at library load. */
extern void flake_admin_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_ADMIN_H */
