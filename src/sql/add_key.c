/*-------------------------------------------------------------------------
 *
 * add_key.c
 *	  Keys with a name are made, and checked when they are set.
 *
 * flake_add_key() draws a key at random and hands PostgreSQL the statement that
 * keeps it, so that no text has it: no query, no log, no history of a shell.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "access/xact.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "compat.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "sql/seal_key.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(flake_key_validator);
PG_FUNCTION_INFO_V1(flake_add_key);

/*
 * _flake_key_validator(options text[], catalog oid) returns void
 *
 * What an option has is never shown.
 */
Datum
flake_key_validator(PG_FUNCTION_ARGS)
{
	List	   *options = untransformRelOptions(PG_GETARG_DATUM(0));
	bool		is_mapping = PG_GETARG_OID(1) == UserMappingRelationId;
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst(cell);
		uint8		bytes[FLAKE_FF1_MAX_KEY_LEN];

		if (!is_mapping)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errdetail("Keys are options of user mappings: everybody can see those of servers.")));
		if (flake_seal_key_version(option->defname) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errhint("Versions of a key are options \"%s1\", \"%s2\" and so on.",
							 FLAKE_KEY_OPTION, FLAKE_KEY_OPTION)));
		if (flake_seal_key_read(defGetString(option), bytes) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid value of option \"%s\"", option->defname),
					 errdetail("A key is 32, 48 or 64 hexadecimal digits."),
					 errhint("flake_add_key() makes one.")));
		explicit_bzero(bytes, sizeof(bytes));
	}
	PG_RETURN_VOID();
}

/* ERROR unless the current user may change a user's mapping, as PostgreSQL has it. */
static void
check_rights(Oid server, const char *name, Oid user)
{
	AclResult	result;

	if (flake_server_ownercheck(server, GetUserId()))
		return;
	if (user != GetUserId())
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_SERVER, name);
	result = flake_server_aclcheck(server, user, ACL_USAGE);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FOREIGN_SERVER, name);
}

static DefElem *
random_key(int32 version)
{
	uint8		bytes[FLAKE_FF1_MAX_KEY_LEN];
	char		digits[FLAKE_KEY_TEXT_LEN];

	if (!pg_strong_random(bytes, sizeof(bytes)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random bytes")));
	digits[hex_encode((char *) bytes, sizeof(bytes), digits)] = '\0';
	return makeDefElemExtended(NULL, psprintf("%s%d", FLAKE_KEY_OPTION, version),
							   (Node *) makeString(pstrdup(digits)), DEFELEM_ADD, -1);
}

/*
 * The newest version of a user's own mapping or, if he has none, of that of PUBLIC,
 * which a mapping of his own takes away from him: what was sealed under it must not
 * be read with another key of the same number.  The mappings of others do not count,
 * or anybody with USAGE could use up all numbers.
 */
static int32
newest_version(Oid server, Oid user, bool *has_mapping)
{
	List	   *options = NIL;
	ListCell   *cell;
	int32		newest = 0;

	*has_mapping = flake_seal_key_options(server, user, &options);
	if (!*has_mapping)
		(void) flake_seal_key_options(server, InvalidOid, &options);
	foreach(cell, options)
		newest = Max(newest, flake_seal_key_version(((DefElem *) lfirst(cell))->defname));
	return newest;
}

/* Executes CREATE or ALTER USER MAPPING, as ProcessUtility() does. */
static void
execute(Node *statement)
{
	bool		has_state = EventTriggerBeginCompleteQuery();

	PG_TRY();
	{
		ObjectAddress address;

		EventTriggerDDLCommandStart(statement);
		if (IsA(statement, CreateUserMappingStmt))
			address = CreateUserMapping((CreateUserMappingStmt *) statement);
		else
			address = AlterUserMapping((AlterUserMappingStmt *) statement);
		EventTriggerCollectSimpleCommand(address, InvalidObjectAddress, statement);
		EventTriggerSQLDrop(statement);
		EventTriggerDDLCommandEnd(statement);
	}
	PG_FINALLY();
	{
		if (has_state)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
	CommandCounterIncrement();
}

/* flake_add_key(key_name text, role name) returns int */
Datum
flake_add_key(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *role = NameStr(*PG_GETARG_NAME(1));
	RoleSpec   *spec = makeNode(RoleSpec);
	Oid			server;
	Oid			user = InvalidOid;
	List	   *options;
	bool		has_mapping;
	int32		newest;

	PreventCommandIfReadOnly("flake_add_key()");
	PreventCommandIfParallelMode("flake_add_key()");
	spec->location = -1;
	if (strcmp(role, "public") == 0)
		spec->roletype = ROLESPEC_PUBLIC;
	else
	{
		spec->roletype = ROLESPEC_CSTRING;
		spec->rolename = pstrdup(role);
		user = get_role_oid(role, false);
	}

	/*
	 * The first lock keeps the server from being renamed or dropped.  It is
	 * for whoever has USAGE, so it must not hold up what is for other roles.
	 * Of two calls for one role at once, the second is to see what the first
	 * has added: hence the second lock.  A server's OID is no catalog's, so
	 * nothing else is locked by these numbers.
	 */
	do
	{
		server = flake_seal_key_find(name);
		check_rights(server, name, user);
		LockDatabaseObject(ForeignServerRelationId, server, 0, AccessShareLock);
		LockDatabaseObject(server, user, 0, ShareUpdateExclusiveLock);
	} while (get_foreign_server_oid(name, true) != server);
	newest = newest_version(server, user, &has_mapping);
	if (newest == PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("key \"%s\" can have no more versions", name)));
	options = list_make1(random_key(newest + 1));
	if (has_mapping)
	{
		AlterUserMappingStmt *statement = makeNode(AlterUserMappingStmt);

		statement->user = spec;
		statement->servername = name;
		statement->options = options;
		execute((Node *) statement);
	}
	else
	{
		CreateUserMappingStmt *statement = makeNode(CreateUserMappingStmt);

		statement->user = spec;
		statement->servername = name;
		statement->options = options;
		execute((Node *) statement);
	}
	PG_RETURN_INT32(newest + 1);
}
