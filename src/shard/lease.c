/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  SQL functions by which processes outside of the database, which mint in
 *	  their own memory, get shard numbers.
 *
 * A lease gives its owner the ids of one shard whose time is at or after
 * not_before and before expires_at.  Ids cannot repeat, because
 *
 *	L1	no two leases of a shard share an instant.  The lease of another owner
 *		begins only when the old one's expires_at and a margin have passed, and
 *		not before then.  This rests on the times alone, which are in the table:
 *		whatever clock a process has, it must not put another time in an id.
 *	L2	a lease that its owner takes again, or has given back, begins a margin
 *		after the present.  This, too, supposes that the old process has
 *		stopped, and that its clock was ahead by less than the margin.
 *	L3	this server does not mint a leased shard: it is detached (see fence.c),
 *		and the lease begins above what the server had minted.  This can be in
 *		the future, so no later lease of the shard begins earlier, either.
 *
 * The margin is flakeid.max_ahead.
 *
 * What is locked here others want, too, so flake_shard_map, which the creator of the
 * extension can keep locked, is waited for before that, or not at all; and a page of it
 * only for a limited time.
 *
 * Three locks keep the table right, always taken in this order and kept to the end
 * of the transaction: that of all other shards (see state.c), shared, so that nobody
 * detaches all at once meanwhile; the owner's, so that an owner has one lease; and
 * the shard's, so that a shard has one, its row is changed by one transaction at a
 * time, and L3 holds while it is.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "miscadmin.h"
#include "settings.h"
#include "shard/attach.h"
#include "shard/citus.h"
#include "shard/lease_row.h"
#include "shard/lease_search.h"
#include "shard/state.h"
#include "storage/lock.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_lease);
PG_FUNCTION_INFO_V1(flake_renew);
PG_FUNCTION_INFO_V1(flake_release);

/* A class of advisory locks that SQL functions (1, 2) and shards do not use. */
#define OWNER_LOCK_CLASS	0x0F1B

/*
 * The same owner must not get two shards at once.  Who may lease shards, too, must
 * not find another name with the same lock, and keep that: so the lock has 64 bits of
 * a cryptographic hash.
 */
static void
lock_owner(const LeaseRequest *request)
{
	text	   *name = cstring_to_text(psprintf("%u %s", request->sequence, request->owner));
	bytea	   *digest = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea,
															 PointerGetDatum(name)));
	uint32		hash[2];
	LOCKTAG		tag;

	memcpy(hash, VARDATA_ANY(digest), sizeof(hash));
	tag = flake_lock_tag(hash[0], hash[1], OWNER_LOCK_CLASS);
	(void) flake_lock_as_rows(&tag, ExclusiveLock, true);
}

static void
begin_request(LeaseRequest *request, const char *owner, Oid sequence, Oid function,
			  const char *function_name)
{
	if (*owner == '\0' || strlen(owner) > MAX_LEASE_OWNER_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("owner of a lease must have 1 to %d bytes", MAX_LEASE_OWNER_LEN)));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot lease a shard in a transaction that does not see what others have committed meanwhile"),
				 errhint("Use isolation level READ COMMITTED.")));
	request->layout = flake_shard_begin_change(sequence, function, function_name,
											   ACL_NO_RIGHTS)->layout;
	if (!flake_layout_has_time(&request->layout))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("generator \"%s\" has no time", get_rel_name(sequence)),
				 errdetail("A lease is for the ids of a time.")));
	request->map = NULL;
	request->function = function;
	request->sequence = sequence;
	request->owner = owner;
	request->margin_us = flake_max_ahead_us;
	lock_owner(request);
}

/* What finds the lease of an owner. */
static void
init_owner_keys(ScanKeyData keys[2], const LeaseRequest *request)
{
	flake_lease_init_generator_key(&keys[0], request->sequence);
	ScanKeyEntryInitialize(&keys[1], 0, LEASE_OWNER, BTEqualStrategyNumber,
						   InvalidOid, C_COLLATION_OID, F_TEXTEQ,
						   CStringGetTextDatum(request->owner));
}

/*
 * The role whose members may renew and release a lease.  ERROR 42501 if the
 * current user is none of them.
 */
static Oid
get_role(const LeaseRequest *request, const OwnTable *table, HeapTuple row)
{
	bool		isnull;
	const char *name = NameStr(*DatumGetName(heap_getattr(row, LEASE_ROLE,
														  RelationGetDescr(table->rel),
														  &isnull)));
	Oid			role = get_role_oid(name, true);

	/* Of a role that was dropped or renamed, a superuser can take it. */
	if (OidIsValid(role) ? !has_privs_of_role(GetUserId(), role) : !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the lease of owner \"%s\" belongs to role \"%s\"",
						request->owner, name),
				 errhint("Lease under another owner's name.")));
	return OidIsValid(role) ? role : GetUserId();
}

/*
 * Finds the owner's lease, over or not, and locks its shard.  ERROR 42501 if it
 * belongs to a role that the user is not a member of.
 */
static bool
find_own(const LeaseRequest *request, Lease *lease)
{
	OwnTable	table = flake_own_table_open(LEASES, request->function, AccessShareLock);
	ScanKeyData keys[2];
	bool		is_locked = false;
	bool		found;

	*lease = (Lease)
	{
		0
	};
	init_owner_keys(keys, request);
	for (;;)
	{
		HeapTuple	row = flake_own_table_find(&table, table.second_index, 2, keys);
		int32		locked_shard = lease->shard;

		found = row != NULL;
		if (found)
		{
			*lease = flake_lease_get(&table, row);
			lease->role = get_role(request, &table, row);
		}
		if (is_locked && (!found || lease->shard != locked_shard))
		{
			/* While we waited, the shard was taken from the owner. */
			flake_shard_unlock(request->sequence, locked_shard, FLAKE_CHANGE_LEASE);
			is_locked = false;
		}
		if (!found || is_locked)
			break;
		(void) flake_shard_lock(request->sequence, lease->shard,
								FLAKE_CHANGE_LEASE, true);
		is_locked = true;
	}
	flake_own_table_close(&table);
	return found;
}

/*
 * The same, and the shard may be minted elsewhere by now: flake_shard_map has it, or
 * it is for a group of Citus (C3).
 */
static bool
is_taken_back(const LeaseRequest *request, const Lease *lease)
{
	return flake_lease_is_lapsed(request, lease) &&
		(flake_map_has(request->map, lease->shard) ||
		 flake_citus_is_for_group(flake_citus_node(), &request->layout, lease->shard));
}

/* The time that is ttl after another; ERROR 22023 if ttl is not positive. */
static TimestampTz
add_ttl(TimestampTz from, Interval *ttl)
{
	TimestampTz end = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
															  TimestampTzGetDatum(from),
															  IntervalPGetDatum(ttl)));

	if (end <= from || TIMESTAMP_NOT_FINITE(end))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the time of a lease must be positive and finite")));
	return end;
}

/* Raises ERROR 42704. */
pg_noreturn static void
no_lease(const LeaseRequest *request)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("owner \"%s\" has no lease", request->owner),
			 errdetail("If there was one, it has expired, and its shard was given to another owner or taken back."),
			 errhint("Lease a shard with flake_lease().")));
}

/*
 * Writes the lease: a new row, or that of the shard, which is locked.  ERROR 42704
 * if somebody has deleted that by hand.
 */
static void
store(const LeaseRequest *request, const Lease *lease, bool is_new)
{
	OwnTable	table;
	ScanKeyData keys[2];
	HeapTuple	row;
	NameData	role = {{0}};
	Datum		values[LEASE_COLUMNS];
	bool		nulls[LEASE_COLUMNS] = {false};

	/* L3 */
	if (!flake_shard_is_detached(request->sequence, lease->shard, request->function))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d is leased, but not detached", lease->shard),
				 errdetail("Its row in \"flake_shard_state\" was changed by hand."),
				 errhint("Detach it with flake_detach() when the lease is over.")));

	namestrcpy(&role, GetUserNameFromId(lease->role, false));
	values[LEASE_GENERATOR - 1] = ObjectIdGetDatum(request->sequence);
	values[LEASE_SHARD - 1] = Int32GetDatum(lease->shard);
	values[LEASE_OWNER - 1] = CStringGetTextDatum(request->owner);
	values[LEASE_ROLE - 1] = NameGetDatum(&role);
	values[LEASE_NOT_BEFORE - 1] = TimestampTzGetDatum(lease->not_before);
	values[LEASE_EXPIRES_AT - 1] = TimestampTzGetDatum(lease->expires_at);
	values[LEASE_RENEWED_AT - 1] = TimestampTzGetDatum(lease->renewed_at);

	table = flake_own_table_open(LEASES, request->function, RowExclusiveLock);
	flake_lease_init_shard_keys(keys, request->sequence, lease->shard);
	row = flake_own_table_lock(&table, table.index, 2, keys, LockWaitBlock);
	if (row != NULL)
		flake_own_table_update(&table, row, values, nulls);
	else if (is_new)
		flake_own_table_insert(&table, values, nulls);
	else
		no_lease(request);
	flake_own_table_close(&table);
}

/*
 * flake_lease(owner text, ttl interval, generator regclass)
 *	returns record (shard, not_before, expires_at)
 */
Datum
flake_lease(PG_FUNCTION_ARGS)
{
	char	   *owner = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Interval   *ttl = PG_GETARG_INTERVAL_P(1);
	Oid			sequence = PG_GETARG_OID(2);
	LeaseRequest request;
	Lease		lease;
	bool		is_own;
	bool		is_new = false;
	int64		tick;
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	flake_citus_check_lease();

	/*
	 * The creator of the extension can keep it locked, and here nothing is
	 * yet.
	 */
	(void) flake_own_table_keep(SHARD_MAP, fcinfo->flinfo->fn_oid, AccessShareLock, true);
	begin_request(&request, owner, sequence, fcinfo->flinfo->fn_oid, "flake_lease()");

	is_own = find_own(&request, &lease);

	/* Both may have waited for a transaction of the same owner. */
	request.now = GetCurrentTimestamp();
	if (!is_own || flake_lease_is_lapsed(&request, &lease))
		request.map = flake_map_read(request.function);
	if (is_own && is_taken_back(&request, &lease) &&
		flake_shard_is_detached(sequence, lease.shard, request.function))
	{
		flake_shard_take_back(sequence, lease.shard, request.function);
		is_own = false;
	}
	if (is_own)
	{
		TimestampTz after;

		/* L2, L3 */
		lease.renewed_at = Max(request.now, lease.renewed_at);
		after = flake_lease_later(Min(lease.renewed_at, lease.expires_at), request.margin_us);
		lease.not_before = Max(lease.not_before, Max(lease.renewed_at, after));
	}
	else if (!flake_lease_find_lapsed(&request, &lease))
	{
		is_new = flake_lease_find_new(&request, &lease);
		if (!is_new)
			flake_lease_none_left(&request);
	}

	/* Begin with a tick, so that all of it is the new owner's. */
	tick = flake_layout_tick_at(&request.layout, lease.not_before - 1) + 1;
	if (tick < flake_layout_min_tick(&request.layout) ||
		tick > flake_layout_max_tick(&request.layout) ||
		!flake_layout_tick_start(&request.layout, tick, &lease.not_before))
		flake_lifetime_is_over(&request.layout, tick);
	lease.expires_at = Max(lease.expires_at, add_ttl(lease.not_before, ttl));
	store(&request, &lease, is_new);

	values[0] = Int32GetDatum(lease.shard);
	values[1] = TimestampTzGetDatum(lease.not_before);
	values[2] = TimestampTzGetDatum(lease.expires_at);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* flake_renew(owner text, ttl interval, generator regclass) returns timestamptz */
Datum
flake_renew(PG_FUNCTION_ARGS)
{
	char	   *owner = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Interval   *ttl = PG_GETARG_INTERVAL_P(1);
	LeaseRequest request;
	Lease		lease;
	bool		is_own;

	begin_request(&request, owner, PG_GETARG_OID(2), fcinfo->flinfo->fn_oid,
				  "flake_renew()");
	is_own = find_own(&request, &lease);
	request.now = GetCurrentTimestamp();
	if (is_own && flake_lease_is_lapsed(&request, &lease))
	{
		if (!flake_own_table_keep(SHARD_MAP, request.function, AccessShareLock, false))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not obtain lock on relation \"%s\"", "flake_shard_map"),
					 errdetail("The lease of owner \"%s\" has expired, and that table says whether it can be renewed.",
							   request.owner),
					 errhint("Try again, or lease a shard with flake_lease().")));
		request.map = flake_map_read(request.function);
	}
	if (!is_own || is_taken_back(&request, &lease) ||
		flake_citus_is_for_group(flake_citus_node(), &request.layout, lease.shard))
		no_lease(&request);
	lease.renewed_at = Max(request.now, lease.renewed_at);
	lease.expires_at = Max(lease.expires_at, add_ttl(lease.renewed_at, ttl));
	store(&request, &lease, false);
	PG_RETURN_TIMESTAMPTZ(lease.expires_at);
}

/*
 * flake_release(owner text, generator regclass) returns boolean
 *
 * Whether there was a lease that had not expired.
 */
Datum
flake_release(PG_FUNCTION_ARGS)
{
	LeaseRequest request;
	Lease		lease;
	TimestampTz now;

	begin_request(&request, text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_OID(1),
				  fcinfo->flinfo->fn_oid, "flake_release()");
	if (!find_own(&request, &lease))
		PG_RETURN_BOOL(false);
	now = Max(GetCurrentTimestamp(), lease.renewed_at);
	if (lease.expires_at <= now)
		PG_RETURN_BOOL(false);
	lease.expires_at = now;
	lease.renewed_at = now;		/* the latest time known, see L2 */
	store(&request, &lease, false);
	PG_RETURN_BOOL(true);
}
