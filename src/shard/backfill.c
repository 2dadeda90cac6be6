/*-------------------------------------------------------------------------
 *
 * backfill.c
 *	  Shards whose ids are of past times.
 *
 * An id that is minted is above all of its shard before (M1), and so is of the
 * present.  Rows of the past get ids of a shard that is set aside for them: it is
 * detached, so that nobody mints it.  Its ids ascend, too, from a time of the
 * past on.  By these rules none repeats:
 *
 *	B1	A shard is backfilled only if it was detached here before anything was
 *		known to have been minted of it: it had no state, and no slot was opened since
 *		the server started.  (What was minted earlier, or elsewhere, is not known.)
 *	B2	A shard that is attached, or whose server is said to be a copy, is backfilled
 *		no more, and its next ids are above what was backfilled.
 *	B3	An id is above the last one that a committed transaction has backfilled, and
 *		above all of this transaction.  The shard's lock, kept to the end, has others
 *		wait meanwhile.
 *
 * How far a shard is backfilled is in its row in the table of states, as an id: NULL
 * where B1 or B2 rules it out.  A transaction reads it under the lock, goes on in
 * memory, and writes it before it commits or is prepared.  So it is as durable as the
 * rows that have the ids, and a transaction that is undone has handed out nothing that
 * anybody could have kept.  If a subtransaction is undone that was the first to backfill
 * a shard, its locks go, and what it had in memory is forgotten.  If it was not, the
 * memory stays, and its ids are lost.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "compat.h"
#include "layout/layout.h"
#include "nodes/pg_list.h"
#include "shard/backfill.h"
#include "shard/state.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

Backfill   *flake_recent_backfill = NULL;

/* Those of this transaction, in its memory. */
static List *backfills = NIL;

Backfill *
flake_backfill_search(Oid sequence, int32 shard)
{
	ListCell   *lc;

	foreach(lc, backfills)
	{
		Backfill   *backfill = lfirst(lc);

		if (backfill->sequence == sequence && backfill->shard == shard)
			return flake_recent_backfill = backfill;
	}
	return NULL;
}

/* Raises ERROR 55000: somebody mints the shard. */
pg_noreturn static void
not_detached(int32 shard)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("shard %d is not detached", shard),
			 errdetail("Ids of past times are of a shard that nobody mints."),
			 errhint("Choose a shard that was never minted, on no server, and detach it: flake_detach().")));
}

/* B1, B2: ERROR unless a shard may be backfilled. */
static void
check_state(const ShardState *state, int32 shard)
{
	if (!state->exists || state->attached)
		not_detached(shard);
	if (!state->has_backfilled)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d may have ids of past times already", shard),
				 errdetail("It was minted before it was detached, or it was attached or leased, or detached by flake_detach_all()."),
				 errhint("Choose a shard that was never minted, on no server, and detach it: flake_detach().")));
}

Backfill *
flake_backfill_begin(Oid sequence, const FlakeLayout *layout, int32 shard, Oid function)
{
	Backfill   *backfill;
	ShardState	state;
	int64		last;

	/* B3.  Those who want to mint it do not wait: its state does not change. */
	(void) flake_shard_lock(sequence, shard, FLAKE_CHANGE_LEASE, true);
	state = flake_shard_read_state(sequence, shard, function);
	check_state(&state, shard);

	backfill = flake_backfill_search(sequence, shard);
	if (backfill == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

		backfill = palloc(sizeof(Backfill));
		backfill->sequence = sequence;
		backfill->shard = shard;
		backfill->function = function;
		backfill->subid = GetCurrentSubTransactionId();
		backfill->user = InvalidOid;
		backfill->layout = *layout;
		backfill->image = flake_layout_shard_image(layout, shard);
		backfill->last = FLAKE_PACKED_NONE;
		backfills = lappend(backfills, backfill);
		MemoryContextSwitchTo(old_context);
	}
	last = flake_layout_shard_packed_up_to(&backfill->layout, state.backfilled, backfill->image);
	backfill->last = Max(backfill->last, last);
	return backfill;
}

/*
 * What this transaction has dropped has no row any more: the generator, or the
 * extension.
 */
static void
write_one(const Backfill *backfill)
{
	int64		id = flake_layout_id(&backfill->layout, backfill->last, backfill->image);

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(backfill->sequence)) ||
		!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(backfill->function)))
		return;
	if (!flake_shard_write_backfilled(backfill->sequence, backfill->shard, id,
									  backfill->function))
		not_detached(backfill->shard);
}

void
flake_backfill_write(Oid sequence)
{
	ListCell   *lc;

	foreach(lc, backfills)
	{
		Backfill   *backfill = lfirst(lc);

		if (backfill->sequence != sequence)
			continue;
		write_one(backfill);
		backfill->user = InvalidOid;
	}
}

static void
transaction_ends(XactEvent event, void *arg)
{
	ListCell   *lc;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			foreach(lc, backfills)
				write_one(lfirst(lc));
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			backfills = NIL;	/* its memory goes with the transaction's */
			flake_recent_backfill = NULL;
			break;
		default:
			break;
	}
}

/* What a subtransaction that is undone has done to states is undone, too. */
static void
subtransaction_ends(SubXactEvent event, SubTransactionId subid,
					SubTransactionId parent, void *arg)
{
	ListCell   *lc;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	foreach(lc, backfills)
	{
		Backfill   *backfill = lfirst(lc);

		if (event == SUBXACT_EVENT_ABORT_SUB)
			backfill->user = InvalidOid;
		if (backfill->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			backfill->subid = parent;
		else
		{
			flake_recent_backfill = NULL;
			backfills = foreach_delete_current(backfills, lc);
		}
	}
}

void
flake_backfill_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
