/*-------------------------------------------------------------------------
 *
 * step.c
 *	  A command of several that are executed by one call.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "fmgr.h"
#include "trust/step.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

Step
flake_read_step(const Datum *values, const bool *nulls)
{
	Step		step = {0};

	if (nulls[0] || (nulls[1] && nulls[2] && nulls[3]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a step must have a role, and a relation or a command")));
	step.role = DatumGetObjectId(DirectFunctionCall1(oidin,
													 CStringGetDatum(TextDatumGetCString(values[0]))));
	step.creates = !nulls[2] && strcmp(TextDatumGetCString(values[2]), "new") == 0;
	if (!nulls[2] && !step.creates)
		step.relation_oid = DatumGetObjectId(DirectFunctionCall1(oidin,
																 CStringGetDatum(TextDatumGetCString(values[2]))));
	if (!nulls[2] && !OidIsValid(step.relation_oid) && (nulls[3] || !step.creates))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a step must have the OID of a relation, \"new\" with a command, or null")));
	if (!nulls[3])
		step.command = TextDatumGetCString(values[3]);
	if (nulls[3] && !nulls[2] && !nulls[1])
		step.column = TextDatumGetCString(values[1]);
	else if (!nulls[1])
		step.relation = makeRangeVarFromNameList(textToQualifiedNameList(DatumGetTextPP(values[1])));
	return step;
}
