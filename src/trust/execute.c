/*-------------------------------------------------------------------------
 *
 * execute.c
 *	  Executing a command as another role: downwards only, as a role that the
 *	  current user may be.
 *
 * No other file executes commands or switches roles; make lint looks after that
 * (but for copy_index.c, which has no text to execute).
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "trust/execute.h"
#include "trust/role.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"

PG_FUNCTION_INFO_V1(flake_execute_as);

/* Whether PostgreSQL has raised an error because of a cancel or a timeout. */
static bool
is_interrupt(const ErrorData *error)
{
	return error->funcname != NULL && strcmp(error->funcname, "ProcessInterrupts") == 0;
}

/*
 * Executes a command; SPI is connected.
 *
 * What it executes of somebody's can raise an error with any SQLSTATE.  PL/pgSQL
 * takes 57014 for the end of the whole statement, and does not catch it as one of
 * the OTHERS: so that is left to PostgreSQL.
 */
static void
execute(const char *command)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int result = 0;

	PG_TRY();
	{
		result = SPI_execute(command, false, 0);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_QUERY_CANCELED || is_interrupt(error))
			PG_RE_THROW();
		FlushErrorState();
		error->sqlerrcode = ERRCODE_EXTERNAL_ROUTINE_EXCEPTION;
		ReThrowError(error);
	}
	PG_END_TRY();
	if (result < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a function cannot execute \"%s\"", command),
				 errdetail_internal("%s", SPI_result_code_string(result))));
}

/*
 * Executes a command as a role that the current user may be; SPI is connected.
 *
 * What the command calls can neither become the caller again nor change his
 * settings, as with CREATE INDEX and the like on a table of another role.
 */
static void
execute_as(Oid role, const char *command)
{
	Oid			user;
	int			security_context;
	int			guc_level;

	/* A superuser passes as a member of a role that does not exist. */
	(void) GetUserNameFromId(role, false);
#if PG_VERSION_NUM >= 160000
	check_can_set_role(GetUserId(), role);
#else
	check_is_member_of_role(GetUserId(), role);
#endif

	/* If this fails, the end of the transaction sets all of it back. */
	GetUserIdAndSecContext(&user, &security_context);
	SetUserIdAndSecContext(role, security_context | SECURITY_RESTRICTED_OPERATION);
	guc_level = NewGUCNestLevel();
	execute(command);
	AtEOXact_GUC(false, guc_level);
	SetUserIdAndSecContext(user, security_context);
}

/* _flake_execute_as(role oid, command text) returns void */
Datum
flake_execute_as(PG_FUNCTION_ARGS)
{
	char	   *command = text_to_cstring(PG_GETARG_TEXT_PP(1));

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	execute_as(PG_GETARG_OID(0), command);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * Executes a command as a role if the current user can become that.  Else he can
 * execute it himself only if he has not got the role's rights either: then
 * PostgreSQL says what he may not do, before anything of the role's is executed.
 */
void
flake_execute_as_if_possible(Oid role, const char *command)
{
	if (role != GetUserId() && flake_may_become(GetUserId(), role))
		execute_as(role, command);
	else if (role == GetUserId() || !has_privs_of_role(GetUserId(), role))
		execute(command);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be able to SET ROLE \"%s\"",
						GetUserNameFromId(role, false))));
}
