/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The extension's settings: their variables, defaults and limits.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "settings.h"
#include "utils/guc.h"

int			flake_shard = -1;
int			flake_max_ahead_ms = 15000;
int			flake_max_wait_ms = 10000;
bool		flake_require_attach = false;

/* The hooks keep what it says. */
static char *flake_worker = NULL;

void
flake_settings_init(const SettingHooks *hooks)
{
	DefineCustomIntVariable("flakeid.shard",
							"Sets the logical shard of the ids that flake_id() mints.",
							"-1 means that it is not set.",
							&flake_shard, -1, -1, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("flakeid.max_ahead",
							"Sets how far the time in an id may be ahead of the clock.",
							NULL,
							&flake_max_ahead_ms, 15000, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("flakeid.max_wait",
							"Sets how long a caller may be made to wait for the clock before it is an error.",
							NULL,
							&flake_max_wait_ms, 10000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomBoolVariable("flakeid.require_attach",
							 "Lets only shards be minted that were attached with flake_attach().",
							 NULL,
							 &flake_require_attach, false,
							 PGC_SIGHUP, 0, NULL, hooks->assign_require_attach,
							 NULL);
	DefineCustomStringVariable("flakeid.worker",
							   "Sets the worker of the UUIDs that flake_uuid() mints.",
							   "Empty means the first hardware address of the machine.",
							   &flake_worker, "",
							   PGC_SIGHUP, 0, hooks->check_worker,
							   hooks->assign_worker, NULL);
	MarkGUCPrefixReserved("flakeid");
}
