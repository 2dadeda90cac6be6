/*-------------------------------------------------------------------------
 *
 * shmem_area.c
 *	  The memory that all sessions share: a small fixed header and, reached
 *	  through it, a dynamic area with three hash tables.
 *
 * No preloading is needed.  The first session that mints after a server start
 * makes everything.  The header is a named DSM segment on PostgreSQL 17 and
 * later; before, it comes from the slack that the server's main shared memory
 * always has (as pg_prewarm's does when it is not preloaded).
 *
 * After a crash the server starts with fresh shared memory.  That is safe:
 * whatever was here is bounded by the horizon on disk.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "lib/dshash.h"
#include "mint/entry.h"
#include "mint/locks.h"
#include "mint/shmem_area.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/dsa.h"
#include "utils/memutils.h"

#define TRANCHE_NAME	"flakeid"

typedef struct ShmemHeader
{
	uint8		server_value[FLAKE_SERVER_VALUE_LEN];	/* drawn with the area */
	LWLock		lock;			/* held while the area is being created */
	dsa_handle	area;			/* DSM_HANDLE_INVALID until it is */
	dshash_table_handle horizons;
	dshash_table_handle slots;
	dshash_table_handle settled;
	dsa_pointer holders;
	ClockGuard	clock_guard;
} ShmemHeader;

/*
 * A dshash entry lies behind an item header of two words, and dsa serves
 * anything from 113 to 128 bytes from an array of 128-byte pieces: each entry
 * has two cache lines to itself.
 */
#define ITEM_HEADER_SIZE	MAXALIGN(sizeof(dsa_pointer) + sizeof(dshash_hash))
#define ENTRY_SIZE			(128 - ITEM_HEADER_SIZE)

StaticAssertDecl(sizeof(Horizon) <= ENTRY_SIZE, "a horizon fits its entry");
StaticAssertDecl(sizeof(Slot) <= ENTRY_SIZE, "a slot fits its entry");
StaticAssertDecl(sizeof(Settled) <= ENTRY_SIZE, "so does what is settled");
StaticAssertDecl(sizeof(Holder) <= PG_CACHE_LINE_SIZE, "holders are as far apart");

dshash_table *flake_horizons = NULL;
dshash_table *flake_slots = NULL;
dshash_table *flake_settled_table = NULL;
Holders    *flake_holders = NULL;

static ShmemHeader *shmem_header = NULL;
static dsa_area *area = NULL;

/* The same for all tables; the tranche is filled in by flake_shmem_attach(). */
static dshash_parameters table_params = {
	.key_size = sizeof(FlakeKey),
	.entry_size = ENTRY_SIZE,
	.compare_function = dshash_memcmp,
	.hash_function = dshash_memhash,
#if PG_VERSION_NUM >= 170000
	.copy_function = dshash_memcpy,
#endif
};

/* Nothing here may fail: a header that is not complete would be taken for one that is. */
static void
header_init(void *ptr
#if PG_VERSION_NUM >= 190000
			,void *arg
#endif
)
{
	ShmemHeader *header = ptr;

#if PG_VERSION_NUM >= 190000
	LWLockInitialize(&header->lock, LWLockNewTrancheId(TRANCHE_NAME));
#else
	LWLockInitialize(&header->lock, LWLockNewTrancheId());
#endif
	header->area = DSM_HANDLE_INVALID;
	memset(&header->clock_guard, 0, sizeof(ClockGuard));
	SpinLockInit(&header->clock_guard.mutex);
}

#if PG_VERSION_NUM < 170000
/*
 * Adds to the server's "not enough shared memory" what can be done.  The header is in
 * what PostgreSQL leaves unused, into which its table of locks grows, and stays.
 */
static void
no_room_callback(void *arg)
{
	if (geterrcode() == ERRCODE_OUT_OF_MEMORY)
		errhint("PostgreSQL's locks may have taken the room that was left. Restart the server, with flakeid in \"shared_preload_libraries\", which keeps room for it.");
}
#endif

/* Finds or makes the header. */
static ShmemHeader *
header_get(void)
{
#if PG_VERSION_NUM < 170000
	ErrorContextCallback callback = {.callback = no_room_callback,.previous = error_context_stack};
#endif
	ShmemHeader *header;
	bool		found;

#if PG_VERSION_NUM >= 190000
	header = GetNamedDSMSegment(TRANCHE_NAME, sizeof(ShmemHeader),
								header_init, &found, NULL);
#elif PG_VERSION_NUM >= 170000
	header = GetNamedDSMSegment(TRANCHE_NAME, sizeof(ShmemHeader),
								header_init, &found);
#else
	error_context_stack = &callback;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	header = ShmemInitStruct(TRANCHE_NAME, sizeof(ShmemHeader), &found);
	if (!found)
		header_init(header);
	LWLockRelease(AddinShmemInitLock);
	error_context_stack = callback.previous;
#endif

#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(header->lock.tranche, TRANCHE_NAME);
#endif
	return header;
}

/* Every process that PostgreSQL can have, also those that do not mint. */
static int
number_of_processes(void)
{
	return (int) ProcGlobal->allProcCount;
}

static Size
holders_size(void)
{
	/* And one cache line to align them. */
	return add_size(sizeof(Holders),
					add_size(mul_size(number_of_processes() + 1, PG_CACHE_LINE_SIZE),
							 mul_size(max_prepared_xacts, sizeof(PreparedHolder))));
}

static void
holders_init(Holders *holders, int tranche)
{
	LWLockInitialize(&holders->lock, tranche);
	pg_atomic_init_u64(&holders->epochs, 0);
	holders->is_read = false;
	holders->nprocesses = number_of_processes();
	holders->nprepared = max_prepared_xacts;
	for (int i = 0; i < holders->nprocesses; i++)
		flake_holder_init(flake_process_holder(holders, i));
	for (int i = 0; i < holders->nprepared; i++)
	{
		flake_prepared_holders(holders)[i].xid = InvalidTransactionId;
		flake_holder_init(&flake_prepared_holders(holders)[i].holder);
	}
}

/*
 * Makes the area and its tables.  The area is pinned, so that it outlives its
 * creator, only when nothing can fail any more: until then an error lets the
 * resource owner take everything back.
 */
static void
area_create(ShmemHeader *header)
{
	dsa_area   *new_area = dsa_create(header->lock.tranche);
	dshash_table *new_horizons;
	dshash_table *new_slots;
	dshash_table *new_settled;
	dsa_pointer new_holders;

	if (!pg_strong_random(header->server_value, FLAKE_SERVER_VALUE_LEN))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));

	dsa_set_size_limit(new_area, add_size((Size) FLAKE_AREA_LIMIT_MB * 1024 * 1024,
										  holders_size()));
	new_horizons = dshash_create(new_area, &table_params, NULL);
	new_slots = dshash_create(new_area, &table_params, NULL);
	new_settled = dshash_create(new_area, &table_params, NULL);
	new_holders = dsa_allocate_extended(new_area, holders_size(), DSA_ALLOC_HUGE);
	holders_init(dsa_get_address(new_area, new_holders), header->lock.tranche);

	dsa_pin(new_area);
	dsa_pin_mapping(new_area);
	header->horizons = dshash_get_hash_table_handle(new_horizons);
	header->slots = dshash_get_hash_table_handle(new_slots);
	header->settled = dshash_get_hash_table_handle(new_settled);
	header->holders = new_holders;
	header->area = dsa_get_handle(new_area);

	area = new_area;
	flake_horizons = new_horizons;
	flake_slots = new_slots;
	flake_settled_table = new_settled;
	flake_holders = dsa_get_address(new_area, new_holders);
}

static void
area_attach(const ShmemHeader *header)
{
	dsa_area   *new_area = dsa_attach(header->area);

	flake_horizons = dshash_attach(new_area, &table_params, header->horizons, NULL);
	flake_slots = dshash_attach(new_area, &table_params, header->slots, NULL);
	flake_settled_table = dshash_attach(new_area, &table_params, header->settled, NULL);
	flake_holders = dsa_get_address(new_area, header->holders);
	dsa_pin_mapping(new_area);
	area = new_area;
}

void
flake_shmem_attach(void)
{
	MemoryContext old_context;

	if (area != NULL)
		return;

	old_context = MemoryContextSwitchTo(TopMemoryContext);
	FLAKE_TRY_LOCKED();
	{
		ShmemHeader *header = header_get();

		table_params.tranche_id = header->lock.tranche;
		LWLockAcquire(&header->lock, LW_EXCLUSIVE);
		if (header->area == DSM_HANDLE_INVALID)
			area_create(header);
		else
			area_attach(header);
		LWLockRelease(&header->lock);
		shmem_header = header;
	}
	FLAKE_END_LOCKED();
	MemoryContextSwitchTo(old_context);
}

int
flake_shmem_tranche(void)
{
	return table_params.tranche_id;
}

void
flake_shmem_request(void)
{
#if PG_VERSION_NUM < 170000
	RequestAddinShmemSpace(MAXALIGN(sizeof(ShmemHeader)));
#endif
}

ClockGuard *
flake_shmem_clock_guard(void)
{
	flake_shmem_attach();
	return &shmem_header->clock_guard;
}

const uint8 *
flake_shmem_server_value(void)
{
	flake_shmem_attach();
	return shmem_header->server_value;
}
