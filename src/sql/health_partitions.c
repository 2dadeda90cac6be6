/*-------------------------------------------------------------------------
 *
 * health_partitions.c
 *	  Up to when tables have partitions for ids: for the view flake_health.
 *
 * The tables are anybody's, and a session may have locked them for long.  So they
 * are not opened: all is read from the catalogs, no expression is evaluated or
 * printed, and what was dropped meanwhile is left out.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "miscadmin.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "sql/stored_call.h"
#include "sql/uuidv7.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_health_partitions);

/* Tables that are deeper nested than this are left out: there can be any number. */
#define MAX_LEVELS	16

/*
 * Ids, or heads of UUIDs, from lower to below upper; PG_INT64_MAX if there is no
 * upper bound.
 */
typedef struct IdRange
{
	int64		lower;
	int64		upper;
} IdRange;

/* A table that is looked at. */
typedef struct IdTable
{
	Oid			relation;
	AttrNumber	attribute;		/* of the partition key */
	FlakeLayout layout;			/* of the ids in it */
} IdTable;

/* A bound of a partition by its first column; false if that is no bigint or UUID. */
static bool
read_bound(List *datums, int64 *bound)
{
	PartitionRangeDatum *datum = linitial_node(PartitionRangeDatum, datums);
	Const	   *value;

	switch (datum->kind)
	{
		case PARTITION_RANGE_DATUM_MINVALUE:
			*bound = PG_INT64_MIN;
			return true;
		case PARTITION_RANGE_DATUM_MAXVALUE:
			*bound = PG_INT64_MAX;
			return true;
		case PARTITION_RANGE_DATUM_VALUE:
			break;
	}
	value = castNode(Const, datum->value);
	if (value->constisnull)
		return false;
	if (value->consttype == UUIDOID)
	{
		*bound = flake_uuidv7_first_head(DatumGetUUIDP(value->constvalue));
		return true;
	}
	if (value->consttype != INT8OID)
		return false;
	*bound = DatumGetInt64(value->constvalue);
	return true;
}

/*
 * The ids that a partition is for; false for one that is not by range of an id.  If
 * that is the first of several columns, the last id can be in the next partition, too.
 */
static bool
read_range(Oid partition, IdRange *range)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(partition));
	Datum		bound;
	bool		isnull;
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
	if (!isnull)
	{
		PartitionBoundSpec *spec = stringToNode(TextDatumGetCString(bound));

		result = spec->strategy == PARTITION_STRATEGY_RANGE && !spec->is_default &&
			read_bound(spec->lowerdatums, &range->lower) &&
			read_bound(spec->upperdatums, &range->upper);
		if (result && list_length(spec->upperdatums) > 1 && range->upper < PG_INT64_MAX)
			range->upper++;
	}
	ReleaseSysCache(tuple);
	return result;
}

/* The generator that a default calls flake_id() or flake_uuidv7() of, or InvalidOid. */
static Oid
minted_from(Oid relation, AttrNumber attribute, Oid function)
{
	Relation	defaults = table_open(AttrDefaultRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	FuncExpr   *call = NULL;
	bool		is_uuid = false;
	Const	   *generator;

	ScanKeyInit(&keys[0], Anum_pg_attrdef_adrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relation));
	ScanKeyInit(&keys[1], Anum_pg_attrdef_adnum, BTEqualStrategyNumber,
				F_INT2EQ, Int16GetDatum(attribute));
	scan = systable_beginscan(defaults, AttrDefaultIndexId, true, NULL, 2, keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		nodes = heap_getattr(tuple, Anum_pg_attrdef_adbin,
										 RelationGetDescr(defaults), &isnull);

		if (!isnull)
			call = flake_stored_minting(nodes, function, &is_uuid);
	}
	systable_endscan(scan);
	table_close(defaults, AccessShareLock);
	if (call == NULL)
		return InvalidOid;

	if (list_length(call->args) < 2)
		return flake_generator_sequence(is_uuid ? FLAKE_UUIDV7 : FLAKE_DEFAULT, function);
	if (!IsA(lsecond(call->args), Const))
		return InvalidOid;
	generator = lsecond_node(Const, call->args);
	if (generator->consttype != REGCLASSOID || generator->constisnull)
		return InvalidOid;
	return DatumGetObjectId(generator->constvalue);
}

/* Whether a table is partitioned by range of ids that have a time. */
static bool
is_by_time(Form_pg_partitioned_table form, Oid function, IdTable *table)
{
	Oid			type;
	Oid			generator;

	table->relation = form->partrelid;
	if (form->partstrat != PARTITION_STRATEGY_RANGE || form->partnatts != 1)
		return false;
	table->attribute = form->partattrs.values[0];
	if (table->attribute <= InvalidAttrNumber)
		return false;			/* an expression */
	type = get_atttype(table->relation, table->attribute);

	/* The first makes sure that the second finds it. */
	if (get_rel_relkind(table->relation) != RELKIND_PARTITIONED_TABLE ||
		get_rel_persistence(table->relation) == RELPERSISTENCE_TEMP)
		return false;
	generator = minted_from(table->relation, table->attribute, function);
	return OidIsValid(generator) &&
		flake_generator_layout(generator, function, true, &table->layout) &&
		flake_layout_has_time(&table->layout) &&
		type == (flake_layout_is_uuid(&table->layout) ? UUIDOID : INT8OID);
}

/* The table that one is a partition of; InvalidOid if none, or if it is being detached. */
static Oid
parent_of(Oid relation)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	Oid			parent = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	/* get_partition_parent() fails if the table has been dropped. */
	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple) && !((Form_pg_inherits) GETSTRUCT(tuple))->inhdetachpending)
		parent = ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent;
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return parent;
}

/*
 * The ids that can get to a table that is itself a partition, and that of a table
 * by range of the same column: others need no partition of it.  False for what
 * nothing can be said of, a default partition, and for what is nested too deep.
 */
static bool
narrow(const IdTable *table, IdRange *range)
{
	char	   *name = get_attname(table->relation, table->attribute, true);
	Oid			child = table->relation;
	Oid			parent;

	for (int level = 0; OidIsValid(parent = parent_of(child)); level++)
	{
		HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(parent));
		Form_pg_partitioned_table form;
		char	   *key = NULL;
		bool		is_default;
		IdRange		bounds;

		if (!HeapTupleIsValid(tuple))
			return false;
		form = (Form_pg_partitioned_table) GETSTRUCT(tuple);
		is_default = form->partdefid == child;
		if (form->partstrat == PARTITION_STRATEGY_RANGE &&
			form->partattrs.values[0] > InvalidAttrNumber)
			key = get_attname(parent, form->partattrs.values[0], true);
		ReleaseSysCache(tuple);

		if (name == NULL || is_default || level >= MAX_LEVELS)
			return false;
		if (key != NULL && strcmp(key, name) == 0)
		{
			if (!read_range(child, &bounds))
				return false;
			range->lower = Max(range->lower, bounds.lower);
			range->upper = Min(range->upper, bounds.upper);
		}
		child = parent;
	}
	return true;
}

/* For qsort(): the range first that begins first. */
static int
compare_ranges(const void *a, const void *b)
{
	int64		lower_a = ((const IdRange *) a)->lower;
	int64		lower_b = ((const IdRange *) b)->lower;

	return (lower_a > lower_b) - (lower_a < lower_b);
}

/*
 * The first id from one on that there is no partition for; PG_INT64_MAX if there
 * is one for all.  *last becomes the range of the partition before it, if any.
 */
static int64
covered_up_to(const IdTable *table, int64 id, IdRange *last)
{
	int			room = 16;
	IdRange    *ranges = palloc(room * sizeof(IdRange));
	int			count = 0;
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	/* find_inheritance_children() fails if the table has been dropped. */
	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(table->relation));
	scan = systable_beginscan(inherits, InheritsParentIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (count == room)
		{
			room *= 2;
			ranges = repalloc_huge(ranges, room * sizeof(IdRange));
		}
		if (!form->inhdetachpending &&
			read_range(form->inhrelid, &ranges[count]) && ranges[count].upper > id)
			count++;
	}
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	qsort(ranges, count, sizeof(IdRange), compare_ranges);
	for (int i = 0; i < count && ranges[i].lower <= id; i++)
	{
		id = ranges[i].upper;
		*last = ranges[i];
	}
	return id;
}

/* The time of an id, as a Datum; null if timestamptz cannot hold it. */
static Datum
time_of(const FlakeLayout *layout, int64 id, bool *isnull)
{
	TimestampTz ts = 0;

	*isnull = id == PG_INT64_MAX ||
		!flake_layout_tick_start(layout, flake_layout_tick(layout, id), &ts);
	return TimestampTzGetDatum(ts);
}

/*
 * Adds the row of a table, unless it has partitions for all ids that can get
 * to it from the present on.
 */
static void
add_row(ReturnSetInfo *result, const IdTable *table, bool has_default)
{
	const FlakeLayout *layout = &table->layout;
	int64		tick = flake_layout_tick_at(layout, GetCurrentTimestamp());
	IdRange		wanted;
	IdRange		last = {0};
	int64		end;
	int64		present;
	Datum		values[5];
	bool		nulls[5] = {false};

	if (tick > flake_layout_max_tick(layout))
		return;					/* there are no more ids */
	tick = Max(tick, flake_layout_min_tick(layout));
	present = flake_layout_id(layout, flake_layout_pack(layout, tick, 0), 0);
	wanted.lower = present;
	wanted.upper = PG_INT64_MAX;
	if (!narrow(table, &wanted) || wanted.lower >= wanted.upper)
		return;
	end = covered_up_to(table, wanted.lower, &last);
	if (end >= wanted.upper)
		return;

	values[0] = ObjectIdGetDatum(table->relation);
	values[1] = time_of(layout, end, &nulls[1]);
	values[2] = time_of(layout, last.lower, &nulls[2]);
	nulls[2] |= end == wanted.lower;
	values[3] = BoolGetDatum(end == present);
	values[4] = BoolGetDatum(has_default);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * _flake_health_partitions()
 *	returns setof record (relation regclass, covered_until timestamptz,
 *	last_since timestamptz, lacks_present boolean, has_default boolean)
 *
 * The tables by range of ids with a time, that flake_id() or flake_uuidv7() mints by
 * default, which lack partitions from some time on; when the last partition before that begins,
 * if there is one; and whether they lack one for the present.
 */
Datum
flake_health_partitions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext table_context = AllocSetContextCreate(CurrentMemoryContext,
														"flakeid table",
														ALLOCSET_DEFAULT_SIZES);
	Relation	partitioned;
	SysScanDesc scan;
	HeapTuple	tuple;

	InitMaterializedSRF(fcinfo, 0);
	partitioned = table_open(PartitionedRelationId, AccessShareLock);
	scan = systable_beginscan(partitioned, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_partitioned_table form = (Form_pg_partitioned_table) GETSTRUCT(tuple);
		MemoryContext old_context = MemoryContextSwitchTo(table_context);
		IdTable		table;

		CHECK_FOR_INTERRUPTS();
		if (is_by_time(form, fcinfo->flinfo->fn_oid, &table))
			add_row(result, &table, OidIsValid(form->partdefid));
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(table_context);
	}
	systable_endscan(scan);
	table_close(partitioned, AccessShareLock);
	MemoryContextDelete(table_context);
	return (Datum) 0;
}
