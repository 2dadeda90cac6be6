/*-------------------------------------------------------------------------
 *
 * partition.c
 *	  What partitions by time or by shard need that SQL does not have.
 *
 * Partitions by shard are PARTITION BY HASH (id flake_shard_ops), an operator
 * class whose hash of an id is its shard.  Its equality is that of bigint.  So
 * PostgreSQL takes "id = X" for a condition on the partition key, and prunes by
 * it, which it cannot do for a key that is an expression: flake_shard(id).
 *
 * The class has no hash function of 32 bits (support function 1).  With one, it
 * could be chosen for hash joins, as it has bigint's own operator, and all ids of
 * a shard would collide.  See get_op_hash_functions() in lsyscache.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "layout/layout_type.h"
#include "layout/message.h"
#include "layout/preset.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_partition_layout);
PG_FUNCTION_INFO_V1(flake_partition_bound_time);
PG_FUNCTION_INFO_V1(flake_shard_hash);

/* The type of the one column that a relation is PARTITION BY RANGE of; or InvalidOid. */
static Oid
type_of_key(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(relation));
	Form_pg_partitioned_table form;
	Oid			type = InvalidOid;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_partitioned_table) GETSTRUCT(tuple);
	if (form->partstrat == PARTITION_STRATEGY_RANGE && form->partnatts == 1)
		type = get_atttype(relation, form->partattrs.values[0]);
	ReleaseSysCache(tuple);
	return type;
}

/*
 * _flake_partition_layout(parent regclass, layout flake_layout) returns flake_layout
 *
 * A column of type uuid says by itself that its ids are UUIDs.  The layout is
 * 'instagram' then, which stands for one that was left out.
 */
Datum
flake_partition_layout(PG_FUNCTION_ARGS)
{
	Oid			parent = PG_GETARG_OID(0);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(1);
	Oid			type = type_of_key(parent);
	FlakeLayout left_out = flake_preset_layout(flake_preset_find("instagram"));
	FlakeLayout *uuidv7;

	if (type != INT8OID && type != UUIDOID)
	{
		char	   *name = get_rel_name(parent);

		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not partitioned by range of an id",
						name != NULL ? name : psprintf("%u", parent)),
				 errhint("Use CREATE TABLE ... PARTITION BY RANGE (id), with a column of type bigint or uuid.")));
	}
	if (flake_layout_is_uuid(layout) ? type != UUIDOID
		: type == UUIDOID && memcmp(layout, &left_out, sizeof(FlakeLayout)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of layout \"%s\" are not of type %s",
						flake_layout_name(layout), format_type_be(type)),
				 errhint("Leave out the layout for a column of type uuid, and for one of type bigint give that of its ids.")));
	if (type == INT8OID)
		PG_RETURN_POINTER(layout);
	uuidv7 = palloc(sizeof(FlakeLayout));
	*uuidv7 = flake_preset_layout(flake_preset_find("uuidv7"));
	FLAKE_RETURN_LAYOUT(uuidv7);
}

/*
 * _flake_partition_bound_time(bound bigint, is_upper boolean, layout flake_layout)
 *	returns timestamptz
 *
 * Of a lower bound the time of the ids from there on, of an upper one the time
 * that all ids below it are before: where the tick of the bound begins, or the next
 * one if that has ids on both sides.  NULL without time, and if timestamptz cannot
 * hold it: a bound may be any bigint.
 */
Datum
flake_partition_bound_time(PG_FUNCTION_ARGS)
{
	int64		bound = PG_GETARG_INT64(0);
	bool		is_upper = PG_GETARG_BOOL(1);
	const FlakeLayout *layout = FLAKE_GETARG_LAYOUT(2);
	int64		tick;
	TimestampTz ts;

	if (!flake_layout_has_time(layout))
		PG_RETURN_NULL();
	tick = flake_layout_tick(layout, bound);
	if (is_upper &&
		bound != flake_layout_id(layout, flake_layout_pack(layout, tick, 0), 0))
		tick++;
	if (!flake_layout_tick_start(layout, tick, &ts))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(ts);
}

/*
 * _flake_shard_hash(id bigint, seed bigint) returns bigint
 *
 * A row's partition is hash_combine64(0, hash) modulo the number of partitions:
 * compute_partition_hash_value() in partbounds.c.  That adds a constant, which is
 * taken off here, so that the partition is the shard modulo that number.  Rows stay
 * where they are stored, so neither may change.
 */
Datum
flake_shard_hash(PG_FUNCTION_ARGS)
{
	static FlakeLayout layout;
	static bool is_known = false;

	if (!is_known)
	{
		layout = flake_preset_layout(flake_preset_find("instagram"));
		is_known = true;
	}
	PG_RETURN_INT64((int64) ((uint64) flake_layout_shard(&layout, PG_GETARG_INT64(0)) -
							 hash_combine64(0, 0)));
}
