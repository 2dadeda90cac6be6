/*-------------------------------------------------------------------------
 *
 * settled_snapshot.c
 *	  Which bound of what is settled is right for a snapshot.
 *
 * In one statement the snapshot is older than what a function finds.  A transaction
 * that ends in between does not hold the bound back any more, and its rows are not
 * seen.  Hence S5 (see settled.c): a bound is used with a snapshot only if every
 * transaction is seen with it that had ended when the bound was found.
 *
 * So a session keeps, with each of the last bounds that it found, a snapshot of just
 * after that.  A bound is right for another snapshot if all transactions which that
 * one does not see were running, or had not begun, according to the one that was
 * kept.  One that only has a bound from before its snapshot was taken can use
 * that: a reader's previous one, or the one that is found while its statement is
 * planned.
 *
 * A statement may ask again and again, for each row that it looks at, or for each
 * partition when it comes to that; and it must see one bound, or none each time.  Else
 * it would return rows of one table, and leave out rows of another with lesser ids.  So
 * what was used is not forgotten before its statement, or the cursor, has ended.  That
 * is when the memory of its portal goes, or of the client's message where there is no
 * portal: while a statement is planned, and in deferred triggers.
 *
 * A loop or a cursor in a function has a portal of its own, but is part of the statement
 * that calls the function, if it has its snapshot.  So a portal begins with what the one
 * has used whose snapshot it has; or else one around it that has an equal snapshot; or
 * else with the first answer in the client's message.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/execdesc.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/settled_snapshot.h"
#include "storage/procarray.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

/* A bound that this session has found, and what was running just after that. */
typedef struct KnownBound
{
	int64		bound;			/* packed */
	TimestampTz found_at;
	FullTransactionId next;		/* the next that was to begin */
	TransactionId xmax;			/* none from here on had ended */
	int			nrunning;
	TransactionId *running;		/* of those before, in order */
} KnownBound;

/* Of what a bound is.  The epoch is the generator's: it changes when bounds go back. */
typedef struct KnownKey
{
	uint64		epoch;
	int64		shard;
} KnownKey;

/*
 * The last ones, the latest first.  The one in place i stays if those beside it
 * are 2^i ms apart.
 */
#define KNOWN_BOUNDS	12

typedef struct KnownBounds
{
	KnownKey	key;			/* must be first */
	int			n;
	KnownBound	bounds[KNOWN_BOUNDS];
} KnownBounds;

/* A session that asks about more than so many at a time forgets all of them. */
#define MOST_KNOWN		1000

static MemoryContext known_context = NULL;
static HTAB *known_bounds = NULL;

/*
 * A bound that was used in this transaction.  Not by epoch: that can change in the
 * middle of a statement, by ALTER DATABASE.
 */
typedef struct UsedKey
{
	Oid			generator;
	int32		shard;
	uint64		snapshot;		/* a hash of what it does not see */
	TransactionId xmin;
	TransactionId xmax;
	uint64		portal;			/* which, by its memory: it is run again by
								 * FETCH */
} UsedKey;

/*
 * The greatest of the bounds that were used with a snapshot.  In a transaction with
 * one snapshot that is kept to its end.
 */
#define ANY_PORTAL	PG_UINT64_MAX

/* The first answer with a snapshot in the client's message. */
#define THE_MESSAGE	0

typedef struct UsedBound
{
	UsedKey		key;			/* must be first */
	bool		is_set;
	bool		is_known;
	int64		bound;
	struct UsedBound *next;		/* of those that go with the same memory */
} UsedBound;

static HTAB *used = NULL;
static LocalTransactionId used_in = InvalidLocalTransactionId;

/*
 * What goes with some memory, in which this is.  There is one for each, however
 * many transactions end while it is there: a procedure can COMMIT in a loop.
 */
typedef struct UsedUntil
{
	MemoryContextCallback callback;
	struct UsedUntil *next;
	MemoryContext context;
	Portal		portal;			/* whose memory it is; NULL if the message's */
	LocalTransactionId lxid;	/* the transaction of these: */
	UsedBound  *first;
} UsedUntil;

static UsedUntil *untils = NULL;

/* The portal of a cursor WITH HOLD goes after the transaction, with which all went. */
static void
forget_used(void *arg)
{
	const UsedUntil *until = arg;
	UsedUntil **link = &untils;

	while (*link != until)
		link = &(*link)->next;
	*link = until->next;
	if (until->lxid != used_in || used_in != flake_current_lxid())
		return;
	for (UsedBound *entry = until->first; entry != NULL;)
	{
		UsedBound  *next = entry->next;

		(void) hash_search(used, &entry->key, HASH_REMOVE, NULL);
		entry = next;
	}
}

static UsedUntil *
find_until(MemoryContext context)
{
	UsedUntil  *until;

	for (until = untils; until != NULL; until = until->next)
	{
		if (until->context == context)
			return until;
	}
	until = MemoryContextAllocZero(context, sizeof(UsedUntil));
	until->context = context;
	until->portal = ActivePortal != NULL && ActivePortal->portalContext == context ? ActivePortal : NULL;
	until->callback.func = forget_used;
	until->callback.arg = until;
	MemoryContextRegisterResetCallback(context, &until->callback);
	until->next = untils;
	untils = until;
	return until;
}

static void
forget_with_portal(UsedBound *entry)
{
	MemoryContext context = ActivePortal != NULL && entry->key.portal != THE_MESSAGE
	? ActivePortal->portalContext : MessageContext;
	UsedUntil  *until;

	/* A background worker may have neither. */
	if (context == NULL ||
		(entry->key.portal == ANY_PORTAL && IsolationUsesXactSnapshot()))
		return;
	until = find_until(context);
	if (until->lxid != used_in)
		until->first = NULL;
	until->lxid = used_in;
	entry->next = until->first;
	until->first = entry;
}

static UsedKey
make_key(Oid generator, int32 shard, Snapshot snapshot, uint64 portal)
{
	UsedKey		key = {.generator = generator,.shard = shard,
	.xmin = snapshot->xmin,.xmax = snapshot->xmax,.portal = portal};

	key.snapshot = hash_bytes_extended((const unsigned char *) snapshot->xip,
									   snapshot->xcnt * sizeof(TransactionId), 0);
	return key;
}

/* Whether a portal is the one whose very snapshot is active, and not an equal one. */
static bool
has_active_snapshot(Portal portal)
{
	return portal->queryDesc != NULL && portal->queryDesc->snapshot == GetActiveSnapshot();
}

/*
 * What a portal that is being run has used, or else the client's message; NULL if
 * nothing.  Of several with equal snapshots that is the one whose statement calls.
 */
static UsedBound *
find_used_around(UsedKey key)
{
	UsedBound  *found = NULL;

	for (UsedUntil *until = untils; until != NULL; until = until->next)
	{
		UsedBound  *entry;

		if (until->portal == NULL || until->portal->status != PORTAL_ACTIVE ||
			(found != NULL && !has_active_snapshot(until->portal)))
			continue;
		key.portal = (uintptr_t) until->context;
		entry = hash_search(used, &key, HASH_FIND, NULL);
		if (entry != NULL && entry->is_set)
			found = entry;
	}
	if (found != NULL)
		return found;
	if (MessageContext == NULL)
		return NULL;			/* as in a background worker */
	key.portal = THE_MESSAGE;
	return hash_search(used, &key, HASH_FIND, NULL);
}

static UsedBound *
find_used(UsedKey key)
{
	UsedBound  *entry;
	bool		found;

	/* The old one has gone with the transaction's memory. */
	if (used_in != flake_current_lxid())
	{
		HASHCTL		control;

		control.keysize = sizeof(UsedKey);
		control.entrysize = sizeof(UsedBound);
		control.hcxt = TopTransactionContext;
		used = hash_create("flakeid bounds", 16, &control,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		used_in = flake_current_lxid();
	}
	entry = hash_search(used, &key, HASH_ENTER, &found);
	if (!found)
	{
		entry->is_set = false;
		entry->is_known = false;
		entry->bound = FLAKE_PACKED_NONE;
		forget_with_portal(entry);
	}
	return entry;
}

static KnownBounds *
find_known(uint64 epoch, int32 shard)
{
	KnownKey	key = {.epoch = epoch,.shard = shard};
	KnownBounds *known;
	bool		found;

	/* Without them a bound is found later, or a lower one is used. */
	if (known_bounds != NULL && hash_get_num_entries(known_bounds) >= MOST_KNOWN)
	{
		MemoryContextDelete(known_context);
		known_bounds = NULL;
	}
	if (known_bounds == NULL)
	{
		HASHCTL		control;

		known_context = AllocSetContextCreate(TopMemoryContext, "flakeid bounds",
											  ALLOCSET_DEFAULT_SIZES);
		control.keysize = sizeof(KnownKey);
		control.entrysize = sizeof(KnownBounds);
		control.hcxt = known_context;
		known_bounds = hash_create("flakeid known bounds", 16, &control,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	known = hash_search(known_bounds, &key, HASH_ENTER, &found);
	if (!found)
		known->n = 0;
	return known;
}

/* Takes note of a bound that was found just now. */
static void
remember(KnownBounds *known, int64 bound)
{
	static SnapshotData snapshot = {SNAPSHOT_MVCC};
	KnownBound *bounds = known->bounds;
	KnownBound	latest;
	int			last;

	(void) GetSnapshotData(&snapshot);
	latest.bound = bound;
	latest.found_at = GetCurrentTimestamp();
	latest.next = ReadNextFullTransactionId();
	latest.xmax = snapshot.xmax;
	latest.nrunning = (int) snapshot.xcnt;
	latest.running = MemoryContextAlloc(known_context,
										Max(snapshot.xcnt, 1) * sizeof(TransactionId));
	memcpy(latest.running, snapshot.xip, snapshot.xcnt * sizeof(TransactionId));
	qsort(latest.running, snapshot.xcnt, sizeof(TransactionId), xidComparator);

	/* Which one goes? */
	for (last = 1; last < known->n - 1; last++)
	{
		if (bounds[last - 1].found_at - bounds[last + 1].found_at < (INT64CONST(1000) << last))
			break;
	}
	if (last >= known->n - 1 && known->n < KNOWN_BOUNDS)
		last = known->n++;
	else
		pfree(bounds[last].running);
	memmove(&bounds[1], &bounds[0], last * sizeof(KnownBound));
	bounds[0] = latest;
}

/* Whether a transaction that a snapshot does not see had not ended then. */
static bool
had_not_ended(const KnownBound *then, TransactionId xid)
{
	return TransactionIdFollowsOrEquals(xid, then->xmax) ||
		TransactionIdIsCurrentTransactionId(xid) ||
		bsearch(&xid, then->running, then->nrunning, sizeof(TransactionId),
				xidComparator) != NULL;
}

/* S5 */
static bool
is_right_for(const KnownBound *then, Snapshot snapshot)
{
	uint64		now = U64FromFullTransactionId(ReadNextFullTransactionId());
	TransactionId xid;

	/* Of numbers that are far apart none is the earlier one. */
	if (now - U64FromFullTransactionId(then->next) > MaxTransactionId / 4)
		return false;
	for (uint32 i = 0; i < snapshot->xcnt; i++)
	{
		if (!had_not_ended(then, snapshot->xip[i]))
			return false;
	}
	for (xid = snapshot->xmax; TransactionIdPrecedes(xid, then->xmax);)
	{
		if (!had_not_ended(then, xid))
			return false;
		TransactionIdAdvance(xid);
	}
	return true;
}

bool
flake_settled_for_snapshot(Oid generator, int32 shard, uint64 epoch, int64 latest,
						   int64 *bound)
{
	Snapshot	snapshot;
	KnownBounds *known = NULL;
	UsedBound  *entry;
	UsedBound  *around;
	UsedKey		key;
	uint64		portal = ActivePortal != NULL ? (uintptr_t) ActivePortal->portalContext : THE_MESSAGE;

	*bound = latest;
	if (!ActiveSnapshotSet())
		return latest != FLAKE_PACKED_NONE;
	snapshot = GetActiveSnapshot();
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || snapshot->takenDuringRecovery)
		return false;
	if (latest != FLAKE_PACKED_NONE)
	{
		known = find_known(epoch, shard);
		remember(known, latest);
	}

	key = make_key(generator, shard, snapshot, portal);
	entry = find_used(key);
	if (entry->is_set)
	{
		*bound = entry->bound;
		return entry->is_known;
	}
	around = find_used_around(key);
	if (around != NULL && around->is_set)
	{
		entry->is_known = around->is_known;
		entry->bound = around->bound;
	}
	else if (known != NULL)
	{
		/* One that an earlier statement has used may not be kept any more. */
		UsedBound  *greatest = find_used(make_key(generator, shard, snapshot, ANY_PORTAL));

		for (int i = 0; i < known->n; i++)
		{
			if (!is_right_for(&known->bounds[i], snapshot))
				continue;
			greatest->bound = greatest->is_known
				? Max(greatest->bound, known->bounds[i].bound) : known->bounds[i].bound;
			greatest->is_known = true;
			break;
		}
		entry->is_known = greatest->is_known;
		entry->bound = greatest->bound;
	}
	entry->is_set = true;		/* also that there is none */
	if (portal != THE_MESSAGE && MessageContext != NULL)
	{
		UsedBound  *message = find_used(make_key(generator, shard, snapshot, THE_MESSAGE));

		if (!message->is_set)
		{
			message->is_set = true;
			message->is_known = entry->is_known;
			message->bound = entry->bound;
		}
	}
	*bound = entry->bound;
	return entry->is_known;
}
