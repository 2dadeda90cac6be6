/*-------------------------------------------------------------------------
 *
 * fence.c
 *	  Fencing: which shards this server mints.
 *
 * A shard moves to another server in three steps: detach it here, bring its
 * rows over, attach it there.  No id may be minted here after the first step,
 * and none there that was minted here before.  So:
 *
 *	F1	flake_detach() closes the shard's slot before it returns.  No claim
 *		succeeds on a closed slot.
 *	F2	A slot is opened only by whoever has read in the table of shard states
 *		that the shard is not detached, while holding the shard's lock, which
 *		conflicts with that of detaching and attaching till their end; that of
 *		opening, which conflicts with that of detaching all shards of the
 *		generator; and that of all shards, which conflicts with that of others who
 *		have written into the table, from before they close the slots until their
 *		end.
 *	F3	What flake_detach() returns is at or above everything handed out here,
 *		and the first id after flake_attach() is above what it was given.
 *	F4	A transaction that has itself created the table (CREATE EXTENSION) opens
 *		only slots of generators that it has created, too: nobody else can mint
 *		from them before its end.  If it is undone, it closes them.
 *
 * Every slot is closed when the server starts.  So the state is the table's
 * alone, which is replicated, undone by ROLLBACK and read again after a crash;
 * that a slot is closed says no more than "look there".
 *
 * flake_detach() and flake_attach() are in attach.c, the table and the lock in
 * state.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/restore.h"
#include "mint/slot.h"
#include "settings.h"
#include "shard/citus.h"
#include "shard/fence.h"
#include "shard/state.h"
#include "trust/own_table.h"
#include "trust/relation.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Whether a shard may be minted here, or why not. */
typedef enum Verdict
{
	MAY_MINT,
	IS_DETACHED,
	OTHERS_ARE_DETACHED,
	IS_NOT_ATTACHED,
	IS_IN_DOUBT,
	TABLE_IS_NEWER,
	IS_NOT_OF_NODE
} Verdict;

int			flake_shard_checks = FLAKE_CHECK_UNKNOWN;

/*
 * F4: the table of states was made by this transaction, and the generator is
 * older.  For others the old table still counts, and they can use the slot.
 */
static bool
is_older_than_table(const Generator *generator, const ShardState *state)
{
	Relation	rel;
	bool		is_new;

	if (!state->is_new)
		return false;
	rel = relation_open(generator->sequence, NoLock);
	is_new = flake_is_new(rel);
	relation_close(rel, NoLock);
	return !is_new;
}

/* C1, C2 (see citus.c) */
static bool
citus_forbids(CitusNode node, const FlakeLayout *layout, int32 shard, bool attached)
{
	if (node.place == CITUS_IS_ABSENT || flake_citus_is_own(node, layout, shard))
		return false;
	return !attached || flake_citus_is_for_group(node, layout, shard);
}

static Verdict
judge(const Generator *generator, int32 shard, const ShardState *state, CitusNode node)
{
	if (state->exists && !state->attached)
		return IS_DETACHED;
	if (state->others_detached)
		return OTHERS_ARE_DETACHED;
	if (!state->attached && flake_require_attach)
		return IS_NOT_ATTACHED;
	if (citus_forbids(node, &generator->layout, shard, state->attached))
		return IS_NOT_OF_NODE;

	/* Others may mint from an open slot, so it is opened after the commit. */
	if (state->in_doubt)
		return IS_IN_DOUBT;
	return is_older_than_table(generator, state) ? TABLE_IS_NEWER : MAY_MINT;
}

/* ERROR unless the shard may be minted here. */
static void
check_verdict(Verdict verdict, const Generator *generator, int32 shard,
			  CitusNode node)
{
	switch (verdict)
	{
		case MAY_MINT:
			return;
		case IS_DETACHED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("shard %d is detached", shard),
					 errdetail("This server does not mint its ids any more."),
					 errhint("Mint where the shard is now. Attach it here only if no other server mints it: flake_attach(), with \"after\" set to what flake_detach() returned where it was minted last. The view flake_shards says whether it is leased.")));
			break;
		case OTHERS_ARE_DETACHED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("shard %d is not attached", shard),
					 errdetail("All shards of the generator were detached by flake_detach_all()."),
					 errhint("If this server is a copy, attach shards that its original does not mint: flake_attach().")));
			break;
		case IS_NOT_ATTACHED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("shard %d is not attached", shard),
					 errdetail("The setting \"flakeid.require_attach\" is on."),
					 errhint("Mint where the shard is. Attach it here only if no other server mints it: flake_attach(), with \"after\" set to what flake_detach() returned if one has minted it before.")));
			break;
		case IS_IN_DOUBT:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot mint ids of shard %d before the change of its state is committed", shard),
					 errhint("Commit first.")));
			break;
		case TABLE_IS_NEWER:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot mint ids of generator \"%s\" before the new extension \"flakeid\" is committed",
							get_rel_name(generator->sequence)),
					 errdetail("This transaction has created the extension, and the generator was there before."),
					 errhint("Commit first.")));
			break;
		case IS_NOT_OF_NODE:
			flake_citus_refuse(node, &generator->layout, shard);
			break;
	}
}

/*
 * F4: slots that a transaction has opened which has itself created the table.  If
 * it is undone, another table counts again, which was not asked.  So the slots are
 * closed then, without the shard's lock: nobody else has been at them, since
 * nobody else sees the sequence, or in case of a generator of the extension's
 * own, can lock the one whose place it has taken.
 *
 * A transaction that is prepared for a two-phase commit leaves before it is known
 * what becomes of it.  Closing its slots is harmless whatever comes of it.
 */
static List *opened_in_doubt = NIL;

static void
undo_opening(void)
{
	ListCell   *lc;

	foreach(lc, opened_in_doubt)
		(void) flake_slot_close(lfirst(lc));

	/* Slots of generators that are undone, too, can now be freed. */
	opened_in_doubt = NIL;
}

static void
transaction_ends(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			undo_opening();
			break;
		case XACT_EVENT_COMMIT:
			opened_in_doubt = NIL;	/* its memory goes with the transaction's */
			break;
		default:
			break;
	}
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId subid,
					SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		undo_opening();
}

/* What is kept of Citus may be wrong from now on. */
static void
citus_changed(void)
{
	flake_shard_checks |= FLAKE_CHECK_UNKNOWN;
	flake_generators_forget();
}

/* What was not checked while it was off is when it is on. */
void
flake_fence_assign_require_attach(bool value, void *extra)
{
	flake_shard_checks &= ~FLAKE_CHECK_ATTACHED;
	if (value)
		flake_shard_checks |= FLAKE_CHECK_ATTACHED;
	flake_generators_forget();
}

void
flake_fence_init(void)
{
	flake_citus_init(citus_changed);
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}

/* Opens a slot in the state that was read; the locks are held. */
static void
open_slot(const Generator *generator, const GeneratorSlot *slot, const ShardState *state)
{
	int64		above = FLAKE_PACKED_NONE;

	if (state->has_after)
		above = flake_layout_shard_packed_up_to(&generator->layout, state->after,
												slot->image);
	if (state->is_new)
	{
		MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

		opened_in_doubt = lappend(opened_in_doubt, slot->slot);
		MemoryContextSwitchTo(old_context);
	}
	flake_slot_open(slot->slot, above);
}

/* A lock of F2. */
typedef struct StateLock
{
	Oid			sequence;
	int32		shard;
	bool		is_taken;		/* by us, and to be released */
} StateLock;

/* A slot that is to be opened. */
typedef struct Opening
{
	Generator  *generator;
	const GeneratorSlot *slot;
	Oid			function;
	CitusNode	node;
	StateLock	locks[3];
	size_t		locked;			/* so many of them are, or need not be */
	ShardState	state;
	Verdict		verdict;
} Opening;

static void
unlock(Opening *opening)
{
	while (opening->locked > 0)
	{
		StateLock  *lock = &opening->locks[--opening->locked];

		if (lock->is_taken)
			flake_shard_unlock(lock->sequence, lock->shard, FLAKE_READ_STATE);
		lock->is_taken = false;
	}
}

/*
 * Takes a lock of F2, if that is free.  A transaction that is changing the shard needs
 * none.  And it would not get one while others wait for what it has, which they do
 * until its end: to wait for the lock ends at once then, and to try it fails.
 */
static bool
try_lock(StateLock *lock)
{
	if (flake_shard_is_locked(lock->sequence, lock->shard, FLAKE_CHANGE_STATE) ||
		flake_shard_is_locked(lock->sequence, lock->shard, FLAKE_CHANGE_LEASE))
		return true;
	lock->is_taken = flake_shard_lock(lock->sequence, lock->shard, FLAKE_READ_STATE, false);
	return lock->is_taken;
}

/*
 * Opens a slot if its shard may be minted, or finds out why not; then it is NULL.
 * If a lock of F2 is not free, none is kept, and the result is that one.
 */
static const StateLock *
try_open(Opening *opening)
{
	Generator  *generator = opening->generator;
	const StateLock *busy = NULL;

	/* The only one that is waited for, so it comes first. */
	OwnTable	table = flake_own_table_open(SHARD_STATE, opening->function, AccessShareLock);

	while (busy == NULL && opening->locked < lengthof(opening->locks))
	{
		StateLock  *lock = &opening->locks[opening->locked];

		if (try_lock(lock))
			opening->locked++;
		else
			busy = lock;
	}
	if (busy == NULL)
	{
		opening->state = flake_shard_read_row(&table, generator->sequence, opening->slot->shard);
		opening->verdict = judge(generator, opening->slot->shard, &opening->state, opening->node);
		if (opening->verdict == MAY_MINT)
		{
			open_slot(generator, opening->slot, &opening->state);
			flake_generator_mark_checked(generator, RelationGetRelid(table.rel));
		}
	}
	unlock(opening);
	flake_own_table_close(&table);
	return busy;
}

static void
open_patiently(Opening *opening)
{
	const StateLock *busy;

	while ((busy = try_open(opening)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		flake_shard_await(busy->sequence, busy->shard, FLAKE_READ_STATE);
	}
}

/*
 * PostgreSQL sends messages to the client before it releases locks, and a client
 * that does not read would keep them, so that others wait behind him.  So while
 * a lock of F2 is held nothing is waited for, as that can end in an ERROR; any other
 * ERROR releases them first; and whatever is less goes to the server's log only.
 * That is set in the variable and not as a setting, which would be refused while a
 * query is parallel.
 */
static void
open_without_keeping(Opening *opening)
{
	const int	messages = client_min_messages;

	PG_TRY();
	{
		client_min_messages = ERROR;
		open_patiently(opening);
	}
	PG_CATCH();
	{
		unlock(opening);
		client_min_messages = messages;
		PG_RE_THROW();
	}
	PG_END_TRY();
	client_min_messages = messages;
}

void
flake_shard_open(Generator *generator, const GeneratorSlot *slot, Oid function)
{
	Opening		opening = {
		.generator = generator,
		.slot = slot,
		.function = function,
		.locks = {
			{generator->sequence, FLAKE_OPENING, false},
			{generator->sequence, slot->shard, false},
			{FLAKE_ALL_SHARDS, 0, false},
		},
	};

	/* UUIDs and ObjectIDs have no shards. */
	if (generator->key == FLAKE_UUID || generator->key == FLAKE_OBJECTID)
	{
		flake_slot_open(slot->slot, FLAKE_PACKED_NONE);
		flake_generator_mark_checked(generator, InvalidOid);
		return;
	}

	/* Before the locks: the tables are Citus's, and may be locked. */
	opening.node = flake_citus_node();
	open_without_keeping(&opening);
	if (opening.state.exists || flake_require_attach)
		flake_restore_warn(&generator->horizon, FLAKE_RESTORED_SHARDS, PAGE_OR_ERROR);
	check_verdict(opening.verdict, generator, slot->shard, opening.node);
}

/* Finds out whether Citus has a say here. */
static void
look_for_citus(void)
{
	if (flake_shard_checks & FLAKE_CHECK_UNKNOWN)
	{
		bool		is_absent = flake_citus_node().place == CITUS_IS_ABSENT;

		/* Only now: it may have failed.  And no news has come since. */
		flake_shard_checks &= ~(FLAKE_CHECK_UNKNOWN | FLAKE_CHECK_NODE);
		if (!is_absent)
			flake_shard_checks |= FLAKE_CHECK_NODE;
	}
}

void
flake_shard_check(Generator *generator, const GeneratorSlot *slot, Oid function)
{
	look_for_citus();
	if (flake_shard_checks != 0 && !slot->checked)
		flake_shard_open(generator, slot, function);
}

int32
flake_shard_of_node(const FlakeLayout *layout)
{
	CitusNode	node = flake_citus_node();
	const char *function_name = flake_layout_is_uuid(layout) ? "flake_uuidv7" : "flake_id";

	if (node.place == CITUS_IS_ABSENT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no shard is set"),
				 errdetail("%s() without an argument takes its shard from the setting \"flakeid.shard\".",
						   function_name),
				 errhint("Set it, for example with ALTER DATABASE ... SET flakeid.shard = 5, or call %s(shard).",
						 function_name)));
	return flake_citus_shard(node, layout);
}
