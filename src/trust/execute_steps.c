/*-------------------------------------------------------------------------
 *
 * execute_steps.c
 *	  A SQL function that executes several commands by one call, each as the
 *	  role that it is for.
 *
 * What such a command executes of the other role's (a check, the expression of an
 * index, an event) runs in this transaction, whose locks do not keep it from
 * anything.  It can rename what the next commands name, or put something else in
 * its place.  So several commands are executed by one call.  It resolves nothing by
 * name in between, and before each of them
 *
 *	E1	the extension, the schemas, the relations and the types that the commands
 *		name are still the same, with the same names and owners; so are the
 *		relations that earlier commands have made (see known.c); and
 *	E2	the relation that the command is about belongs to the role that it is
 *		executed as; and
 *	E3	if it makes a foreign key, the table at the other end has no code of
 *		somebody else (see other_end.c).
 *
 * The caller of all this checks E3 once more beforehand, to say what is wrong.
 *
 * Commands that execute nothing of anybody, and may need more rights than an owner
 * has, can be the current user's own; then E2 is about the OID alone, which must be
 * given.  Nor is the role changed if the current user may not be the owner: then
 * PostgreSQL says what is not allowed.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "trust/execute.h"
#include "trust/known.h"
#include "trust/other_end.h"
#include "trust/rebind.h"
#include "trust/relation.h"
#include "trust/step.h"
#include "utils/array.h"
#include "utils/rel.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(flake_execute_steps);

/* Whether a relation was made by this transaction, and belongs to a role. */
static bool
is_new_of(Oid relation, Oid role)
{
	Relation	rel;
	bool		result;

	if (!OidIsValid(relation))
		return false;
	rel = relation_open(relation, AccessShareLock);
	result = flake_is_new(rel) && rel->rd_rel->relowner == role;
	relation_close(rel, NoLock);
	return result;
}

/* E2 */
static void
check_relation(const Step *step)
{
	Oid			relation;
	bool		is_as_expected;

	if (step->relation == NULL || step->creates)
		return;
	relation = RangeVarGetRelid(step->relation, NoLock, true);
	if (step->relation_oid == InvalidOid)
		is_as_expected = is_new_of(relation, step->role);
	else
		is_as_expected = relation == step->relation_oid &&

		/*
		 * The current user's own command can be about another role's
		 * relation.
		 */
			(step->role == GetUserId() || flake_relation_owner(relation) == step->role);
	if (!is_as_expected)
		flake_changed_meanwhile(psprintf("relation \"%s\"", step->relation->relname));
}

/* E1, E2: a relation that a step has made is to stay the same from now on. */
static void
remember(const Step *step, Known **relations, int *count)
{
	Oid			relation = RangeVarGetRelid(step->relation, NoLock, true);

	if (!is_new_of(relation, step->role))
		flake_changed_meanwhile(psprintf("relation \"%s\"", step->relation->relname));
	*relations = repalloc(*relations, (*count + 1) * sizeof(Known));
	(*relations)[(*count)++] = flake_look_at(RELOID, relation);
}

/* A relation that a step has dropped is not to stay the same. */
static void
forget_dropped(Oid relation, Known *relations, int *count)
{
	int			kept = 0;

	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
		return;
	for (int i = 0; i < *count; i++)
	{
		if (relations[i].oid != relation)
			relations[kept++] = relations[i];
	}
	*count = kept;
}

/*
 * _flake_execute_steps(ticket _flake_ticket, schemas oid[], relations oid[],
 *	types oid[], steps text[], announce boolean) returns void
 *
 * steps is an array of rows (role, relation, its OID, command).  A role is an
 * OID.  A relation is the qualified name, as SQL has to have it, of the one that
 * the command is about, or null.  In place of its OID stands "new" if the command
 * makes it, and null if an earlier one has made it.  The commands name these
 * relations, those of the argument with that name, these types, and what is in
 * these schemas.  With announce there is a NOTICE before each.
 *
 * Without a command, a row is for E3, which the command of the next one needs.
 * Then the relation is the one at the other end of a foreign key that is made or
 * looked at next, by its name or by its OID.  Or if there are both an OID and a
 * name, foreign keys of that table's column with that name are made anew.
 */
Datum
flake_execute_steps(PG_FUNCTION_ARGS)
{
	OwnExtension own = flake_look_at_extension(fcinfo->flinfo->fn_oid);
	ArrayType  *steps = PG_GETARG_ARRAYTYPE_P(4);
	bool		announce = PG_GETARG_BOOL(5);
	int			schema_count;
	Known	   *schemas = flake_look_at_all(NAMESPACEOID, PG_GETARG_ARRAYTYPE_P(1), &schema_count);
	int			relation_count;
	Known	   *relations = flake_look_at_all(RELOID, PG_GETARG_ARRAYTYPE_P(2), &relation_count);
	int			type_count;
	Known	   *types = flake_look_at_all(TYPEOID, PG_GETARG_ARRAYTYPE_P(3), &type_count);
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int			command_count = 0;
	int			command_number = 0;

	deconstruct_array(steps, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls,
					  &count);
	if (count > 0 && (ARR_NDIM(steps) != 2 || ARR_DIMS(steps)[1] != STEP_COLUMNS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("steps must have %d columns", STEP_COLUMNS)));
	for (int i = 0; i < count; i += STEP_COLUMNS)
		command_count += !nulls[i + STEP_COLUMNS - 1];
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0;; i += STEP_COLUMNS)
	{
		Step		step;

		CHECK_FOR_INTERRUPTS();
		flake_check_extension(&own);
		flake_check_known(NAMESPACEOID, schemas, schema_count, "schema");
		flake_check_known(RELOID, relations, relation_count, "relation");
		flake_check_known(TYPEOID, types, type_count, "type");
		if (i >= count)
			break;
		step = flake_read_step(&values[i], &nulls[i]);
		if (step.command == NULL)
		{
			flake_check_other_end(&step, own.function);
			continue;
		}
		check_relation(&step);

		/*
		 * What it calls was measured, and can have been made again since: the
		 * commands before may have taken minutes.
		 */
		if (flake_command_takes_long(step.command))
			flake_changed_meanwhile("a function or an operator that is called");
		if (announce)
			ereport(NOTICE,
					(errmsg("%d/%d: %s", ++command_number, command_count,
							step.command)));
		flake_execute_as_if_possible(step.role, step.command);
		if (step.relation != NULL && step.creates)
			remember(&step, &relations, &relation_count);
		else
			forget_dropped(step.relation_oid, relations, &relation_count);
	}
	SPI_finish();
	PG_RETURN_VOID();
}
