/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  What the catalogs say of a generator: its sequence and its layout.
 *
 * A generator is a sequence with a layout.  The sequence keeps the horizon
 * (see horizon_page.c).  The layout is a security label of the sequence, because
 * that is dropped, dumped and upgraded with it, and cannot be set without our
 * consent (see sql/create.c).  The extension's own generators have theirs built
 * in.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_seclabel.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/seclabel.h"
#include "commands/sequence.h"
#include "layout/layout.h"
#include "layout/layout_text.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/horizon_page.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * The extension's own generators.  Boundary's UUIDs and ObjectIDs have
 * no shard: what stands there is not minted but added to the id (see
 * sql/wide.c).
 */
static const struct
{
	const char *sequence;
	const char *layout;
}			builtins[FLAKE_BUILTINS] =

{
	[FLAKE_DEFAULT] = {
		"flake_default",
		"ts:41 shard:13 seq:10 epoch=1314220021721 unit=1ms start=continue"
	},
	[FLAKE_UUID] = {
		"flake_default_uuid",
		"ts:47 seq:16 epoch=1970-01-01 unit=1ms start=zero"
	},
	[FLAKE_OBJECTID] = {
		"flake_default_objectid",
		"ts:32 seq:24 epoch=1970-01-01 unit=1s start=continue"
	},
	[FLAKE_UUIDV7] = {
		"flake_default_uuidv7",
		"ts:48 seq:12 shard:13 form=uuidv7 epoch=1970-01-01 unit=1ms start=zero"
	},
};

const char *
flake_generator_builtin_name(Oid key)
{
	return builtins[key].sequence;
}

Oid
flake_generator_sequence(Oid key, Oid function)
{
	if (key >= FLAKE_BUILTINS)
		return key;
	return get_relname_relid(builtins[key].sequence,
							 get_func_namespace(function));
}

Oid
flake_generator_key(Oid sequence, Oid function)
{
	for (Oid key = 0; key < FLAKE_BUILTINS; key++)
	{
		if (flake_generator_sequence(key, function) == sequence)
			return key;
	}
	return sequence;
}

AclMode
flake_generator_mint_privileges(Oid key)
{
	return key < FLAKE_BUILTINS ? ACL_SELECT | ACL_USAGE : ACL_USAGE;
}

void
flake_generator_check_privilege(Oid sequence, AclMode any_of)
{
	AclResult	result = pg_class_aclcheck(sequence, GetUserId(), any_of);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SEQUENCE, get_rel_name(sequence));
}

List *
flake_generator_list(Oid function)
{
	List	   *sequences = NIL;
	Relation	labels = table_open(SecLabelRelationId, AccessShareLock);
	SysScanDesc scan;
	HeapTuple	tuple;
	ScanKeyData keys[2];

	for (Oid key = 0; key < FLAKE_BUILTINS; key++)
	{
		Oid			sequence = flake_generator_sequence(key, function);

		if (OidIsValid(sequence))
			sequences = lappend_oid(sequences, sequence);
	}
	ScanKeyInit(&keys[0], Anum_pg_seclabel_classoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_seclabel_provider, BTEqualStrategyNumber,
				F_TEXTEQ, CStringGetTextDatum(FLAKE_LABEL_PROVIDER));
	scan = systable_beginscan(labels, InvalidOid, false, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		sequences = lappend_oid(sequences,
								((FormData_pg_seclabel *) GETSTRUCT(tuple))->objoid);
	systable_endscan(scan);
	table_close(labels, AccessShareLock);
	return sequences;
}

void
flake_no_such_generator(Oid sequence)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("generator with OID %u does not exist", sequence),
			 errdetail("Its sequence has been dropped.")));
}

/* Why a relation is not a generator. */
static const char *
not_a_generator_detail(Oid relid)
{
	if (get_rel_relkind(relid) != RELKIND_SEQUENCE)
		return "It is not a sequence.";
	if (get_rel_persistence(relid) != RELPERSISTENCE_PERMANENT)
		return "A temporary or unlogged sequence forgets in a crash what was handed out.";
	return "It is an ordinary sequence.";
}

/* The text of the layout that a sequence has, or NULL. */
static const char *
layout_text(Oid relid, Oid key)
{
	ObjectAddress address;

	if (get_rel_relkind(relid) != RELKIND_SEQUENCE)
		return NULL;
	if (key < FLAKE_BUILTINS)
		return builtins[key].layout;
	ObjectAddressSet(address, RelationRelationId, relid);
	return GetSecurityLabel(&address, FLAKE_LABEL_PROVIDER);
}

bool
flake_generator_layout(Oid sequence, Oid function, bool missing_ok,
					   FlakeLayout *layout)
{
	const char *text = NULL;
	const char *name = get_rel_name(sequence);
	FlakeLayoutError error;

	if (name != NULL && get_rel_persistence(sequence) == RELPERSISTENCE_PERMANENT)
		text = layout_text(sequence, flake_generator_key(sequence, function));

	if (text == NULL && missing_ok)
		return false;

	if (name == NULL)
		flake_no_such_generator(sequence);
	if (text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a generator", name),
				 errdetail_internal("%s", not_a_generator_detail(sequence)),
				 errhint("Generators are made by flake_create_generator().")));
	if (!flake_layout_parse(text, layout, &error))
		elog(ERROR, "invalid layout \"%s\" of generator \"%s\"", text, name);
	return true;
}

bool
flake_generator_any_layout(Oid sequence, Oid function, FlakeLayout *layout,
						   bool *is_logged)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(sequence));
	char		persistence;
	const char *text;
	FlakeLayoutError error;

	if (!HeapTupleIsValid(tuple))
		return false;
	persistence = ((Form_pg_class) GETSTRUCT(tuple))->relpersistence;
	ReleaseSysCache(tuple);
	*is_logged = persistence == RELPERSISTENCE_PERMANENT;
	if (persistence == RELPERSISTENCE_TEMP)
		return false;			/* of a session, which nobody can copy */
	text = layout_text(sequence, flake_generator_key(sequence, function));
	return text != NULL && flake_layout_parse(text, layout, &error);
}

/*
 * Whether a sequence was made by the subtransaction that has a transaction id,
 * so that both are undone together or not at all.
 *
 * Of its rows in catalogs, that of a column says so: no ALTER SEQUENCE changes
 * it.  GRANT may, and then it no longer says who made it.
 */
static bool
is_made_by(Oid sequence, TransactionId xid)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(sequence),
										Int16GetDatum(SEQ_COL_LASTVAL));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u",
			 SEQ_COL_LASTVAL, sequence);
	result = TransactionIdEquals(HeapTupleHeaderGetXmin(tuple->t_data), xid) &&
		(tuple->t_data->t_infomask & HEAP_UPDATED) == 0;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * ERROR if this transaction has made a generator of a sequence that may stay
 * when that is undone: one that is older, or was made before a savepoint.  The
 * sequence may then be given another layout.  In that one the ids minted
 * meanwhile could come again, and its horizon and slots would have been moved
 * by numbers that mean something else.
 */
void
flake_generator_check_label(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);
	Relation	labels = table_open(SecLabelRelationId, AccessShareLock);
	ScanKeyData keys[4];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		in_doubt = false;

	ScanKeyInit(&keys[0], Anum_pg_seclabel_objoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(sequence));
	ScanKeyInit(&keys[1], Anum_pg_seclabel_classoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[2], Anum_pg_seclabel_objsubid, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(0));
	ScanKeyInit(&keys[3], Anum_pg_seclabel_provider, BTEqualStrategyNumber,
				F_TEXTEQ, CStringGetTextDatum(FLAKE_LABEL_PROVIDER));
	scan = systable_beginscan(labels, SecLabelObjectIndexId, true, NULL,
							  lengthof(keys), keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		TransactionId xid = HeapTupleHeaderGetXmin(tuple->t_data);

		in_doubt = TransactionIdIsCurrentTransactionId(xid) &&
			!is_made_by(sequence, xid);
	}
	systable_endscan(scan);
	table_close(labels, AccessShareLock);

	if (in_doubt)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot use generator \"%s\" before its layout is committed",
						RelationGetRelationName(rel)),
				 errdetail("If it were rolled back, ids minted meanwhile could repeat in another layout."),
				 errhint("Commit first.")));
	relation_close(rel, NoLock);
}

char *
flake_generator_alteration(Oid sequence, const FlakeLayout *layout)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence));
	FormData_pg_sequence form;
	int64		min;
	int64		max;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", sequence);
	form = *(Form_pg_sequence) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	flake_horizon_bounds(layout, &min, &max);
	if (form.seqtypid != INT8OID)
		return psprintf("Its type is %s, and was bigint.", format_type_be(form.seqtypid));
	if (form.seqincrement != PG_INT64_MAX)
		return psprintf("Its INCREMENT is %lld, and was %lld.",
						(long long) form.seqincrement, (long long) PG_INT64_MAX);
	if (form.seqmin != min)
		return psprintf("Its MINVALUE is %lld, and was %lld.",
						(long long) form.seqmin, (long long) min);
	if (form.seqmax != max)
		return psprintf("Its MAXVALUE is %lld, and was %lld.",
						(long long) form.seqmax, (long long) max);
	return form.seqcycle ? pstrdup("It has CYCLE, and had NO CYCLE.") : NULL;
}

/*
 * Whatever takes it for an ordinary sequence, as Citus does when it distributes a
 * table whose default names it, also sets where it begins.
 */
void
flake_generator_check_sequence(Oid sequence, const FlakeLayout *layout)
{
	char	   *alteration = flake_generator_alteration(sequence, layout);
	int64		min;
	int64		max;

	if (alteration == NULL)
		return;
	flake_horizon_bounds(layout, &min, &max);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("sequence of generator \"%s\" has been altered", get_rel_name(sequence)),
			 errdetail_internal("%s", alteration),
			 errhint("Set it back: ALTER SEQUENCE %s AS bigint INCREMENT %lld MINVALUE %lld MAXVALUE %lld START %lld NO CYCLE RESTART. Ids then go on where they were.",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(sequence)),
												get_rel_name(sequence)),
					 (long long) PG_INT64_MAX, (long long) min, (long long) max,
					 (long long) min)));
}
