/*-------------------------------------------------------------------------
 *
 * flakeid.c
 *	  Module entry: what happens when the library is loaded.
 *
 * README.md in this folder is a map of the source.  An id is minted in
 * mint/claim.c, and cannot repeat after a crash because of mint/horizon.c.
 * docs/internals/design.md argues why.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "mint/claim.h"
#include "mint/generator.h"
#include "mint/holders.h"
#include "mint/shmem_area.h"
#include "mint/shmem_free.h"
#include "miscadmin.h"
#include "settings.h"
#include "shard/backfill.h"
#include "shard/fence.h"
#include "shard/keep.h"
#include "sql/create.h"
#include "sql/seal_key.h"
#include "sql/wide.h"

PG_MODULE_MAGIC;

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
	const SettingHooks hooks = {
		.assign_require_attach = flake_fence_assign_require_attach,
		.check_worker = flake_check_worker,
		.assign_worker = flake_assign_worker,
	};

	flake_settings_init(&hooks);
	flake_shmem_free_init();
	flake_generator_init();
	flake_claim_init();
	flake_holders_init();
	flake_fence_init();
	flake_keep_init();
	flake_backfill_init();
	flake_create_init();
	flake_seal_key_init();

	if (process_shared_preload_libraries_in_progress)
	{
		prev_shmem_request_hook = shmem_request_hook;
		shmem_request_hook = shmem_request;
	}
}
