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
 *	L3	this server does not mint a leased shard: it is detached (see shard.c),
 *		and the lease begins above what the server had minted.  This can be in
 *		the future, so no later lease of the shard begins earlier, either.
 *
 * The margin is flakeid.max_ahead.
 *
 * Who leases for the first time gets the shard whose lease has been over for
 * the longest time, or else the highest that is not in use: not minted since
 * the server started, neither detached nor attached, not in flake_shard_map.
 * Both are taken without waiting for others who are leasing, so that a
 * transaction that stays open keeps nothing but its own shard from them.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "admin.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "flakeid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout_type.h"
#include "lease.h"
#include "miscadmin.h"
#include "own_table.h"
#include "shard.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(flake_lease);
PG_FUNCTION_INFO_V1(flake_renew);
PG_FUNCTION_INFO_V1(flake_release);

#define MAX_OWNER_LEN	255		/* bytes */

/* A class of advisory locks that SQL functions (1, 2) and shards do not use. */
#define OWNER_LOCK_CLASS	0x0F1B

/* A row of the table flake_leases, but for generator and owner. */
typedef struct Lease
{
	int32		shard;
	Oid			role;			/* whose members renew and release it */
	TimestampTz not_before;
	TimestampTz expires_at;
	TimestampTz renewed_at;		/* when it was last leased or renewed */
} Lease;

/* What the three functions have in common. */
typedef struct Request
{
	Oid			function;
	Oid			sequence;
	Oid			table;
	char	   *table_name;
	const char *owner;
	FlakeLayout layout;
	TimestampTz now;			/* after waiting for others, if at all */
	int64		margin_us;
} Request;

static void
begin_request(Request *request, const char *owner, Oid sequence, Oid function,
			  const char *function_name)
{
	if (*owner == '\0' || strlen(owner) > MAX_OWNER_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("owner of a lease must have 1 to %d bytes", MAX_OWNER_LEN)));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot lease a shard in a transaction that does not see what others have committed meanwhile"),
				 errhint("Use isolation level READ COMMITTED.")));
	request->layout = flake_shard_begin_change(sequence, function, function_name)->layout;
	if (!flake_layout_has_time(&request->layout))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("generator \"%s\" has no time", get_rel_name(sequence)),
				 errdetail("A lease is for the ids of a time.")));
	request->function = function;
	request->sequence = sequence;
	request->table = flake_own_relation(LEASE_TABLE, function);
	request->table_name = flake_own_relation_name(LEASE_TABLE, function);
	request->owner = owner;
	request->margin_us = flake_max_ahead_ms * INT64CONST(1000);
}

/* A column of the first row that was found. */
static Datum
result(int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
									  column, &isnull);

	Assert(!isnull);
	return value;
}

/*
 * Finds the owner's lease, over or not, and keeps others from changing it.
 * ERROR 42501 if it belongs to a role that the user is not a member of.
 */
static bool
find_own(const Request *request, Lease *lease)
{
	Oid			types[] = {OIDOID, TEXTOID};
	Datum		values[] = {
		ObjectIdGetDatum(request->sequence),
		CStringGetTextDatum(request->owner)
	};
	bool		found;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = flake_execute_as_owner(request->table,
								   psprintf("SELECT shard, role, not_before, expires_at, renewed_at FROM %s"
											" WHERE generator OPERATOR(pg_catalog.=) $1"
											" AND owner OPERATOR(pg_catalog.=) $2 FOR UPDATE",
											request->table_name),
								   lengthof(types), types, values, NULL) > 0;
	if (found)
	{
		Name		role = DatumGetName(result(2));
		Oid			role_oid = get_role_oid(NameStr(*role), true);

		/* Of a role that was dropped or renamed, a superuser can take it. */
		if (OidIsValid(role_oid) ? !has_privs_of_role(GetUserId(), role_oid)
			: !superuser())
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("the lease of owner \"%s\" belongs to role \"%s\"",
							request->owner, NameStr(*role)),
					 errhint("Lease under another owner's name.")));
		lease->role = OidIsValid(role_oid) ? role_oid : GetUserId();
		lease->shard = DatumGetInt32(result(1));
		lease->not_before = DatumGetTimestampTz(result(3));
		lease->expires_at = DatumGetTimestampTz(result(4));
		lease->renewed_at = DatumGetTimestampTz(result(5));
	}
	SPI_finish();
	return found;
}

/* Finds the lease that has been over for the longest time, to take it over. */
static bool
find_lapsed(const Request *request, Lease *lease)
{
	Oid			types[] = {OIDOID, TIMESTAMPTZOID};
	Datum		values[] = {
		ObjectIdGetDatum(request->sequence),
		TimestampTzGetDatum(request->now - request->margin_us)
	};
	bool		found;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = flake_execute_as_owner(request->table,
								   psprintf("SELECT shard, expires_at, not_before FROM %s"
											" WHERE generator OPERATOR(pg_catalog.=) $1"
											" AND expires_at OPERATOR(pg_catalog.<=) $2"
											" ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED",
											request->table_name),
								   lengthof(types), types, values, NULL) > 0;
	if (found)
	{
		lease->shard = DatumGetInt32(result(1));
		lease->role = GetUserId();
		lease->renewed_at = request->now;

		/* L1, L3 */
		lease->expires_at = DatumGetTimestampTz(result(2));
		lease->not_before = Max(DatumGetTimestampTz(result(3)),
								lease->expires_at + request->margin_us);
		lease->not_before = Max(lease->not_before, request->now);
	}
	SPI_finish();
	return found;
}

/* Takes the highest shard from lower up to upper that is not in use. */
static bool
take_unused(const Request *request, int32 lower, int32 upper, Lease *lease)
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

/*
 * Finds a shard that is not in use, and reserves it.  As a layout can have
 * 2^31 shards, it is the gaps between those in the tables that are gone through.
 */
static bool
find_new(const Request *request, Lease *lease)
{
	int32		max_shard = flake_layout_max_shard(&request->layout);
	Oid			types[] = {OIDOID, INT4OID};
	Datum		values[] = {
		ObjectIdGetDatum(request->sequence),
		Int32GetDatum(max_shard)
	};
	uint64		count;
	SPITupleTable *gaps;
	bool		found = false;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");

	/* In bigint, because an int4range has no end behind the last int. */
	count = flake_execute_as_owner(request->table,
								   psprintf("SELECT pg_catalog.lower(g)::pg_catalog.int4,"
											" (pg_catalog.upper(g) OPERATOR(pg_catalog.-) 1)::pg_catalog.int4"
											" FROM pg_catalog.unnest(pg_catalog.int8multirange(pg_catalog.int8range(0, $2, '[]'))"
											" OPERATOR(pg_catalog.-) coalesce((SELECT pg_catalog.range_agg(u.used) FROM"
											" (SELECT pg_catalog.int8range(t.shard, t.shard, '[]') FROM %s t"
											" WHERE t.generator OPERATOR(pg_catalog.=) $1 UNION ALL"
											" SELECT pg_catalog.int8range(pg_catalog.lower(m.shards), pg_catalog.upper(m.shards))"
											" FROM %s m) AS u (used)), '{}')) AS g"
											" ORDER BY 1 DESC",
											flake_own_relation_name("flake_shard_state", request->function),
											flake_own_relation_name("flake_shard_map", request->function)),
								   lengthof(types), types, values, NULL);
	gaps = SPI_tuptable;
	for (uint64 i = 0; i < count && !found; i++)
	{
		bool		isnull;
		int32		lower = DatumGetInt32(SPI_getbinval(gaps->vals[i], gaps->tupdesc, 1, &isnull));
		int32		upper = DatumGetInt32(SPI_getbinval(gaps->vals[i], gaps->tupdesc, 2, &isnull));

		found = take_unused(request, lower, upper, lease);
	}
	SPI_finish();
	return found;
}

/* Raises ERROR 53400: there is no shard to lease. */
static void
none_left(const Request *request)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(request->sequence)};
	TimestampTz next = DT_NOEND;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (flake_execute_as_owner(request->table,
							   psprintf("SELECT expires_at FROM %s WHERE generator OPERATOR(pg_catalog.=) $1"
										" ORDER BY expires_at LIMIT 1", request->table_name),
							   lengthof(types), types, values, NULL) > 0)
		next = DatumGetTimestampTz(result(1)) + request->margin_us;
	SPI_finish();
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

/* Writes the lease: a new row, or that of the shard. */
static void
store(const Request *request, const Lease *lease)
{
	Oid			types[] = {OIDOID, INT4OID, TEXTOID, NAMEOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID};
	NameData	role = {{0}};
	Datum		values[] = {
		ObjectIdGetDatum(request->sequence),
		Int32GetDatum(lease->shard),
		CStringGetTextDatum(request->owner),
		NameGetDatum(&role),
		TimestampTzGetDatum(lease->not_before),
		TimestampTzGetDatum(lease->expires_at),
		TimestampTzGetDatum(lease->renewed_at)
	};

	namestrcpy(&role, GetUserNameFromId(lease->role, false));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");

	/* No row is written if session_replication_role is replica. */
	if (flake_execute_as_owner(request->table,
							   psprintf("INSERT INTO %s VALUES ($1, $2, $3, $4, $5, $6, $7)"
										" ON CONFLICT ON CONSTRAINT flake_leases_pkey DO UPDATE SET owner = excluded.owner,"
										" role = excluded.role, not_before = excluded.not_before,"
										" expires_at = excluded.expires_at, renewed_at = excluded.renewed_at",
										request->table_name),
							   lengthof(types), types, values, NULL) != 1)
		elog(ERROR, "could not write the lease of shard %d", lease->shard);
	SPI_finish();
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
	Request		request;
	Lease		lease;
	LOCKTAG		tag;
	bool		is_own;
	int64		tick;
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	begin_request(&request, owner, sequence, fcinfo->flinfo->fn_oid, "flake_lease()");

	/* The same owner must not get two shards at once. */
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, sequence,
						 hash_bytes((unsigned char *) owner, (int) strlen(owner)),
						 OWNER_LOCK_CLASS);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	is_own = find_own(&request, &lease);

	/* Both may have waited for a transaction of the same owner. */
	request.now = GetCurrentTimestamp();
	if (is_own)
	{
		TimestampTz after;

		/* L2, L3 */
		lease.renewed_at = Max(request.now, lease.renewed_at);
		after = Min(lease.renewed_at, lease.expires_at) + request.margin_us;
		lease.not_before = Max(lease.not_before, Max(lease.renewed_at, after));
	}
	else if (!find_lapsed(&request, &lease) && !find_new(&request, &lease))
		none_left(&request);

	/* Begin with a tick, so that all of it is the new owner's. */
	tick = flake_layout_tick_at(&request.layout, lease.not_before - 1) + 1;
	if (tick < flake_layout_min_tick(&request.layout) ||
		tick > flake_layout_max_tick(&request.layout) ||
		!flake_layout_tick_start(&request.layout, tick, &lease.not_before))
		flake_lifetime_is_over(&request.layout, tick);
	lease.expires_at = Max(lease.expires_at, add_ttl(lease.not_before, ttl));
	store(&request, &lease);

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
	Request		request;
	Lease		lease;

	begin_request(&request, owner, PG_GETARG_OID(2), fcinfo->flinfo->fn_oid,
				  "flake_renew()");
	if (!find_own(&request, &lease))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("owner \"%s\" has no lease", owner),
				 errdetail("If there was one, it has expired, and its shard was given to another owner or taken back."),
				 errhint("Lease a shard with flake_lease().")));
	lease.renewed_at = Max(GetCurrentTimestamp(), lease.renewed_at);
	lease.expires_at = Max(lease.expires_at, add_ttl(lease.renewed_at, ttl));
	store(&request, &lease);
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
	Request		request;
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
	store(&request, &lease);
	PG_RETURN_BOOL(true);
}

bool
flake_lease_end(Oid sequence, int32 shard, Oid function, TimestampTz *upto)
{
	Oid			types[] = {OIDOID, INT4OID};
	Datum		values[] = {
		ObjectIdGetDatum(sequence),
		Int32GetDatum(shard)
	};
	bool		found;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = flake_execute_as_owner(flake_own_relation(LEASE_TABLE, function),
								   psprintf("DELETE FROM %s WHERE generator OPERATOR(pg_catalog.=) $1"
											" AND shard OPERATOR(pg_catalog.=) $2 RETURNING owner, expires_at",
											flake_own_relation_name(LEASE_TABLE, function)),
								   lengthof(types), types, values, NULL) > 0;
	if (found)
	{
		*upto = DatumGetTimestampTz(result(2)) + flake_max_ahead_ms * INT64CONST(1000);
		if (*upto > GetCurrentTimestamp())
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("shard %d is leased to owner \"%s\"", shard,
							TextDatumGetCString(result(1))),
					 errdetail("It can be taken back at %s.", timestamptz_to_str(*upto)),
					 errhint("The owner can give it back earlier with flake_release().")));
	}
	SPI_finish();
	return found;
}
