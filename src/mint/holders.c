/*-------------------------------------------------------------------------
 *
 * holders.c
 *	  Which open transactions have minted, and above what.
 *
 * Whoever asks what is settled (see settled.c) must know of every transaction
 * that has minted and may not be seen yet.  So each process has a Holder in shared
 * memory, and these rules:
 *
 *	S1	Before its first claim a transaction registers, with a value that all its
 *		ids are above.
 *	S2	Its entry stays until the transaction has ended and what it did can be
 *		seen, whatever becomes of its subtransactions.  That of a prepared one
 *		stays until COMMIT PREPARED or ROLLBACK PREPARED.
 *
 * Registering is to write the entry, a memory barrier, and then to read the
 * generator's floor: see flake_generator_prepare().  An entry is written by its
 * process alone, with no lock.  A reader reads what an entry holds before what it
 * is of.  If the two do not belong together, then the entry was written after the
 * reader had begun, and it makes no difference what he takes it for: that
 * transaction has read the floor later than the reader raised it.
 *
 * Prepared transactions.  PostgreSQL tells nobody when one ends, and keeps nothing of
 * ours over a restart.  So at PREPARE the entry is copied, with the transaction's
 * number, and is void once that is not in progress.  And the transaction takes locks
 * that nobody waits for, whose names are what its entry says: PostgreSQL keeps
 * a prepared transaction's locks, over restarts and on standbys, too.  They are read once
 * after a start.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "compat.h"
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/holders.h"
#include "mint/locks.h"
#include "mint/shmem_area.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"

/*
 * The names of the locks.  SQL has no way to take them: functions such as
 * pg_advisory_lock() use 1 and 2 in the last field.
 */
#define LOCK_KEY(i)			(0xF100 + 2 * (i))	/* generator, shard */
#define LOCK_ABOVE(i)		(0xF101 + 2 * (i))	/* the two halves of above */
#define LOCK_OVERFLOW		0xF1FF

/* How many entries of this process are in use. */
static int	holds = 0;

static Holder *
my_holder(void)
{
	int			process = (int) (MyProc - &ProcGlobal->allProcs[0]);

	Assert(process >= 0 && process < flake_holders->nprocesses);
	return flake_process_holder(flake_holders, process);
}

int
flake_holder_begin(Oid generator, int32 shard)
{
	Holder	   *holder = my_holder();
	FlakeKey	key = {.database = MyDatabaseId,.generator = generator,.shard = shard};

	for (int i = 0; i < holds; i++)
	{
		if (memcmp(&holder->key[i], &key, sizeof(FlakeKey)) == 0)
			return -1;
	}
	if (holds == FLAKE_HOLDS)
	{
		holder->database = MyDatabaseId;
		pg_write_barrier();
		pg_atomic_write_u32(&holder->overflow, 1);
		pg_memory_barrier();
		return -1;
	}
	holder->key[holds] = key;
	holder->since[holds] = GetCurrentStatementStartTimestamp();
	pg_write_barrier();
	pg_atomic_write_u64(&holder->above[holds], (uint64) FLAKE_PACKED_NONE);
	pg_memory_barrier();
	return holds++;
}

bool
flake_holder_may_hold(Oid generator)
{
	Holder	   *holder;

	if (holds == 0)
		return false;
	holder = my_holder();
	for (int i = 0; i < holds; i++)
	{
		if (holder->key[i].generator == generator)
			return true;
	}
	return pg_atomic_read_u32(&holder->overflow) != 0;
}

void
flake_holder_set(int entry, int64 above)
{
	pg_atomic_write_u64(&my_holder()->above[entry], (uint64) above);
}

void
flake_holder_lower(Oid generator, int64 above)
{
	for (int i = 0; i < holds; i++)
	{
		Holder	   *holder = my_holder();

		if (holder->key[i].generator == generator &&
			(int64) pg_atomic_read_u64(&holder->above[i]) > above)
			flake_holder_set(i, above);
	}
}

static void
let_go(void)
{
	Holder	   *holder;

	if (holds == 0)
		return;
	holder = my_holder();
	pg_write_barrier();
	while (holds > 0)
		pg_atomic_write_u64(&holder->above[--holds], (uint64) FLAKE_HOLDS_NOTHING);

	/* Few have one: leave the line alone that this would take from others. */
	if (pg_atomic_read_u32(&holder->overflow) != 0)
		pg_atomic_write_u32(&holder->overflow, 0);
}

/* The least of a packed value and of what a holder holds. */
static int64
least_of(Holder *holder, const FlakeKey *key, int64 packed)
{
	if (pg_atomic_read_u32(&holder->overflow) != 0)
	{
		pg_read_barrier();
		if (holder->database == key->database)
			return FLAKE_PACKED_NONE;
	}
	for (int i = 0; i < FLAKE_HOLDS; i++)
	{
		int64		above = (int64) pg_atomic_read_u64(&holder->above[i]);

		if (above >= packed)
			continue;
		pg_read_barrier();
		if (memcmp(&holder->key[i], key, sizeof(FlakeKey)) == 0)
			packed = above;
	}
	return packed;
}

/*
 * Copies what a process holds to an entry for a prepared transaction.  Who calls
 * holds the lock.
 */
static void
copy_holder(Holder *to, Holder *from)
{
	to->database = from->database;
	pg_atomic_write_u32(&to->overflow, pg_atomic_read_u32(&from->overflow));
	for (int i = 0; i < FLAKE_HOLDS; i++)
	{
		to->key[i] = from->key[i];
		to->since[i] = from->since[i];
		pg_atomic_write_u64(&to->above[i], pg_atomic_read_u64(&from->above[i]));
	}
}

/*
 * Whether a prepared transaction goes on; frees its entry if it has ended, or was not
 * prepared after all.  Who calls holds the lock.
 */
static bool
goes_on(PreparedHolder *prepared)
{
	if (!TransactionIdIsValid(prepared->xid))
		return false;
	if (TransactionIdIsInProgress(prepared->xid))
		return true;
	prepared->xid = InvalidTransactionId;
	flake_holder_init(&prepared->holder);
	return false;
}

/* The entry of a prepared transaction, or a free one; NULL if there is none. */
static PreparedHolder *
find_prepared(TransactionId xid)
{
	PreparedHolder *result = NULL;

	for (int i = 0; i < flake_holders->nprepared; i++)
	{
		PreparedHolder *prepared = &flake_prepared_holders(flake_holders)[i];

		if (goes_on(prepared) ? prepared->xid == xid : result == NULL)
			result = prepared;
		if (result != NULL && result->xid == xid)
			break;
	}
	return result;
}

static void
take_lock(uint32 field2, uint32 field3, uint16 field4)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, field2, field3, field4);
	(void) LockAcquire(&tag, ShareLock, false, false);
}

/*
 * Before PREPARE TRANSACTION.  If it fails later, the number of the transaction is not
 * in progress any more, and its locks are gone.
 */
static void
before_prepare(void)
{
	Holder	   *holder;
	PreparedHolder *prepared = NULL;
	TransactionId xid;

	/* Where no transaction can be prepared, PostgreSQL says so. */
	if (holds == 0 || flake_holders->nprepared == 0)
		return;
	holder = my_holder();
	xid = GetTopTransactionId();
	for (int i = 0; i < holds; i++)
	{
		uint64		above = pg_atomic_read_u64(&holder->above[i]);

		take_lock(holder->key[i].generator, (uint32) holder->key[i].shard, LOCK_KEY(i));
		take_lock((uint32) (above >> 32), (uint32) above, LOCK_ABOVE(i));
	}
	if (pg_atomic_read_u32(&holder->overflow) != 0)
		take_lock(0, 0, LOCK_OVERFLOW);

	FLAKE_TRY_LOCKED();
	{
		LWLockAcquire(&flake_holders->lock, LW_EXCLUSIVE);
		prepared = find_prepared(xid);
		if (prepared != NULL)
		{
			copy_holder(&prepared->holder, holder);
			prepared->xid = xid;
		}
		LWLockRelease(&flake_holders->lock);
	}
	FLAKE_END_LOCKED();
	if (prepared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("maximum number of prepared transactions reached"),
				 errhint("Increase \"max_prepared_transactions\" (currently %d).",
						 max_prepared_xacts)));
}

/*
 * The transaction that a lock is of, if that was prepared before the server's start.
 * A lock of one that was prepared later says which session's it was instead.
 */
static TransactionId
prepared_xid(const LockInstanceData *lock)
{
#if PG_VERSION_NUM >= 170000
	if (lock->pid == 0 && lock->vxid.procNumber == INVALID_PROC_NUMBER)
		return lock->vxid.localTransactionId;
#else
	if (lock->pid == 0 && lock->backend == InvalidBackendId)
		return lock->lxid;
#endif
	return InvalidTransactionId;
}

/* Puts what a lock says into the entry of its transaction. */
static void
read_lock(const LockInstanceData *lock)
{
	const LOCKTAG *tag = &lock->locktag;
	TransactionId xid = prepared_xid(lock);
	PreparedHolder *prepared;
	Holder	   *holder;
	int			i = (tag->locktag_field4 - LOCK_KEY(0)) / 2;

	if (tag->locktag_type != LOCKTAG_ADVISORY || !TransactionIdIsValid(xid) ||
		(tag->locktag_field4 != LOCK_OVERFLOW &&
		 (tag->locktag_field4 < LOCK_KEY(0) || i >= FLAKE_HOLDS)))
		return;
	prepared = find_prepared(xid);
	if (prepared == NULL)
		elog(ERROR, "too many prepared transactions");
	prepared->xid = xid;
	holder = &prepared->holder;
	if (tag->locktag_field4 == LOCK_OVERFLOW)
	{
		holder->database = tag->locktag_field1;
		pg_atomic_write_u32(&holder->overflow, 1);
	}
	else if (tag->locktag_field4 == LOCK_KEY(i))
	{
		holder->key[i].database = tag->locktag_field1;
		holder->key[i].generator = tag->locktag_field2;
		holder->key[i].shard = (int32) tag->locktag_field3;
		holder->since[i] = 0;
	}
	else
		pg_atomic_write_u64(&holder->above[i],
							(uint64) tag->locktag_field2 << 32 | tag->locktag_field3);
}

/* Finds what prepared transactions from before the server's start hold, once. */
static void
read_prepared(void)
{
	LockData   *locks = GetLockStatusData();

	for (int i = 0; i < locks->nelements; i++)
		read_lock(&locks->locks[i]);
	flake_holders->is_read = true;
}

/*
 * Locks the entries of prepared transactions, which are complete then.  Those from
 * before a promotion have their locks when recovery ends.
 */
static void
lock_prepared(void)
{
	LWLockAcquire(&flake_holders->lock, LW_EXCLUSIVE);
	if (!flake_holders->is_read && !RecoveryInProgress())
		read_prepared();
}

static int64
least(const FlakeKey *key, int64 packed)
{
	for (int i = 0; i < flake_holders->nprocesses; i++)
		packed = least_of(flake_process_holder(flake_holders, i), key, packed);

	/*
	 * S2: whoever has read that a transaction holds nothing finds it ended,
	 * in whatever he reads after this.  A lock that he takes for that does
	 * not keep earlier reads before it by itself.
	 */
	pg_read_barrier();
	if (flake_holders->nprepared == 0)
		return packed;

	/*
	 * After the processes: a transaction's entry is copied, and then removed
	 * there.
	 */
	lock_prepared();
	for (int i = 0; i < flake_holders->nprepared; i++)
	{
		PreparedHolder *prepared = &flake_prepared_holders(flake_holders)[i];

		if (goes_on(prepared))
			packed = least_of(&prepared->holder, key, packed);
	}
	LWLockRelease(&flake_holders->lock);
	return packed;
}

int64
flake_holders_least(Oid generator, int32 shard, int64 packed)
{
	FlakeKey	key = {.database = MyDatabaseId,.generator = generator,.shard = shard};
	int64		result = packed;

	FLAKE_TRY_LOCKED();
	{
		result = least(&key, packed);
	}
	FLAKE_END_LOCKED();
	return result;
}

/* Adds what a holder holds in this database to a list. */
static List *
list_holder(List *list, Holder *holder, int pid, TransactionId xid)
{
	HolderInfo *info;

	for (int i = 0; i < FLAKE_HOLDS; i++)
	{
		int64		above = (int64) pg_atomic_read_u64(&holder->above[i]);

		pg_read_barrier();
		if (above == FLAKE_HOLDS_NOTHING || holder->key[i].database != MyDatabaseId)
			continue;
		info = palloc0(sizeof(HolderInfo));
		info->key = holder->key[i];
		info->above = above;
		info->since = holder->since[i];
		info->pid = pid;
		info->xid = xid;
		list = lappend(list, info);
	}
	if (pg_atomic_read_u32(&holder->overflow) != 0 && holder->database == MyDatabaseId)
	{
		info = palloc0(sizeof(HolderInfo));
		info->overflow = true;
		info->above = FLAKE_PACKED_NONE;
		info->since = holder->since[FLAKE_HOLDS - 1];
		info->pid = pid;
		info->xid = xid;
		list = lappend(list, info);
	}
	return list;
}

List *
flake_holders_list(void)
{
	List	   *list = NIL;

	flake_shmem_attach();
	for (int i = 0; i < flake_holders->nprocesses; i++)
		list = list_holder(list, flake_process_holder(flake_holders, i),
						   ProcGlobal->allProcs[i].pid, InvalidTransactionId);
	if (flake_holders->nprepared == 0)
		return list;
	FLAKE_TRY_LOCKED();
	{
		lock_prepared();
		for (int i = 0; i < flake_holders->nprepared; i++)
		{
			PreparedHolder *prepared = &flake_prepared_holders(flake_holders)[i];

			if (goes_on(prepared))
				list = list_holder(list, &prepared->holder, 0, prepared->xid);
		}
		LWLockRelease(&flake_holders->lock);
	}
	FLAKE_END_LOCKED();
	return list;
}

/* S2: these come when others see what the transaction did. */
static void
transaction_ends(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			before_prepare();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			let_go();
			break;
		default:
			break;
	}
}

void
flake_holders_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
}
