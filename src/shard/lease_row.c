/*-------------------------------------------------------------------------
 *
 * lease_row.c
 *	  The table of leases.
 *
 * Its rules and its locks are those of lease.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "common/int.h"
#include "settings.h"
#include "shard/lease_row.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

TimestampTz
flake_lease_later(TimestampTz ts, int64 us)
{
	TimestampTz sum;

	if (pg_add_s64_overflow(ts, us, &sum) || sum >= END_TIMESTAMP)
		return END_TIMESTAMP - 1;
	return sum;
}

void
flake_lease_init_generator_key(ScanKeyData *key, Oid sequence)
{
	ScanKeyInit(key, LEASE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
}

void
flake_lease_init_shard_keys(ScanKeyData keys[2], Oid sequence, int32 shard)
{
	flake_lease_init_generator_key(&keys[0], sequence);
	ScanKeyInit(&keys[1], LEASE_SHARD, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(shard));
}

Lease
flake_lease_get(const OwnTable *table, HeapTuple row)
{
	Datum		values[LEASE_COLUMNS];
	bool		nulls[LEASE_COLUMNS];
	Lease		lease = {0};

	heap_deform_tuple(row, RelationGetDescr(table->rel), values, nulls);
	lease.shard = DatumGetInt32(values[LEASE_SHARD - 1]);
	lease.not_before = DatumGetTimestampTz(values[LEASE_NOT_BEFORE - 1]);
	lease.expires_at = DatumGetTimestampTz(values[LEASE_EXPIRES_AT - 1]);
	lease.renewed_at = DatumGetTimestampTz(values[LEASE_RENEWED_AT - 1]);
	return lease;
}

static bool
end_lease(Oid sequence, int32 shard, Oid function, bool in_use, TimestampTz *upto)
{
	OwnTable	table = flake_own_table_open(LEASES, function, RowExclusiveLock);
	ScanKeyData keys[2];
	HeapTuple	row;

	flake_lease_init_shard_keys(keys, sequence, shard);
	row = flake_own_table_lock(&table, table.index, 2, keys, LockWaitBlock);
	if (row != NULL)
	{
		bool		isnull;

		*upto = flake_lease_later(flake_lease_get(&table, row).expires_at,
								  flake_max_ahead_us);
		if (!in_use && *upto > GetCurrentTimestamp())
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("shard %d is leased to owner \"%s\"", shard,
							TextDatumGetCString(heap_getattr(row, LEASE_OWNER,
															 RelationGetDescr(table.rel),
															 &isnull))),
					 errdetail("It can be taken back at %s.", timestamptz_to_str(*upto)),
					 errhint("The owner can give it back earlier with flake_release().")));
		flake_own_table_delete(&table, row);
	}
	flake_own_table_close(&table);
	return row != NULL;
}

bool
flake_lease_end(Oid sequence, int32 shard, Oid function, TimestampTz *upto)
{
	return end_lease(sequence, shard, function, false, upto);
}

bool
flake_lease_break(Oid sequence, int32 shard, Oid function, TimestampTz *upto)
{
	return end_lease(sequence, shard, function, true, upto);
}
