/*-------------------------------------------------------------------------
 *
 * create.c
 *	  Creating generators.
 *
 * What makes a sequence a generator is its layout, which is a security label
 * of provider "flakeid".  pg_dump writes
 *
 *	SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS 'ts:41 shard:13 ...'
 *
 * and the provider, which is this library, checks it when it is restored.  The
 * command works only in a session that has loaded the library.  In a restore
 * nothing else may have done that, so the extension has an event trigger on
 * this one command; its function is called, and thereby the library loaded,
 * before the command looks for the provider.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/seclabel.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/layout_type.h"
#include "mint/definition.h"
#include "mint/exceed.h"
#include "mint/generator.h"
#include "mint/restore.h"
#include "mint/horizon_page.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "sql/create.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(flake_load_library);
PG_FUNCTION_INFO_V1(flake_create_generator);
PG_FUNCTION_INFO_V1(flake_go_on);

/* _flake_load_library() returns event_trigger: what matters is being called. */
Datum
flake_load_library(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}

/* Whether a sequence's last_value can be any horizon of the layout. */
static bool
can_keep_horizon(Oid sequence, const FlakeLayout *layout)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence));
	Form_pg_sequence form;
	int64		min;
	int64		max;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;			/* not a sequence */
	form = (Form_pg_sequence) GETSTRUCT(tuple);
	flake_horizon_bounds(layout, &min, &max);
	result = form->seqtypid == INT8OID &&
		form->seqmin <= min && form->seqmax >= max;
	ReleaseSysCache(tuple);
	return result && get_rel_persistence(sequence) == RELPERSISTENCE_PERMANENT;
}

/* More than any layout needs. */
#define MAX_LABEL_LEN	1000

/*
 * Checks a label that is about to be set, for ERROR if it must not be.
 *
 * Whoever restores a dump must be able to set one, but nobody to change or
 * remove it: ids minted with one layout would be read with another.
 */
static void
check_label(const ObjectAddress *object, const char *label)
{
	char	   *old_label = GetSecurityLabel(object, FLAKE_LABEL_PROVIDER);
	FlakeLayout layout;
	FlakeLayout old_layout;
	FlakeLayoutError error;

	/* Others read it: who shows all generators, for example. */
	if (label != NULL && strlen(label) > MAX_LABEL_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("layout of a generator must have up to %d bytes", MAX_LABEL_LEN)));
	if (label != NULL && !flake_layout_parse(label, &layout, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid layout of a generator: \"%s\"", label),
				 errdetail_internal("%s", error.detail)));
	if (old_label != NULL &&
		(label == NULL ||
		 !flake_layout_parse(old_label, &old_layout, &error) ||
		 memcmp(&layout, &old_layout, sizeof(FlakeLayout)) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change the layout of generator \"%s\"",
						get_rel_name(object->objectId)),
				 errdetail("Ids that were minted with it would be read wrongly, and new ones could be equal to them."),
				 errhint("Create another generator, with flake_create_generator().")));
	if (label != NULL &&
		(object->classId != RelationRelationId ||
		 !can_keep_horizon(object->objectId, &layout)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("a layout can only be given to a sequence that can keep its horizon"),
				 errdetail("This label is set when a generator is created or restored."),
				 errhint("Generators are made by flake_create_generator().")));

	if (label == NULL)
		return;

	/* Setting a label is no change of the sequence to PostgreSQL: say so. */
	CacheInvalidateRelcacheByRelid(object->objectId);

	/*
	 * A restore to a time before the first use is to be found, too.  The same
	 * label once more accepts none.
	 */
	if (old_label == NULL)
		(void) flake_restore_accept(object->objectId);
}

void
flake_create_init(void)
{
	register_label_provider(FLAKE_LABEL_PROVIDER, check_label);
}

/* An option of CREATE SEQUENCE, as the grammar has it for a bigint. */
static DefElem *
sequence_option(const char *name, int64 value)
{
	return makeDefElem(pstrdup(name),
					   (Node *) makeFloat(psprintf("%lld", (long long) value)),
					   -1);
}

/*
 * Creates the sequence of a generator as CREATE SEQUENCE does, as the current
 * user and with event triggers.  But no text is executed: a name is resolved
 * only once, and what it was resolved to is returned.
 */
static ObjectAddress
create_sequence(RangeVar *name, const FlakeLayout *layout)
{
	CreateSeqStmt *statement = makeNode(CreateSeqStmt);
	ObjectAddress address = InvalidObjectAddress;
	int64		min;
	int64		max;
	bool		has_state;

	flake_horizon_bounds(layout, &min, &max);
	statement->sequence = name;
	statement->options = list_make1(sequence_option("increment", PG_INT64_MAX));
	statement->options = lappend(statement->options,
								 sequence_option("minvalue", min));
	statement->options = lappend(statement->options,
								 sequence_option("maxvalue", max));

	/* What ProcessUtility() does around a command that creates something */
	has_state = EventTriggerBeginCompleteQuery();
	PG_TRY();
	{
		EventTriggerDDLCommandStart((Node *) statement);
		address = DefineSequence(make_parsestate(NULL), statement);
		if (get_rel_persistence(address.objectId) != RELPERSISTENCE_PERMANENT)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot create generator \"%s\" in a schema for temporary objects",
							name->relname),
					 errdetail("A temporary sequence forgets in a crash what was handed out."),
					 errhint("Qualify its name with another schema.")));
		EventTriggerCollectSimpleCommand(address, InvalidObjectAddress,
										 (Node *) statement);
		EventTriggerSQLDrop((Node *) statement);
		EventTriggerDDLCommandEnd((Node *) statement);
	}
	PG_FINALLY();
	{
		if (has_state)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();

	/* The next look-up is to see it, and what triggers have made of it. */
	CommandCounterIncrement();
	if (!can_keep_horizon(address.objectId, layout))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("an event trigger has dropped or changed the sequence of generator \"%s\"",
						name->relname)));
	return address;
}

/*
 * flake_create_generator(name text, layout flake_layout, after bigint)
 *	returns regclass
 *
 * Not strict: after may be NULL.
 */
Datum
flake_create_generator(PG_FUNCTION_ARGS)
{
	RangeVar   *name;
	FlakeLayout layout;
	char		label[FLAKE_LAYOUT_TEXT_LEN];
	int64		above = FLAKE_PACKED_NONE;
	ObjectAddress address;

	PreventCommandIfReadOnly("flake_create_generator()");
	PreventCommandIfParallelMode("flake_create_generator()");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name and layout of a generator must not be null")));
	name = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
	layout = *FLAKE_GETARG_LAYOUT(1);
	if (!PG_ARGISNULL(2))
		above = flake_packed_to_exceed(&layout, PG_GETARG_INT64(2), NULL, true,
									   flake_layout_is_uuid(&layout)
									   ? "Wait until that time has come, or leave out \"after\"."
									   : "Pass flake_layout_above(layout, id) for the layout.");

	address = create_sequence(name, &layout);
	flake_layout_print(&layout, label);
	check_label(&address, label);	/* a trigger may have set another */
	SetSecurityLabel(&address, FLAKE_LABEL_PROVIDER, label);
	CommandCounterIncrement();

	if (above != FLAKE_PACKED_NONE)
		flake_generator_raise(flake_generator_look(address.objectId,
												   fcinfo->flinfo->fn_oid), above);
	PG_RETURN_OID(address.objectId);
}

/*
 * _flake_go_on(generator regclass) returns void
 *
 * Nothing is minted, so the clock does not matter: H5 would refuse a new extension on
 * a server that was down for more than a year, before anybody can accept the clock.
 */
Datum
flake_go_on(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("_flake_go_on()");
	PreventCommandIfParallelMode("_flake_go_on()");
	(void) flake_generator_read(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid);
	PG_RETURN_VOID();
}
