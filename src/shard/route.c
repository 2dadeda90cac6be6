/*-------------------------------------------------------------------------
 *
 * route.c
 *	  SQL functions that say which shard a key belongs to, and which server a
 *	  shard.
 *
 * A key's shard must be the same on every machine, in every version, and in
 * applications that compute it themselves, for ever.  So it is not one of
 * PostgreSQL's own hashes but XXH64 with seed 0, by Yann Collet's library
 * (github.com/Cyan4973/xxHash), of the bytes that are named below, modulo the
 * number of shards.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

/*
 * Its functions come with the header: no other library has to be loaded.  They
 * are not ours to be judged by clang-tidy.
 */
#ifndef __clang_analyzer__
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "shard/route.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "trust/pages.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rangetypes.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(flake_shard_for_bigint);
PG_FUNCTION_INFO_V1(flake_shard_for_text);
PG_FUNCTION_INFO_V1(flake_shard_for_uuid);
PG_FUNCTION_INFO_V1(flake_server);

static int32
shard_of_bytes(const void *bytes, size_t length, int32 shards)
{
	if (shards < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of shards must be at least 1"),
				 errdetail("The number given is %d.", shards)));
	return (int32) (XXH64(bytes, length, 0) % (uint64) shards);
}

/* flake_shard_for(key bigint, shards int) returns int: 8 bytes, little-endian */
Datum
flake_shard_for_bigint(PG_FUNCTION_ARGS)
{
	uint64		key = (uint64) PG_GETARG_INT64(0);
	uint8		bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8) (key >> (8 * i));
	PG_RETURN_INT32(shard_of_bytes(bytes, sizeof(bytes), PG_GETARG_INT32(1)));
}

/* flake_shard_for(key text, shards int) returns int: the bytes in UTF-8 */
Datum
flake_shard_for_text(PG_FUNCTION_ARGS)
{
	text	   *key = PG_GETARG_TEXT_PP(0);
	char	   *bytes = VARDATA_ANY(key);
	int			length = VARSIZE_ANY_EXHDR(key);
	char	   *utf8 = pg_server_to_any(bytes, length, PG_UTF8);

	/* What has been converted ends with a zero. */
	if (utf8 != bytes)
		length = (int) strlen(utf8);
	PG_RETURN_INT32(shard_of_bytes(utf8, (size_t) length, PG_GETARG_INT32(1)));
}

/* flake_shard_for(key uuid, shards int) returns int: 16 bytes, as written */
Datum
flake_shard_for_uuid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(shard_of_bytes(PG_GETARG_UUID_P(0)->data, UUID_LEN,
								   PG_GETARG_INT32(1)));
}

/* Whether the map has a shard, as a snapshot sees it, and which server. */
static bool
find_shard(const OwnTable *map, int32 shard, Snapshot snapshot, NameData *server)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;
	bool		found;

	ScanKeyEntryInitialize(&key, 0, MAP_SHARDS, RANGESTRAT_CONTAINS_ELEM,
						   INT4OID, InvalidOid, F_RANGE_CONTAINS_ELEM,
						   Int32GetDatum(shard));
	scan = systable_beginscan(map->rel, map->index, true, snapshot, 1, &key);
	row = flake_own_table_next(scan);
	found = HeapTupleIsValid(row);
	if (found)
	{
		Datum		values[MAP_COLUMNS];
		bool		nulls[MAP_COLUMNS];

		heap_deform_tuple(row, RelationGetDescr(map->rel), values, nulls);
		namestrcpy(server, NameStr(*DatumGetName(values[MAP_SERVER - 1])));
	}
	systable_endscan(scan);
	return found;
}

/* A map that is being read. */
typedef struct MapReading
{
	ShardMap   *map;
	int			room;
	TypeCacheEntry *type;
} MapReading;

/* For flake_heap_each(): adds the shards of a row. */
static bool
read_row(Relation rel, HeapTuple row, void *arg)
{
	MapReading *reading = arg;
	ShardMap   *map = reading->map;
	bool		isnull;
	Datum		value = heap_getattr(row, MAP_SHARDS, RelationGetDescr(rel), &isnull);
	RangeType  *shards = DatumGetRangeTypeP(value);
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	/* Of integers, [lower, upper) is the only form that is stored. */
	range_deserialize(reading->type, shards, &lower, &upper, &empty);
	if (!empty)
	{
		ShardRange *range;

		if (map->count == reading->room)
		{
			reading->room *= 2;
			map->ranges = repalloc_huge(map->ranges, reading->room * sizeof(ShardRange));
		}
		range = &map->ranges[map->count++];
		range->lower = lower.infinite ? PG_INT32_MIN : DatumGetInt32(lower.val);
		range->upper = upper.infinite ? PG_INT32_MAX
			: (int64) DatumGetInt32(upper.val) - 1;
	}
	if ((Pointer) shards != DatumGetPointer(value))
		pfree(shards);
	return true;
}

/* For qsort(): the range first that begins at a lower shard. */
static int
compare_lower(const void *a, const void *b)
{
	int64		lower_a = ((const ShardRange *) a)->lower;
	int64		lower_b = ((const ShardRange *) b)->lower;

	return (lower_a > lower_b) - (lower_a < lower_b);
}

ShardMap *
flake_map_read(Oid function)
{
	OwnTable	table = flake_own_table_open(SHARD_MAP, function, AccessShareLock);
	Patience	patience = PATIENCE_OR_ERROR;
	MapReading	reading = {.map = palloc(sizeof(ShardMap)),.room = 64};
	ShardMap   *map = reading.map;
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	reading.type = lookup_type_cache(INT4RANGEOID, TYPECACHE_RANGE_INFO);
	map->count = 0;
	map->ranges = palloc(reading.room * sizeof(ShardRange));
	flake_heap_each(table.rel, snapshot, &patience, read_row, &reading);
	UnregisterSnapshot(snapshot);
	flake_own_table_close(&table);
	qsort(map->ranges, map->count, sizeof(ShardRange), compare_lower);
	return map;
}

bool
flake_map_has(const ShardMap *map, int32 shard)
{
	int			first = 0;
	int			end = map->count;

	/* The ranges do not overlap: the last that begins at or below the shard. */
	while (first < end)
	{
		int			middle = first + (end - first) / 2;

		if (map->ranges[middle].lower <= shard)
			first = middle + 1;
		else
			end = middle;
	}
	return first > 0 && map->ranges[first - 1].upper >= shard;
}

/*
 * ERROR unless the current user may read the map, as a query of it would check;
 * policies, which only a superuser can give it, cannot be heeded here.
 */
static void
check_may_read(const OwnTable *map)
{
	Oid			oid = RelationGetRelid(map->rel);

	if (pg_class_aclcheck(oid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   RelationGetRelationName(map->rel));
	if (check_enable_rls(oid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("flake_server() does not work with row-level security of table \"%s\"",
						RelationGetRelationName(map->rel)),
				 errhint("Query the table itself.")));
}

/* flake_server(shard int) returns name: from the table flake_shard_map */
Datum
flake_server(PG_FUNCTION_ARGS)
{
	int32		shard = PG_GETARG_INT32(0);
	OwnTable	map = flake_own_table_open(SHARD_MAP, fcinfo->flinfo->fn_oid,
										   AccessShareLock);
	Name		server = palloc(sizeof(NameData));

	check_may_read(&map);
	if (!find_shard(&map, shard, GetActiveSnapshot(), server))
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA),
				 errmsg("no server is known for shard %d", shard),
				 errhint("Enter one into the table \"flake_shard_map\".")));
	flake_own_table_close(&map);
	PG_RETURN_NAME(server);
}
