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
 *		conflicts with that of detaching and attaching till their end.
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
#include "mint/slot.h"
#include "settings.h"
#include "shard/fence.h"
#include "shard/state.h"
#include "trust/relation.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* ERROR unless the shard may be minted here. */
static void
check_state(const ShardState *state, int32 shard)
{
	if (state->exists && !state->attached)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d is detached", shard),
				 errdetail("This server does not mint its ids any more."),
				 errhint("Mint where the shard is now, or attach it here with flake_attach(). The view flake_shards says whether it is leased.")));
	if (!state->attached && flake_require_attach)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d is not attached", shard),
				 errdetail("The setting \"flakeid.require_attach\" is on."),
				 errhint("Mint where the shard is, or attach it here with flake_attach().")));

	/* Others may mint from an open slot, so it is opened after the commit. */
	if (state->in_doubt)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot mint ids of shard %d before the change of its state is committed", shard),
				 errhint("Commit first.")));
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

void
flake_fence_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}

/*
 * F4: ERROR for a generator that is older than the table of states, which this
 * transaction has made.  For others the old table still counts, and they can use
 * the slot.
 */
static void
check_is_new(const Generator *generator)
{
	Relation	rel = relation_open(generator->sequence, NoLock);
	bool		is_new = flake_is_new(rel);

	relation_close(rel, NoLock);
	if (!is_new)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot mint ids of generator \"%s\" before the new extension \"flakeid\" is committed",
						get_rel_name(generator->sequence)),
				 errdetail("This transaction has created the extension, and the generator was there before."),
				 errhint("Commit first.")));
}

static bool
is_same_state(const ShardState *a, const ShardState *b)
{
	return a->exists == b->exists && a->attached == b->attached &&
		a->has_after == b->has_after && a->after == b->after;
}

void
flake_shard_open(Generator *generator, const GeneratorSlot *slot, Oid function)
{
	Oid			sequence = generator->sequence;
	int64		above = FLAKE_PACKED_NONE;
	ShardState	state;

	/* UUIDs and ObjectIDs have no shards. */
	if (generator->key == FLAKE_UUID || generator->key == FLAKE_OBJECTID)
	{
		flake_slot_open(slot->slot, above);
		flake_generator_mark_checked(generator);
		return;
	}

	/* F2 */
	(void) flake_shard_lock(sequence, slot->shard, FLAKE_READ_STATE, true);
	state = flake_shard_read_state(sequence, slot->shard, function);
	for (;;)
	{
		ShardState	before;

		check_state(&state, slot->shard);
		above = state.has_after
			? flake_layout_packed_up_to(&generator->layout, state.after)
			: FLAKE_PACKED_NONE;
		if (state.is_new)
		{
			MemoryContext old_context;

			check_is_new(generator);
			old_context = MemoryContextSwitchTo(TopTransactionContext);
			opened_in_doubt = lappend(opened_in_doubt, slot->slot);
			MemoryContextSwitchTo(old_context);
		}
		flake_slot_open(slot->slot, above);

		/*
		 * Who writes a row by hand does not lock the shard, and closes the
		 * slot after the commit.  If that was just before this, the row is
		 * there now.
		 */
		before = state;
		state = flake_shard_read_state(sequence, slot->shard, function);
		if (is_same_state(&before, &state))
			break;
		(void) flake_slot_close(slot->slot);
	}
	flake_generator_mark_checked(generator);
	flake_shard_unlock(sequence, slot->shard, FLAKE_READ_STATE);
}
