/*-------------------------------------------------------------------------
 *
 * restored.c
 *	  SQL functions that show restores to an earlier time, and accept them.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/restore.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(flake_restore_of);
PG_FUNCTION_INFO_V1(flake_accept_restore);

#define RESTORE_COLUMNS	3

/*
 * _flake_restore_of(generator regclass, OUT accepted_timeline bigint,
 *	OUT timeline bigint, OUT reason text) returns record
 */
Datum
flake_restore_of(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	Datum		values[RESTORE_COLUMNS] = {0};
	bool		nulls[RESTORE_COLUMNS] = {true, true, true};
	FlakeLayout layout;
	Restore		restore;
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	/* Not LockRelationOid(): flake_health waits for nobody, and says so. */
	if (ConditionalLockRelationOid(sequence, RowExclusiveLock))
	{
		if (flake_generator_layout(sequence, fcinfo->flinfo->fn_oid, true, &layout) &&
			flake_restore_find(sequence, PAGE_BRIEFLY, &restore))
		{
			values[0] = Int64GetDatum((int64) restore.accepted);
			values[1] = Int64GetDatum((int64) restore.present);
			values[2] = CStringGetTextDatum(restore.reason);
			memset(nulls, 0, sizeof(nulls));
		}
		UnlockRelationOid(sequence, RowExclusiveLock);
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * Accepts restores of a generator, which is locked only for that.  False if that
 * would mean waiting, and wait is false.
 */
static bool
accept_restore_of(Oid sequence, Oid function, bool wait)
{
	FlakeLayout layout;

	if (wait)
		LockRelationOid(sequence, RowExclusiveLock);
	else if (!ConditionalLockRelationOid(sequence, RowExclusiveLock))
		return false;

	/* One that is dropped meanwhile is no generator any more. */
	if (flake_generator_layout(sequence, function, true, &layout))
		XLogFlush(flake_restore_accept(sequence));
	UnlockRelationOid(sequence, RowExclusiveLock);
	return true;
}

/*
 * flake_accept_restore() returns void
 *
 * Whoever may execute it may do so for all generators of the database.  It is not
 * undone by ROLLBACK.  Anybody can lock a generator of his own for as long as he
 * likes, so those that are in use come last, and nothing is held meanwhile.
 */
Datum
flake_accept_restore(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	List	   *in_use = NIL;
	ListCell   *lc;

	PreventCommandIfReadOnly("flake_accept_restore()");
	PreventCommandIfParallelMode("flake_accept_restore()");
	foreach(lc, flake_generator_list(function))
	{
		CHECK_FOR_INTERRUPTS();
		if (!accept_restore_of(lfirst_oid(lc), function, false))
			in_use = lappend_oid(in_use, lfirst_oid(lc));
	}
	foreach(lc, in_use)
	{
		CHECK_FOR_INTERRUPTS();
		(void) accept_restore_of(lfirst_oid(lc), function, true);
	}
	PG_RETURN_VOID();
}
