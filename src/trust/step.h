/*-------------------------------------------------------------------------
 *
 * step.h
 *	  A command of several that are executed by one call.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_STEP_H
#define FLAKEID_STEP_H

#include "nodes/primnodes.h"

#pragma GCC visibility push(hidden)

/* A command, and the relation that it is about. */
typedef struct Step
{
	Oid			role;			/* as which it is executed */
	RangeVar   *relation;		/* or NULL */
	Oid			relation_oid;	/* or InvalidOid for a new one */
	bool		creates;		/* it makes the relation */
	char	   *command;		/* or NULL */
	char	   *column;			/* of relation_oid, without a command */
} Step;

/* In SQL a step is a row of an array: role, relation, its OID, command. */
#define STEP_COLUMNS	4

/*
 * Reads such a row; see flake_execute_steps() for what may be null.  ERROR 22023
 * for a row that says nothing.
 */
extern Step flake_read_step(const Datum *values, const bool *nulls);

#pragma GCC visibility pop

#endif							/* FLAKEID_STEP_H */
