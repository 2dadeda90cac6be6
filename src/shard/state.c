/*-------------------------------------------------------------------------
 *
 * state.c
 *	  The table of shard states, and the lock that goes with it.
 *
 * The lock is a heavyweight one, which pg_locks shows as an advisory lock, and SQL
 * cannot reach.  It has modes: the state is read under
 * FLAKE_READ_STATE, changed under FLAKE_CHANGE_STATE, and a lease of the shard, or
 * how far it is backfilled, is changed under FLAKE_CHANGE_LEASE, which keeps the
 * state and other changes to these out, but not readers.  The latter two are kept to the end of the
 * transaction.  So no two transactions change a shard's row in either table, and
 * what is read there under the lock has been committed, or is our own.
 * (backfill.c also writes a first row under FLAKE_CHANGE_LEASE: it says what the shard is
 * without one.)
 *
 * Who changes a shard or a lease first takes the lock of FLAKE_OTHER_SHARDS in mode
 * FLAKE_READ_STATE, and keeps it, too.  Who changes all shards of the generator takes
 * that one, in mode FLAKE_CHANGE_STATE, instead of theirs: he waits for everybody who
 * is changing one, and what they read after him is what he has left.  Only then does
 * he take the lock of FLAKE_OPENING, which keeps others from the first id of a shard
 * of this generator: while he waits for those, ids are minted.
 *
 * Rows that are written by hand, or by a restore, are not written under the
 * shard's lock.  Their transaction takes that of FLAKE_ALL_SHARDS before it commits
 * (see keep.c).  That is of all generators, so nobody gets it who may not write into
 * the table.
 *
 * Whoever reads a state to open a slot takes all three, in mode FLAKE_READ_STATE:
 * that of FLAKE_OPENING, the shard's, and that of FLAKE_ALL_SHARDS.
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
#include "compat.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "miscadmin.h"
#include "shard/state.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "trust/own_table.h"
#include "trust/own_table_rows.h"
#include "trust/relation.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* A class of advisory locks that SQL functions (1, 2) and leases do not use. */
#define SHARD_LOCK_CLASS	0x0F1A

/* How long to wait where nobody is expected to be waited for; then ERROR 55P03. */
#define OVERTAKE_MS	100

/*
 * DISCARD ALL releases all advisory locks, and can come late in a transaction: a Bind
 * before it can have executed anything.  So it is no lock by the method of these.
 */
LOCKTAG
flake_lock_tag(uint32 field2, uint32 field3, uint16 field4)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, field2, field3, field4);
	tag.locktag_lockmethodid = DEFAULT_LOCKMETHOD;
	return tag;
}

static LOCKTAG
lock_tag(Oid sequence, int32 shard)
{
	return flake_lock_tag(sequence, (uint32) shard, SHARD_LOCK_CLASS);
}

/*
 * A lock of the present subtransaction, as is what it writes.  CurrentResourceOwner can
 * be a cursor's.  If FETCH fails in a savepoint, its locks are released, also those of
 * FETCHes before the savepoint, of which the rows stay.
 */
bool
flake_lock_as_rows(const LOCKTAG *tag, LOCKMODE mode, bool wait)
{
	ResourceOwner owner = CurrentResourceOwner;
	bool		is_locked;

	CurrentResourceOwner = CurTransactionResourceOwner;
	is_locked = LockAcquire(tag, mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
	CurrentResourceOwner = owner;
	return is_locked;
}

bool
flake_shard_lock(Oid sequence, int32 shard, LOCKMODE mode, bool wait)
{
	LOCKTAG		tag = lock_tag(sequence, shard);

	return flake_lock_as_rows(&tag, mode, wait);
}

void
flake_shard_lock_to_the_end(Oid sequence, int32 shard, LOCKMODE mode)
{
	LOCKTAG		tag = lock_tag(sequence, shard);
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	(void) LockAcquire(&tag, mode, false, false);
	CurrentResourceOwner = owner;
}

void
flake_shard_unlock(Oid sequence, int32 shard, LOCKMODE mode)
{
	LOCKTAG		tag = lock_tag(sequence, shard);
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = CurTransactionResourceOwner;
	LockRelease(&tag, mode, false);
	CurrentResourceOwner = owner;
}

bool
flake_shard_overtake(Oid sequence, int32 shard, LOCKMODE mode)
{
	LOCKTAG		tag = lock_tag(sequence, shard);
	int			timeout = LockTimeout;
	int			others;

	if (flake_lock_as_rows(&tag, mode, false))
		return true;
	(void) GetLockConflicts(&tag, mode, &others);
	if (others > 0)
		return false;

	/*
	 * PostgreSQL puts it before those who wait for what we have, and so
	 * grants it at once; but somebody can have got a lock in this moment.
	 */
	PG_TRY();
	{
		LockTimeout = timeout == 0 ? OVERTAKE_MS : Min(timeout, OVERTAKE_MS);
		(void) flake_lock_as_rows(&tag, mode, true);
	}
	PG_FINALLY();
	{
		LockTimeout = timeout;
	}
	PG_END_TRY();
	return true;
}

bool
flake_shard_is_locked(Oid sequence, int32 shard, LOCKMODE mode)
{
	LOCKTAG		tag = lock_tag(sequence, shard);

	return flake_lock_is_held(&tag, mode);
}

void
flake_shard_await(Oid sequence, int32 shard, LOCKMODE mode)
{
	LOCKTAG		tag = lock_tag(sequence, shard);

	if (flake_lock_is_held(&tag, mode))
		return;
	PG_TRY();
	{
		(void) LockAcquire(&tag, mode, false, false);
	}
	PG_CATCH();
	{
		/* It may have been granted in the moment in which we gave up. */
		LockErrorCleanup();
		if (flake_lock_is_held(&tag, mode))
			LockRelease(&tag, mode, false);
		PG_RE_THROW();
	}
	PG_END_TRY();
	LockRelease(&tag, mode, false);
}

void
flake_shard_init_keys(ScanKeyData keys[2], Oid sequence, int32 shard)
{
	ScanKeyInit(&keys[0], STATE_GENERATOR, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(sequence));
	ScanKeyInit(&keys[1], STATE_SHARD, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(shard));
}

/* Whether this transaction has written a version of a row, or replaced it. */
static bool
is_our_version(HeapTuple row)
{
	HeapTupleHeader header = row->t_data;

	return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header)) ||
		(!HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		 TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header)));
}

/* Whether this transaction has written the row of a shard, or replaced it. */
static bool
is_our_row(const OwnTable *table, ScanKeyData keys[2])
{
	SysScanDesc scan = systable_beginscan(table->rel, table->index, true, SnapshotAny, 2, keys);
	bool		result = false;
	HeapTuple	row;

	while (HeapTupleIsValid(row = flake_own_table_next(scan)))
		result |= is_our_version(row);
	systable_endscan(scan);
	return result;
}

ShardState
flake_shard_read_row(const OwnTable *table, Oid sequence, int32 shard)
{
	ShardState	state = {0};
	ScanKeyData keys[2];
	HeapTuple	row;

	flake_shard_init_keys(keys, sequence, shard);
	state.is_new = flake_is_new(table->rel);
	state.in_doubt = (!state.is_new && flake_has_new_file(table->rel)) ||
		is_our_row(table, keys);
	row = flake_own_table_find(table, table->index, 2, keys);
	if (row != NULL)
	{
		Datum		values[STATE_COLUMNS];
		bool		nulls[STATE_COLUMNS];

		heap_deform_tuple(row, RelationGetDescr(table->rel), values, nulls);
		state.exists = true;
		state.attached = DatumGetBool(values[STATE_ATTACHED - 1]);
		state.has_after = !nulls[STATE_AFTER - 1];
		if (state.has_after)
			state.after = DatumGetInt64(values[STATE_AFTER - 1]);
		state.has_backfilled = !nulls[STATE_BACKFILLED - 1];
		if (state.has_backfilled)
			state.backfilled = DatumGetInt64(values[STATE_BACKFILLED - 1]);
		return state;
	}

	flake_shard_init_keys(keys, sequence, FLAKE_OTHER_SHARDS);
	state.in_doubt |= is_our_row(table, keys);
	row = flake_own_table_find(table, table->index, 2, keys);
	if (row != NULL)
	{
		bool		isnull;

		state.others_detached = !DatumGetBool(heap_getattr(row, STATE_ATTACHED,
														   RelationGetDescr(table->rel),
														   &isnull));
	}
	return state;
}

ShardState
flake_shard_read_state(Oid sequence, int32 shard, Oid function)
{
	OwnTable	table = flake_own_table_open(SHARD_STATE, function, AccessShareLock);
	ShardState	state = flake_shard_read_row(&table, sequence, shard);

	flake_own_table_close(&table);
	return state;
}

bool
flake_shard_is_detached(Oid sequence, int32 shard, Oid function)
{
	ShardState	state = flake_shard_read_state(sequence, shard, function);

	return state.exists && !state.attached;
}

/*
 * What the event trigger did not remove, because a table was locked or in single-user
 * mode, goes on the occasion.
 */
void
flake_shard_write_state(Oid sequence, int32 shard, const ShardState *state,
						Oid function)
{
	OwnTable	states = flake_own_table_open(SHARD_STATE, function, RowExclusiveLock);
	OwnTable	leases = flake_own_table_open(LEASES, function, RowExclusiveLock);
	ScanKeyData keys[2];
	HeapTuple	row;
	Datum		values[STATE_COLUMNS];
	bool		nulls[STATE_COLUMNS] = {false};
	static LocalTransactionId removed_lxid = InvalidLocalTransactionId;

	values[STATE_GENERATOR - 1] = ObjectIdGetDatum(sequence);
	values[STATE_SHARD - 1] = Int32GetDatum(shard);
	values[STATE_ATTACHED - 1] = BoolGetDatum(state->attached);
	values[STATE_AFTER - 1] = Int64GetDatum(state->after);
	nulls[STATE_AFTER - 1] = !state->has_after;
	values[STATE_BACKFILLED - 1] = Int64GetDatum(state->backfilled);
	nulls[STATE_BACKFILLED - 1] = !state->has_backfilled;
	values[STATE_CHANGED_AT - 1] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());

	/* The shard's lock keeps all but those away who write by hand. */
	flake_shard_init_keys(keys, sequence, shard);
	row = flake_own_table_lock(&states, states.index, 2, keys, LockWaitBlock);
	if (row != NULL)
		flake_own_table_update(&states, row, values, nulls);
	else
		flake_own_table_insert(&states, values, nulls);

	/* Not for each shard of flake_detach_all(). */
	if (removed_lxid != flake_current_lxid())
	{
		flake_own_table_remove_some(&leases, &states);
		removed_lxid = flake_current_lxid();
	}
	flake_own_table_close(&leases);
	flake_own_table_close(&states);
}

bool
flake_shard_write_backfilled(Oid sequence, int32 shard, int64 id, Oid function)
{
	OwnTable	states = flake_own_table_open(SHARD_STATE, function, RowExclusiveLock);
	ScanKeyData keys[2];
	HeapTuple	row;

	flake_shard_init_keys(keys, sequence, shard);
	row = flake_own_table_lock(&states, states.index, 2, keys, LockWaitBlock);
	if (row != NULL)
	{
		Datum		values[STATE_COLUMNS];
		bool		nulls[STATE_COLUMNS];

		heap_deform_tuple(row, RelationGetDescr(states.rel), values, nulls);
		if (!nulls[STATE_BACKFILLED - 1] &&
			DatumGetInt64(values[STATE_BACKFILLED - 1]) < id)
		{
			values[STATE_BACKFILLED - 1] = Int64GetDatum(id);
			flake_own_table_update(&states, row, values, nulls);
		}
	}
	flake_own_table_close(&states);
	return row != NULL;
}

/* The keys of generators, in order. */
typedef struct Keys
{
	Oid		   *keys;
	int			count;
} Keys;

static void
close_slot_of(Slot *slot, void *arg)
{
	const Keys *keys = arg;

	if (bsearch(&slot->key.generator, keys->keys, keys->count, sizeof(Oid), oid_cmp) != NULL)
		(void) flake_slot_close(slot);
}

void
flake_shard_close_all(const List *generators)
{
	Keys		keys;
	const ListCell *lc;

	if (generators == NIL)
		return;
	keys.keys = palloc(list_length(generators) * sizeof(Oid));
	keys.count = 0;
	foreach(lc, generators)
		keys.keys[keys.count++] = lfirst_oid(lc);
	qsort(keys.keys, keys.count, sizeof(Oid), oid_cmp);

	/* There may be many generators, and many slots: hence one pass for all. */
	flake_shmem_each_slot(close_slot_of, &keys);
	pfree(keys.keys);
}
