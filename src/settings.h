/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The extension's settings.
 *
 * Every file may read them.  Some rooms above must know of a change: the
 * module's entry hands their hooks down.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_SETTINGS_H
#define FLAKEID_SETTINGS_H

#include "utils/guc.h"

#pragma GCC visibility push(hidden)

extern int	flake_shard;		/* of flake_id(); -1 if unset */
extern int64 flake_max_ahead_us;	/* how far an id may be ahead of the clock */
extern int64 flake_max_wait_us; /* how long a caller may have to wait */
extern int	flake_max_jump_s;	/* how far the clock may jump ahead; -1: any */
extern bool flake_require_attach;	/* only attached shards may be minted */

/* What is to be called when a setting changes. */
typedef struct SettingHooks
{
	GucBoolAssignHook assign_require_attach;
	GucStringCheckHook check_worker;
	GucStringAssignHook assign_worker;
} SettingHooks;

/* Makes the settings known to the server; at library load. */
extern void flake_settings_init(const SettingHooks *hooks);

#pragma GCC visibility pop

#endif							/* FLAKEID_SETTINGS_H */
