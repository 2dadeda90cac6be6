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
 *		known to have been minted of it: it had no state, nor had all others, and no
 *		slot was opened since the server started.  (What was minted earlier, or
 *		elsewhere, is not known.)
 *	B2	A shard that is attached, or whose server is said to be a copy, is backfilled
 *		no more, and its next ids are above what was backfilled.
 *	B3	An id is above the last one that a committed transaction has backfilled, above
 *		all of this transaction, and above what the slot has: all that was backfilled
 *		since the server started, but for what nobody can have kept.  The shard's lock,
 *		kept to the end, has others wait meanwhile.
 *	B4	No id is above the bound that flake_detach() returned.  So wherever the shard
 *		is attached by that, F3 holds.
 *
 * How far a shard is backfilled is in its row in the table of states, as an id: NULL
 * where B1 or B2 rules it out.  A transaction reads it under the lock, goes on in
 * memory, and writes it before it commits or is prepared.  So it is as durable as the
 * rows that have the ids.
 *
 * What is undone has handed out ids, too.  A variable of PL/pgSQL keeps one when a
 * subtransaction is undone: so neither locks nor memory go before the transaction
 * does, and the slot is told, which may be opened if the detach was undone, too.  It
 * keeps one when a procedure says ROLLBACK: then the slot is told, and the session
 * keeps how far it was.  The next transaction that commits may have the ids in its rows,
 * so it writes that first.  If the detach was undone, too, the shard gets a row that says
 * what it is without, so that B1 refuses it.  The slot is
 * also told of what was committed, as the row goes with DROP EXTENSION.  But nobody is
 * told of a transaction that fails, or that the client undoes: the same rows can be
 * loaded once more.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "compat.h"
#include "executor/spi.h"
#include "layout/layout.h"
#include "mint/relation_change.h"
#include "mint/slot.h"
#include "nodes/pg_list.h"
#include "settings.h"
#include "shard/backfill.h"
#include "shard/citus.h"
#include "shard/state.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

Backfill   *flake_recent_backfill = NULL;

/*
 * Those of this transaction, and those that a procedure has kept of one before: in
 * TopMemoryContext, so that to keep them takes no memory.
 */
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

static Backfill *
add(const Generator *generator, const GeneratorSlot *slot, Oid function)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);
	Backfill   *backfill = palloc0(sizeof(Backfill));

	backfill->sequence = generator->sequence;
	backfill->shard = slot->shard;
	backfill->function = function;
	backfill->layout = generator->layout;
	backfill->image = slot->image;
	backfill->slot = slot->slot;
	backfill->last = FLAKE_PACKED_NONE;
	backfill->written = FLAKE_PACKED_NONE;
	backfill->is_undone = true;
	backfills = lappend(backfills, backfill);
	MemoryContextSwitchTo(old_context);
	return backfill;
}

/* B3: the last value of a shard that may have been kept. */
static int64
last_handed_out(const Backfill *backfill, const ShardState *state)
{
	int64		last = flake_layout_shard_packed_up_to(&backfill->layout, state->backfilled,
													   backfill->image);
	ListCell   *lc;

	/* It may have been minted, too, if the row came from elsewhere. */
	last = Max(last, flake_slot_last(backfill->slot));
	last = Max(last, flake_slot_backfilled(backfill->slot));
	foreach(lc, backfills)
	{
		const Backfill *other = lfirst(lc);

		/* Its sequence may be one that was dropped since. */
		if (other->slot == backfill->slot)
			last = Max(last, other->last);
	}
	return last;
}

Backfill *
flake_backfill_begin(Generator *generator, int32 shard, Oid function)
{
	Oid			sequence = generator->sequence;
	Backfill   *backfill;
	ShardState	state;

	(void) flake_generator_slot(generator, shard);

	/* B3.  Those who want to mint it do not wait: its state does not change. */
	flake_shard_lock_to_the_end(sequence, FLAKE_OTHER_SHARDS, FLAKE_READ_STATE);
	flake_shard_lock_to_the_end(sequence, shard, FLAKE_CHANGE_LEASE);
	state = flake_shard_read_state(sequence, shard, function);
	check_state(&state, shard);

	/* To read it may have brought news. */
	generator = flake_generator_look(sequence, function);
	backfill = flake_backfill_search(sequence, shard);
	if (backfill == NULL)
		backfill = add(generator, flake_generator_slot(generator, shard), function);
	else if (backfill->is_kept)
	{
		backfill->function = function;
		backfill->slot = flake_generator_slot(generator, shard)->slot;
		backfill->is_kept = false;
	}
	if (backfill->is_undone)
		backfill->subid = GetCurrentSubTransactionId();
	backfill->is_undone = false;
	backfill->last = last_handed_out(backfill, &state);

	/* B4 */
	backfill->limit = !state.has_after ? FLAKE_PACKED_NONE
		: flake_layout_shard_packed_up_to(&backfill->layout, state.after, backfill->image);
	return backfill;
}

/*
 * What this transaction has dropped has no row any more: the generator, or the
 * extension.  Nor has a shard that was detached in a subtransaction that was undone.
 */
static void
write_one(Backfill *backfill)
{
	int64		id = flake_layout_id(&backfill->layout, backfill->last, backfill->image);

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(backfill->sequence)))
	{
		/* The slots of a sequence go with it; those of the extension's stay. */
		if (backfill->slot != NULL && backfill->slot->key.generator >= FLAKE_BUILTINS)
			backfill->slot = NULL;
		return;
	}
	if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(backfill->function)))
		return;
	if (!flake_shard_write_backfilled(backfill->sequence, backfill->shard, id,
									  backfill->function) &&
		!backfill->is_undone)
		not_detached(backfill->shard);
	backfill->written = backfill->last;
}

/*
 * Locks a shard whose ids of an earlier transaction a procedure may have put into rows
 * of this one.  So that its row is not missed, a commit that drops the generator is
 * waited for.
 */
static void
lock_kept(const Backfill *backfill)
{
	LockRelationOid(backfill->sequence, AccessShareLock);
	flake_shard_lock_to_the_end(backfill->sequence, FLAKE_OTHER_SHARDS, FLAKE_READ_STATE);
	flake_shard_lock_to_the_end(backfill->sequence, backfill->shard, FLAKE_CHANGE_LEASE);
	ForceSyncCommit();
}

/* Whether a shard may be minted that has no row: see judge() in fence.c. */
static bool
may_mint_without_row(const Backfill *backfill, const ShardState *state)
{
	CitusNode	node;

	if (state->others_detached || flake_require_attach)
		return false;
	node = flake_citus_node();
	return node.place == CITUS_IS_ABSENT ||
		flake_citus_is_own(node, &backfill->layout, backfill->shard);
}

/*
 * B1: gives a shard a row if it has none, as its detach was undone.  The row says what
 * it is without, and the slot was told, so those who read the state until the commit need
 * not be kept out.  But a prepared transaction outlives the slot.
 */
static void
rule_out(const Backfill *backfill, bool prepares)
{
	Oid			sequence = backfill->sequence;
	int32		shard = backfill->shard;
	ShardState	state;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(sequence)) ||
		!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(backfill->function)))
		return;
	state = flake_shard_read_state(sequence, shard, backfill->function);
	if (state.exists)
		return;
	if (prepares)
		flake_shard_lock_to_the_end(sequence, shard, FLAKE_CHANGE_STATE);
	state.attached = may_mint_without_row(backfill, &state);
	state.has_after = true;
	state.after = flake_layout_id(&backfill->layout, backfill->last, backfill->image);
	flake_shard_write_state(sequence, shard, &state, backfill->function);
}

/* What the transaction commits can have ids that were undone, also of one before. */
static void
write_at_end(Backfill *backfill, bool prepares)
{
	if (backfill->is_kept)
		lock_kept(backfill);
	write_one(backfill);
	if (backfill->is_undone)
		rule_out(backfill, prepares);
}

void
flake_backfill_write(Oid sequence)
{
	ListCell   *lc;

	foreach(lc, backfills)
	{
		Backfill   *backfill = lfirst(lc);

		if (backfill->sequence != sequence || backfill->is_kept)
			continue;
		if (backfill->written != backfill->last)
			write_one(backfill);
		backfill->user = InvalidOid;
	}
}

/* The ids were handed out for good, or may have been. */
static void
note(const Backfill *backfill)
{
	if (backfill->slot != NULL)
		flake_slot_note_backfilled(backfill->slot, backfill->last);
}

static void
note_all(void)
{
	ListCell   *lc;

	foreach(lc, backfills)
		note(lfirst(lc));
}

/* What is undone, a procedure goes on with. */
static void
keep_all(void)
{
	ListCell   *lc;

	note_all();
	foreach(lc, backfills)
	{
		Backfill   *backfill = lfirst(lc);

		backfill->subid = InvalidSubTransactionId;
		backfill->user = InvalidOid;
		backfill->slot = NULL;	/* it has been told, and may be freed */
		backfill->written = FLAKE_PACKED_NONE;
		backfill->is_undone = true;
		backfill->is_kept = true;
	}
}

/*
 * Whether a procedure goes on after the ROLLBACK, with its variables.  When an error
 * has ended the statement, no portal is executed any more.
 */
static bool
procedure_goes_on(void)
{
	return SPI_inside_nonatomic_context() && ActivePortal != NULL;
}

static void
transaction_ends(XactEvent event, void *arg)
{
	ListCell   *lc;

	if (backfills == NIL)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			foreach(lc, backfills)
				write_at_end(lfirst(lc), event == XACT_EVENT_PRE_PREPARE);
			return;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			note_all();
			break;
		case XACT_EVENT_ABORT:
			flake_recent_backfill = NULL;
			if (procedure_goes_on())
			{
				keep_all();
				return;
			}
			break;
		default:
			return;
	}
	list_free_deep(backfills);
	backfills = NIL;
	flake_recent_backfill = NULL;
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
		{
			backfill->user = InvalidOid;
			backfill->written = FLAKE_PACKED_NONE;
		}
		if (backfill->subid != subid)
			continue;
		backfill->subid = parent;
		if (event == SUBXACT_EVENT_ABORT_SUB)
		{
			/* With its row, the shard may be minted before the commit. */
			note(backfill);
			backfill->is_undone = true;
		}
	}
}

/* Privileges are looked at again. */
static void
relation_changed(Oid relid)
{
	ListCell   *lc;

	foreach(lc, backfills)
	{
		Backfill   *backfill = lfirst(lc);

		if (!OidIsValid(relid) || backfill->sequence == relid)
			backfill->user = InvalidOid;
	}
}

static void
roles_changed(Datum arg, SysCacheIdentifier cacheid, uint32 hashvalue)
{
	relation_changed(InvalidOid);
}

void
flake_backfill_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
	flake_on_relation_change(relation_changed);
	CacheRegisterSyscacheCallback(AUTHOID, roles_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, roles_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, roles_changed, (Datum) 0);	/* pg_database_owner */
}
