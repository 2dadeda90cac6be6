/*-------------------------------------------------------------------------
 *
 * sequence_state.c
 *	  A SQL function that reads how far a sequence is.
 *
 * SELECT from the sequence would wait for its page, and cannot be canceled while a
 * client that does not read keeps that locked: see mint/locks.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mint/locks.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(flake_sequence_state);

/* How often to try, each time for 0.1 s: the caller has locked tables. */
#define MAX_TRIES	10

/* The tuple on the page of a sequence; false if others keep the page locked. */
static bool
read_sequence(Relation rel, int max_tries, FormData_pg_sequence_data *data)
{
	Buffer		buffer = InvalidBuffer;
	Page		page;
	HeapTupleHeader tuple;

	for (int i = 0; i < max_tries && !BufferIsValid(buffer); i++)
		buffer = flake_page_lock(rel, NULL, PAGE_BRIEFLY);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	tuple = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, FirstOffsetNumber));
	memcpy(data, (char *) tuple + tuple->t_hoff, sizeof(FormData_pg_sequence_data));
	flake_page_unlock();
	return true;
}

/*
 * _flake_sequence_state(ticket _flake_ticket, sequence oid, only_looks boolean,
 *	OUT last_value bigint, OUT is_called boolean) returns record
 *
 * If the page is not to be had: who only looks gets nulls after 0.1 s, and others
 * an error after a second.
 */
Datum
flake_sequence_state(PG_FUNCTION_ARGS)
{
	bool		only_looks = PG_GETARG_BOOL(2);
	Relation	rel = relation_open(PG_GETARG_OID(1), AccessShareLock);
	FormData_pg_sequence_data data = {0};
	AclResult	result;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	if (rel->rd_rel->relkind != RELKIND_SEQUENCE)
	{
		relation_close(rel, AccessShareLock);
		PG_RETURN_NULL();
	}
	result = pg_class_aclcheck(RelationGetRelid(rel), GetUserId(), ACL_SELECT);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SEQUENCE, RelationGetRelationName(rel));
	if (!read_sequence(rel, only_looks ? 1 : MAX_TRIES, &data))
	{
		if (!only_looks)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not lock the page of sequence \"%s\"",
							RelationGetRelationName(rel)),
					 errdetail("Another session keeps it locked."),
					 errhint("Look for wait_event \"ClientWrite\" in pg_stat_activity: a client that has called nextval() on the sequence, and does not read the error. End that client.")));
		nulls[0] = nulls[1] = true;
	}
	relation_close(rel, NoLock);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(data.last_value);
	values[1] = BoolGetDatum(data.is_called);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}
