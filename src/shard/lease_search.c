/*-------------------------------------------------------------------------
 *
 * lease_search.c
 *	  Finding a shard to lease.
 *
 * A new owner gets the shard whose lease has been over for the longest time, or
 * else the highest that is not in use: not minted since the server started, neither
 * detached nor attached.  What flake_shard_map has is left out; nor does an owner
 * whose lease is over get such a shard back.  Both are taken without waiting for
 * others who are leasing, so that a transaction that stays open keeps nothing but
 * its own shard from them.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "miscadmin.h"
#include "shard/attach.h"
#include "shard/citus.h"
#include "shard/lease_row.h"
#include "shard/lease_search.h"
#include "shard/state.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/*
 * For list_sort(): the lease first that has been over for longer; if two have
 * been for equally long, that of the higher shard.
 */
static int
compare_ends(const ListCell *a, const ListCell *b)
{
	const Lease *lease_a = lfirst(a);
	const Lease *lease_b = lfirst(b);

	if (lease_a->expires_at != lease_b->expires_at)
		return lease_a->expires_at < lease_b->expires_at ? -1 : 1;
	return (lease_a->shard < lease_b->shard) - (lease_a->shard > lease_b->shard);
}

bool
flake_lease_is_lapsed(const LeaseRequest *request, const Lease *lease)
{
	return flake_lease_later(lease->expires_at, request->margin_us) <= request->now;
}

/* The leases that have been over for a margin, as they are now. */
static List *
list_lapsed(const LeaseRequest *request, const OwnTable *table)
{
	List	   *leases = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	flake_lease_init_generator_key(&key, request->sequence);
	scan = systable_beginscan(table->rel, table->index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
	{
		Lease		lease = flake_lease_get(table, row);

		if (flake_lease_is_lapsed(request, &lease))
		{
			Lease	   *copy = palloc(sizeof(Lease));

			*copy = lease;
			leases = lappend(leases, copy);
		}
	}
	systable_endscan(scan);
	list_sort(leases, compare_ends);
	return leases;
}

/*
 * Locks the shard of a lease that is over, and reads the lease again.  False if it
 * cannot be had without waiting, or not any more.
 */
static bool
take_lapsed(const LeaseRequest *request, const OwnTable *table, Lease *lease)
{
	ScanKeyData keys[2];
	HeapTuple	row;

	if (flake_map_has(request->map, lease->shard) ||
		flake_citus_is_for_group(flake_citus_node(), &request->layout, lease->shard) ||
		!flake_shard_lock(request->sequence, lease->shard, FLAKE_CHANGE_LEASE, false))
		return false;
	flake_lease_init_shard_keys(keys, request->sequence, lease->shard);
	row = flake_own_table_find(table, table->index, 2, keys);
	if (row != NULL)
	{
		*lease = flake_lease_get(table, row);
		if (flake_lease_is_lapsed(request, lease) &&
			flake_shard_is_detached(request->sequence, lease->shard, request->function))
			return true;
	}
	flake_shard_unlock(request->sequence, lease->shard, FLAKE_CHANGE_LEASE);
	return false;
}

bool
flake_lease_find_lapsed(const LeaseRequest *request, Lease *lease)
{
	OwnTable	table = flake_own_table_open(LEASES, request->function, AccessShareLock);
	List	   *leases = list_lapsed(request, &table);
	bool		found = false;
	ListCell   *lc;

	foreach(lc, leases)
	{
		CHECK_FOR_INTERRUPTS();
		*lease = *(Lease *) lfirst(lc);
		if (!take_lapsed(request, &table, lease))
			continue;
		found = true;
		lease->role = GetUserId();
		lease->renewed_at = request->now;

		/* L1, L3 */
		lease->not_before = Max(lease->not_before,
								flake_lease_later(lease->expires_at, request->margin_us));
		lease->not_before = Max(lease->not_before, request->now);
		break;
	}
	list_free_deep(leases);
	flake_own_table_close(&table);
	return found;
}

/* Takes the highest shard from lower up to upper that is not in use. */
static bool
take_unused(const LeaseRequest *request, int32 lower, int32 upper, Lease *lease)
{
	const FlakeLayout *layout = &request->layout;

	for (int64 shard = upper; shard >= lower; shard--)
	{
		int64		bound;
		int64		tick;
		TimestampTz after;

		CHECK_FOR_INTERRUPTS();
		if (!flake_shard_reserve(request->sequence, (int32) shard,
								 request->function, &bound))
			continue;

		/* L3 */
		tick = flake_layout_tick(layout, bound) + 1;
		if (!flake_layout_tick_start(layout, tick, &after))
			flake_lifetime_is_over(layout, tick);
		lease->shard = (int32) shard;
		lease->role = GetUserId();
		lease->not_before = Max(request->now, after);
		lease->expires_at = lease->not_before;
		lease->renewed_at = request->now;
		return true;
	}
	return false;
}

/* For qsort(): the range first that ends at a higher shard. */
static int
compare_ranges(const void *a, const void *b)
{
	int64		upper_a = ((const ShardRange *) a)->upper;
	int64		upper_b = ((const ShardRange *) b)->upper;

	return (upper_b > upper_a) - (upper_b < upper_a);
}

/* The shards that either table has, the highest first. */
static ShardRange *
used_ranges(const LeaseRequest *request, int *count)
{
	OwnTable	states = flake_own_table_open(SHARD_STATE, request->function,
											  AccessShareLock);
	int			room = request->map->count + 64;
	ShardRange *ranges = palloc_extended(room * sizeof(ShardRange), MCXT_ALLOC_HUGE);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	*count = request->map->count;
	memcpy(ranges, request->map->ranges, *count * sizeof(ShardRange));
	ScanKeyInit(&key, STATE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(request->sequence));
	scan = systable_beginscan(states.rel, states.index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
	{
		bool		isnull;
		int32		shard = DatumGetInt32(heap_getattr(row, STATE_SHARD,
													   RelationGetDescr(states.rel),
													   &isnull));

		if (*count >= room)
		{
			room *= 2;
			ranges = repalloc_huge(ranges, room * sizeof(ShardRange));
		}
		ranges[*count].lower = shard == FLAKE_OTHER_SHARDS ? 0 : shard;
		ranges[*count].upper = shard == FLAKE_OTHER_SHARDS ? PG_INT32_MAX : shard;
		(*count)++;
	}
	systable_endscan(scan);
	flake_own_table_close(&states);
	qsort(ranges, *count, sizeof(ShardRange), compare_ranges);
	return ranges;
}

/*
 * As a layout can have 2^31 shards, it is the gaps between those in the tables
 * that are gone through.
 */
bool
flake_lease_find_new(const LeaseRequest *request, Lease *lease)
{
	int64		upper = flake_layout_max_shard(&request->layout);
	int			count;
	ShardRange *used = used_ranges(request, &count);
	bool		found = false;

	for (int i = 0; i < count && !found && upper >= 0; i++)
	{
		if (used[i].upper < upper)
			found = take_unused(request, Max(used[i].upper + 1, 0), upper, lease);
		upper = Min(upper, used[i].lower - 1);
	}
	pfree(used);
	return found || (upper >= 0 && take_unused(request, 0, upper, lease));
}

void
flake_lease_none_left(const LeaseRequest *request)
{
	OwnTable	table = flake_own_table_open(LEASES, request->function, AccessShareLock);
	TimestampTz next = DT_NOEND;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	flake_lease_init_generator_key(&key, request->sequence);
	scan = systable_beginscan(table.rel, table.index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
		next = Min(next, flake_lease_later(flake_lease_get(&table, row).expires_at, request->margin_us));
	systable_endscan(scan);
	flake_own_table_close(&table);
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("generator \"%s\" has no shard left to lease",
					get_rel_name(request->sequence)),
			 next == DT_NOEND
			 ? errdetail("All of its shards, 0 to %d, are in use by servers.",
						 flake_layout_max_shard(&request->layout))
			 : errdetail("All of its shards, 0 to %d, are leased or in use by servers. The next lease can be taken over at %s.",
						 flake_layout_max_shard(&request->layout),
						 timestamptz_to_str(next)),
			 errhint("Release leases that are not needed with flake_release(), lease for shorter times, or use a generator whose layout has more shards.")));
}
