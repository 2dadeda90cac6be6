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
 * A new owner gets the shard whose lease has been over for the longest time, or
 * else the highest that is not in use: not minted since the server started, neither
 * detached nor attached.  What flake_shard_map has is left out; nor does an owner
 * whose lease is over get such a shard back.  Both are taken without waiting for
 * others who are leasing, so that a transaction that stays open keeps nothing but
 * its own shard from them.
 *
 * Two locks keep the table right, always taken in this order and kept to the end
 * of the transaction: the owner's, so that an owner has one lease; and the
 * shard's (see shard.c), so that a shard has one, its row is changed by one
 * transaction at a time, and L3 holds while it is.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "miscadmin.h"
#include "settings.h"
#include "shard/lease.h"
#include "shard/route.h"
#include "shard/shard.h"
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
	const char *owner;
	FlakeLayout layout;
	TimestampTz now;			/* after waiting for others, if at all */
	int64		margin_us;
} Request;

/* The same owner must not get two shards at once. */
static void
lock_owner(const Request *request)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, request->sequence,
						 hash_bytes((const unsigned char *) request->owner,
									(int) strlen(request->owner)),
						 OWNER_LOCK_CLASS);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

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
	request->owner = owner;
	request->margin_us = flake_max_ahead_ms * INT64CONST(1000);
	lock_owner(request);
}

/* An instant that is later by so much; timestamps end, and so does this. */
static TimestampTz
later(TimestampTz ts, int64 us)
{
	TimestampTz sum;

	if (pg_add_s64_overflow(ts, us, &sum) || sum >= END_TIMESTAMP)
		return END_TIMESTAMP - 1;
	return sum;
}

static void
init_generator_key(ScanKeyData *key, Oid sequence)
{
	ScanKeyInit(key, LEASE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
}

/* What finds the lease of a shard. */
static void
init_shard_keys(ScanKeyData keys[2], Oid sequence, int32 shard)
{
	init_generator_key(&keys[0], sequence);
	ScanKeyInit(&keys[1], LEASE_SHARD, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(shard));
}

/* What finds the lease of an owner. */
static void
init_owner_keys(ScanKeyData keys[2], const Request *request)
{
	init_generator_key(&keys[0], request->sequence);
	ScanKeyEntryInitialize(&keys[1], 0, LEASE_OWNER, BTEqualStrategyNumber,
						   InvalidOid, C_COLLATION_OID, F_TEXTEQ,
						   CStringGetTextDatum(request->owner));
}

/* A row of the table, but for its owner and its role. */
static Lease
get_lease(const OwnTable *table, HeapTuple row)
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

/*
 * The role whose members may renew and release a lease.  ERROR 42501 if the
 * current user is none of them.
 */
static Oid
get_role(const Request *request, const OwnTable *table, HeapTuple row)
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
find_own(const Request *request, Lease *lease)
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
			*lease = get_lease(&table, row);
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

/* Whether a lease has been over for a margin, so that another can have the shard. */
static bool
is_lapsed(const Request *request, const Lease *lease)
{
	return later(lease->expires_at, request->margin_us) <= request->now;
}

/* The same, and flake_shard_map has the shard by now: it may be minted elsewhere. */
static bool
is_taken_back(const Request *request, const Lease *lease)
{
	return is_lapsed(request, lease) &&
		flake_map_has(lease->shard, request->function);
}

/* The leases that have been over for a margin, as they are now. */
static List *
list_lapsed(const Request *request, const OwnTable *table)
{
	List	   *leases = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	init_generator_key(&key, request->sequence);
	scan = systable_beginscan(table->rel, table->index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		Lease		lease = get_lease(table, row);

		if (is_lapsed(request, &lease))
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
take_lapsed(const Request *request, const OwnTable *table, Lease *lease)
{
	ScanKeyData keys[2];
	HeapTuple	row;

	if (flake_map_has(lease->shard, request->function) ||
		!flake_shard_lock(request->sequence, lease->shard, FLAKE_CHANGE_LEASE, false))
		return false;
	init_shard_keys(keys, request->sequence, lease->shard);
	row = flake_own_table_find(table, table->index, 2, keys);
	if (row != NULL)
	{
		*lease = get_lease(table, row);
		if (is_lapsed(request, lease) &&
			flake_shard_is_detached(request->sequence, lease->shard, request->function))
			return true;
	}
	flake_shard_unlock(request->sequence, lease->shard, FLAKE_CHANGE_LEASE);
	return false;
}

/* Finds the lease that has been over for the longest time, to take it over. */
static bool
find_lapsed(const Request *request, Lease *lease)
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
								later(lease->expires_at, request->margin_us));
		lease->not_before = Max(lease->not_before, request->now);
		break;
	}
	list_free_deep(leases);
	flake_own_table_close(&table);
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
used_ranges(const Request *request, int *count)
{
	OwnTable	states = flake_own_table_open(SHARD_STATE, request->function,
											  AccessShareLock);
	ShardRange *ranges = flake_map_ranges(request->function, count);
	int			room = *count;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, STATE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(request->sequence));
	scan = systable_beginscan(states.rel, states.index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		bool		isnull;
		int32		shard = DatumGetInt32(heap_getattr(row, STATE_SHARD,
													   RelationGetDescr(states.rel),
													   &isnull));

		if (*count >= room)
		{
			room = Max(2 * room, 64);
			ranges = repalloc_huge(ranges, room * sizeof(ShardRange));
		}
		ranges[*count].lower = shard;
		ranges[*count].upper = shard;
		(*count)++;
	}
	systable_endscan(scan);
	flake_own_table_close(&states);
	qsort(ranges, *count, sizeof(ShardRange), compare_ranges);
	return ranges;
}

/*
 * Finds a shard that is not in use, and reserves it.  As a layout can have
 * 2^31 shards, it is the gaps between those in the tables that are gone through.
 */
static bool
find_new(const Request *request, Lease *lease)
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

/* Raises ERROR 53400: there is no shard to lease. */
static void
none_left(const Request *request)
{
	OwnTable	table = flake_own_table_open(LEASES, request->function, AccessShareLock);
	TimestampTz next = DT_NOEND;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	init_generator_key(&key, request->sequence);
	scan = systable_beginscan(table.rel, table.index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
		next = Min(next, later(get_lease(&table, row).expires_at, request->margin_us));
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

/* Writes the lease: a new row, or that of the shard, which is locked. */
static void
store(const Request *request, const Lease *lease)
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
	init_shard_keys(keys, request->sequence, lease->shard);
	row = flake_own_table_lock(&table, table.index, 2, keys, LockWaitBlock);
	if (row != NULL)
		flake_own_table_update(&table, row, values, nulls);
	else
		flake_own_table_insert(&table, values, nulls);
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
	Request		request;
	Lease		lease;
	bool		is_own;
	int64		tick;
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	begin_request(&request, owner, sequence, fcinfo->flinfo->fn_oid, "flake_lease()");

	is_own = find_own(&request, &lease);

	/* Both may have waited for a transaction of the same owner. */
	request.now = GetCurrentTimestamp();
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
		after = later(Min(lease.renewed_at, lease.expires_at), request.margin_us);
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
	bool		is_own;

	begin_request(&request, owner, PG_GETARG_OID(2), fcinfo->flinfo->fn_oid,
				  "flake_renew()");
	is_own = find_own(&request, &lease);
	request.now = GetCurrentTimestamp();
	if (!is_own || is_taken_back(&request, &lease))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("owner \"%s\" has no lease", owner),
				 errdetail("If there was one, it has expired, and its shard was given to another owner or taken back."),
				 errhint("Lease a shard with flake_lease().")));
	lease.renewed_at = Max(request.now, lease.renewed_at);
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
	OwnTable	table = flake_own_table_open(LEASES, function, RowExclusiveLock);
	ScanKeyData keys[2];
	HeapTuple	row;

	init_shard_keys(keys, sequence, shard);
	row = flake_own_table_lock(&table, table.index, 2, keys, LockWaitBlock);
	if (row != NULL)
	{
		bool		isnull;

		*upto = later(get_lease(&table, row).expires_at,
					  flake_max_ahead_ms * INT64CONST(1000));
		if (*upto > GetCurrentTimestamp())
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
