/*-------------------------------------------------------------------------
 *
 * flakeid.c
 *	  Module entry and settings.
 *
 * Where to read on: an id is minted in slot.c, and cannot repeat after a
 * crash because of horizon.c.  docs/internals/design.md argues why.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "admin.h"
#include "flakeid.h"
#include "fmgr.h"
#include "generator.h"
#include "miscadmin.h"
#include "shmem.h"
#include "shard.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "wide.h"

PG_MODULE_MAGIC;

int			flake_shard = -1;
int			flake_max_ahead_ms = 15000;
int			flake_max_wait_ms = 10000;
bool		flake_require_attach = false;
static char *flake_worker = NULL;	/* see wide.c */

static shmem_request_hook_type prev_shmem_request_hook = NULL;

static void
shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	flake_shmem_request();
}

#if PG_VERSION_NUM < 160000
extern void _PG_init(void);
#endif

void
_PG_init(void)
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
							 PGC_SIGHUP, 0, NULL, flake_assign_require_attach,
							 NULL);
	DefineCustomStringVariable("flakeid.worker",
							   "Sets the worker of the UUIDs that flake_uuid() mints.",
							   "Empty means the first hardware address of the machine.",
							   &flake_worker, "",
							   PGC_SIGHUP, 0, flake_check_worker,
							   flake_assign_worker, NULL);
	MarkGUCPrefixReserved("flakeid");

	flake_shmem_init();
	flake_generator_init();
	flake_slot_init();
	flake_shard_init();
	flake_admin_init();

	if (process_shared_preload_libraries_in_progress)
	{
		prev_shmem_request_hook = shmem_request_hook;
		shmem_request_hook = shmem_request;
	}
}
