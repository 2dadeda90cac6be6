/*-------------------------------------------------------------------------
 *
 * elsewhere.c
 *	  A SQL function that finds ids which this server cannot have minted, though
 *	  it mints their shard: those of a copy of it, or of another server that was
 *	  given the same shard.
 *
 * An id of a shard that is above the last one handed out here has come from
 * elsewhere, by an import or by replication.  One that is below may have come from
 * elsewhere, too, and cannot be told from our own.  So this finds what others mint
 * of a shard that is idle here, or slower.
 *
 * Rows are looked at before slots are: an id that was in a row by then had been
 * handed out before.  A shard that is detached here, or was not minted since the
 * server started, is left out: others may mint it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "sql/columns.h"
#include "storage/lmgr.h"
#include "trust/search.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_minted_elsewhere);

#define ELSEWHERE_COLUMNS	5

/* So many ids of each table are looked at. */
#define LARGEST_IDS	10000

/* A shard that was minted here. */
typedef struct MintedShard
{
	int32		shard;			/* must be first: hash key */
	int64		last;			/* id: the last one, as far as is known */
	int64		found;			/* id: the largest one in a column */
} MintedShard;

/* What a look through a column needs. */
typedef struct Look
{
	Oid			generator;		/* its key */
	FlakeLayout layout;
	HTAB	   *shards;
	int64		below;			/* id: at or below the last one of each shard */
} Look;

/* The last value of an open slot that was minted from. */
static bool
get_last(Slot *slot, int64 *last)
{
	*last = (int64) pg_atomic_read_u64(&slot->last);

	/* One that was opened and not used has one more than none. */
	return *last > FLAKE_PACKED_NONE + 1;
}

static void
collect_slot(Slot *slot, void *arg)
{
	Look	   *look = arg;
	MintedShard *minted;
	int64		last;

	if (slot->key.generator != look->generator || !get_last(slot, &last))
		return;
	minted = hash_search(look->shards, &slot->key.shard, HASH_ENTER, NULL);
	minted->last = flake_layout_id(&look->layout, last,
								   flake_layout_shard_image(&look->layout, slot->key.shard));
	look->below = Min(look->below, minted->last);
}

static void
heed_id(int64 id, void *arg)
{
	Look	   *look = arg;
	int32		shard = flake_layout_shard(&look->layout, id);
	MintedShard *minted = hash_search(look->shards, &shard, HASH_FIND, NULL);

	if (minted != NULL && id > minted->last)
		minted->found = Max(minted->found, id);
}

/* Looks at a slot again; closed by now, it says that others may mint. */
static void
look_again(Slot *slot, void *arg)
{
	MintedShard *minted = arg;
	int64		last;

	if (!get_last(slot, &last))
		minted->last = PG_INT64_MAX;
	else
		minted->last = last;	/* packed, for the caller to convert */
}

/* Adds what was found in a column to the result. */
static void
add_found(Look *look, const ObjectAddress *column, ReturnSetInfo *result)
{
	HASH_SEQ_STATUS scan;
	MintedShard *minted;

	hash_seq_init(&scan, look->shards);
	while ((minted = hash_seq_search(&scan)) != NULL)
	{
		MintedShard now = *minted;
		NameData	name;
		Datum		values[ELSEWHERE_COLUMNS];
		bool		nulls[ELSEWHERE_COLUMNS] = {false};

		minted->found = PG_INT64_MIN;
		if (now.found == PG_INT64_MIN)
			continue;
		now.last = PG_INT64_MAX;
		flake_shmem_visit_slot(look->generator, now.shard, look_again, &now);
		if (now.last == PG_INT64_MAX)
			continue;
		now.last = flake_layout_id(&look->layout, now.last,
								   flake_layout_shard_image(&look->layout, now.shard));
		if (now.found <= now.last)
			continue;
		namestrcpy(&name, get_attname(column->objectId, column->objectSubId, false));
		values[0] = ObjectIdGetDatum(column->objectId);
		values[1] = NameGetDatum(&name);
		values[2] = Int32GetDatum(now.shard);
		values[3] = Int64GetDatum(now.found);
		values[4] = Int64GetDatum(now.last);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

/*
 * _flake_minted_elsewhere(generator regclass, OUT relation regclass,
 *	OUT attribute name, OUT shard int, OUT id bigint, OUT last_id bigint)
 *	returns setof record
 */
Datum
flake_minted_elsewhere(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			sequence = PG_GETARG_OID(0);
	Oid			function = fcinfo->flinfo->fn_oid;
	HASHCTL		control = {.keysize = sizeof(int32),.entrysize = sizeof(MintedShard)};
	Look		look = {.below = PG_INT64_MAX};
	HASH_SEQ_STATUS scan;
	MintedShard *minted;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	look.generator = flake_generator_key(sequence, function);
	if (look.generator == FLAKE_UUID || look.generator == FLAKE_OBJECTID ||
		!flake_generator_layout(sequence, function, true, &look.layout))
		return (Datum) 0;
	control.hcxt = CurrentMemoryContext;
	look.shards = hash_create("flakeid minted shards", 64, &control,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	flake_shmem_each_slot(collect_slot, &look);
	hash_seq_init(&scan, look.shards);
	while ((minted = hash_seq_search(&scan)) != NULL)
		minted->found = PG_INT64_MIN;
	if (hash_get_num_entries(look.shards) == 0)
		return (Datum) 0;

	foreach(lc, flake_find_columns(sequence, function))
	{
		const ObjectAddress *column = lfirst(lc);
		Relation	rel;

		if (isOtherTempNamespace(get_rel_namespace(column->objectId)) ||
			!ConditionalLockRelationOid(column->objectId, AccessShareLock))
			continue;
		rel = try_relation_open(column->objectId, NoLock);
		if (rel == NULL)
			continue;
		if (!TupleDescAttr(RelationGetDescr(rel), column->objectSubId - 1)->attisdropped)
		{
			flake_search_largest(rel, column->objectSubId, look.below, LARGEST_IDS,
								 heed_id, &look, function);
			add_found(&look, column, result);
		}
		relation_close(rel, NoLock);
	}
	return (Datum) 0;
}
