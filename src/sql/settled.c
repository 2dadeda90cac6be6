/*-------------------------------------------------------------------------
 *
 * settled.c
 *	  SQL functions that say up to where ids are settled, and who holds that back.
 *	  The work is done in mint/settled.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/generator.h"
#include "mint/holders.h"
#include "mint/settled.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "nodes/supportnodes.h"
#include "sql/uuidv7.h"
#include "sql/wide.h"
#include "storage/lmgr.h"
#include "trust/relation.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(flake_settled);
PG_FUNCTION_INFO_V1(flake_settled_of_shard);
PG_FUNCTION_INFO_V1(flake_settled_uuid);
PG_FUNCTION_INFO_V1(flake_settled_objectid);
PG_FUNCTION_INFO_V1(flake_settled_uuidv7);
PG_FUNCTION_INFO_V1(flake_settled_support);
PG_FUNCTION_INFO_V1(flake_tail);
PG_FUNCTION_INFO_V1(flake_tail_of_shard);
PG_FUNCTION_INFO_V1(flake_holders_of_database);

/* The generator of a call; one of bigint ids. */
static Generator *
get_generator(FunctionCallInfo fcinfo, int argument)
{
	Generator  *generator;

	/* A standby does not know what its primary hands out. */
	PreventCommandDuringRecovery("flake_settled()");
	generator = flake_generator_read(PG_GETARG_OID(argument), fcinfo->flinfo->fn_oid);
	if (generator->key == FLAKE_UUID || generator->key == FLAKE_OBJECTID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("ids of generator \"%s\" are not of type bigint",
						get_rel_name(generator->sequence)),
				 errhint("Use flake_settled_uuid() or flake_settled_objectid().")));
	return generator;
}

/* ERROR unless the generator has one bound for all shards. */
static void
check_has_bound(const Generator *generator)
{
	if (!flake_layout_has_time(&generator->layout) &&
		flake_layout_max_shard(&generator->layout) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("generator \"%s\" has no bound for all shards",
						get_rel_name(generator->sequence)),
				 errdetail("Its ids have no time, so each shard counts for itself."),
				 errhint("Name the shard: flake_settled(generator, shard), flake_tail(after, generator, shard).")));
}

/* The last id of a packed value. */
static int64
id_of(const FlakeLayout *layout, int32 shard, int64 packed)
{
	if (flake_layout_has_time(layout))
		return flake_layout_last_id(layout, packed);
	return flake_layout_id(layout, packed, flake_layout_shard_image(layout, shard));
}

/* flake_settled(generator regclass) returns bigint */
Datum
flake_settled(PG_FUNCTION_ARGS)
{
	Generator  *generator = get_generator(fcinfo, 0);
	SettledBound bound;

	check_has_bound(generator);
	bound = flake_settled_find(generator, 0);
	if (!bound.is_known)
		PG_RETURN_NULL();
	PG_RETURN_INT64(id_of(&generator->layout, 0, bound.bound));
}

/* flake_settled(generator regclass, shard int) returns bigint */
Datum
flake_settled_of_shard(PG_FUNCTION_ARGS)
{
	Generator  *generator = get_generator(fcinfo, 0);
	int32		shard = PG_GETARG_INT32(1);
	SettledBound bound;

	flake_generator_check_shard(&generator->layout, shard);
	bound = flake_settled_find(generator, shard);
	if (!bound.is_known)
		PG_RETURN_NULL();
	PG_RETURN_INT64(id_of(&generator->layout, shard, bound.bound));
}

/* The bound for a reader who has read up to an id. */
static Datum
tail(FunctionCallInfo fcinfo, Generator *generator, int32 shard)
{
	int64		after = PG_GETARG_INT64(0);
	const FlakeLayout *layout = &generator->layout;
	SettledBound bound = flake_settled_find(generator, shard);

	if (bound.any_is_known && after > id_of(layout, shard, bound.latest))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("id %lld of generator \"%s\" is above all that is settled",
						(long long) after, get_rel_name(generator->sequence)),
				 errdetail("Ids are settled up to %lld, and nobody was told of more.",
						   (long long) id_of(layout, shard, bound.latest)),
				 errhint("Give the last id that was read of this generator on this server. If it was, flake_rewind() has set the generator back, or a failover has lost ids: find out what was missed, and read on from there.")));
	if (!bound.is_known)
		PG_RETURN_NULL();
	PG_RETURN_INT64(id_of(layout, shard, bound.bound));
}

/* flake_tail(after bigint, generator regclass) returns bigint */
Datum
flake_tail(PG_FUNCTION_ARGS)
{
	Generator  *generator = get_generator(fcinfo, 1);

	check_has_bound(generator);
	return tail(fcinfo, generator, 0);
}

/* flake_tail(after bigint, generator regclass, shard int) returns bigint */
Datum
flake_tail_of_shard(PG_FUNCTION_ARGS)
{
	Generator  *generator = get_generator(fcinfo, 1);
	int32		shard = PG_GETARG_INT32(2);

	flake_generator_check_shard(&generator->layout, shard);
	return tail(fcinfo, generator, shard);
}

/* The bound of a generator of wide ids; false if none is known. */
static bool
find_wide_bound(Oid key, FunctionCallInfo fcinfo, int64 *tick)
{
	Generator  *generator;
	SettledBound bound;

	PreventCommandDuringRecovery("flake_settled()");
	generator = flake_generator_read(flake_generator_sequence(key, fcinfo->flinfo->fn_oid),
									 fcinfo->flinfo->fn_oid);
	bound = flake_settled_find(generator, FLAKE_EVERY_SHARD);
	*tick = flake_layout_packed_tick(&generator->layout, bound.bound);
	return bound.is_known;
}

/* flake_settled_uuid() returns uuid */
Datum
flake_settled_uuid(PG_FUNCTION_ARGS)
{
	int64		tick;

	if (!find_wide_bound(FLAKE_UUID, fcinfo, &tick))
		PG_RETURN_NULL();
	PG_RETURN_UUID_P(flake_last_uuid(tick));
}

/* flake_settled_objectid() returns text */
Datum
flake_settled_objectid(PG_FUNCTION_ARGS)
{
	int64		tick;

	if (!find_wide_bound(FLAKE_OBJECTID, fcinfo, &tick))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(flake_last_objectid(tick));
}

/* flake_settled_uuidv7(generator regclass) returns uuid */
Datum
flake_settled_uuidv7(PG_FUNCTION_ARGS)
{
	Generator  *generator = get_generator(fcinfo, 0);
	SettledBound bound;

	if (!flake_layout_is_uuid(&generator->layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of generator \"%s\" are not UUIDs of version 7",
						get_rel_name(generator->sequence)),
				 errhint("Use flake_settled().")));
	bound = flake_settled_find(generator, FLAKE_EVERY_SHARD);
	if (!bound.is_known)
		PG_RETURN_NULL();
	PG_RETURN_UUID_P(flake_last_uuidv7(bound.bound));
}

/* Whether this transaction has changed the sequence, and cannot ask before it commits. */
static bool
has_new_file(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);
	bool		result = flake_has_new_file(rel);

	relation_close(rel, NoLock);
	return result;
}

/*
 * Finds a bound while a statement is planned, so that there is one when it takes
 * its snapshot (S5).  What is wrong with the call is for the call to say.
 */
static void
find_early(const FuncExpr *call)
{
	Oid			sequence;
	FlakeLayout layout;

	if (call->args == NIL || !IsA(llast(call->args), Const) ||
		((Const *) llast(call->args))->consttype != REGCLASSOID ||
		((Const *) llast(call->args))->constisnull)
		return;
	sequence = DatumGetObjectId(((Const *) llast(call->args))->constvalue);

	/* The lock is the one that the call takes: it is not waited for here. */
	if (flake_function_aclcheck(call->funcid, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK ||
		RecoveryInProgress() || IsInParallelMode() ||
		!ConditionalLockRelationOid(sequence, RowExclusiveLock))
		return;
	if (flake_generator_layout(sequence, call->funcid, true, &layout) &&
		flake_layout_has_time(&layout) && !has_new_file(sequence) &&
		pg_class_aclcheck(sequence, GetUserId(), FLAKE_READ_PRIVILEGES) == ACLCHECK_OK)
	{
		Generator  *generator = flake_generator_read(sequence, call->funcid);

		(void) flake_settled_find(generator, FLAKE_EVERY_SHARD);
	}
	UnlockRelationOid(sequence, RowExclusiveLock);
}

/* _flake_settled_support(internal) returns internal */
Datum
flake_settled_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
		find_early(((SupportRequestSimplify *) request)->fcall);
	PG_RETURN_POINTER(NULL);
}

#define HOLDER_COLUMNS	8

/*
 * _flake_holders()
 *	returns setof record (generator regclass, shard int, pid int, xid xid,
 *	since timestamptz, from_id bigint, from_time timestamptz, is_asked boolean)
 */
Datum
flake_holders_of_database(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			function = fcinfo->flinfo->fn_oid;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, flake_holders_list())
	{
		HolderInfo *info = lfirst(lc);
		Datum		values[HOLDER_COLUMNS] = {0};
		bool		nulls[HOLDER_COLUMNS] = {false};
		Oid			sequence = InvalidOid;
		FlakeLayout layout;
		bool		is_wide = info->key.generator == FLAKE_UUID ||
		info->key.generator == FLAKE_OBJECTID;
		int64		from = info->above + 1;
		TimestampTz from_time = 0;

		CHECK_FOR_INTERRUPTS();
		if (!info->overflow)
		{
			sequence = flake_generator_sequence(info->key.generator, function);
			if (!flake_generator_layout(sequence, function, true, &layout))
				continue;		/* dropped by the one who holds it */
		}
		nulls[0] = info->overflow;
		values[0] = ObjectIdGetDatum(sequence);
		nulls[1] = info->overflow || info->key.shard == FLAKE_EVERY_SHARD;
		values[1] = Int32GetDatum(info->key.shard);
		nulls[2] = info->pid == 0;
		values[2] = Int32GetDatum(info->pid);
		nulls[3] = !TransactionIdIsValid(info->xid);
		values[3] = TransactionIdGetDatum(info->xid);
		nulls[4] = info->since == 0;
		values[4] = TimestampTzGetDatum(info->since);
		nulls[5] = nulls[6] = true;
		values[7] = BoolGetDatum(flake_settled_is_asked(info));
		if (!info->overflow && info->above != FLAKE_PACKED_NONE &&
			from >= flake_layout_min_packed(&layout) &&
			from <= flake_layout_max_packed(&layout))
		{
			nulls[5] = is_wide;
			values[5] = Int64GetDatum(flake_layout_id(&layout, from,
													  nulls[1] ? 0 : flake_layout_shard_image(&layout, info->key.shard)));
			nulls[6] = !flake_layout_has_time(&layout) ||
				!flake_layout_tick_start(&layout, flake_layout_packed_tick(&layout, from),
										 &from_time);
			values[6] = TimestampTzGetDatum(from_time);
		}
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
