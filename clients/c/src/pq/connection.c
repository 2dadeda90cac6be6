/*-------------------------------------------------------------------------
 *
 * connection.c
 *	  A connection of the libraries' own.  See connection.h.
 *
 * libpq's asynchronous functions are used, so that a server that does not answer
 * holds nobody up for longer than the limit.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "pq/connection.h"

#include <poll.h>
#include <stdlib.h>

/* The limit may be changed meanwhile: look at it so often. */
#define LONGEST_POLL_MS 50

flakeid_code
flakeid_connection_init(Connection *connection, const char *conninfo,
						const char *generator, flakeid_error *error)
{
	char	   *why = NULL;
	PQconninfoOption *options;

	memset(connection, 0, sizeof(*connection));
	connection->rights = "Grant EXECUTE on flake_lease, flake_renew and flake_release, and USAGE on the generator.";
	flakeid_connection_no_hurry(connection);
	if (conninfo == NULL)
		return fail_argument(error, "the connection string is NULL");
	if (generator != NULL && *generator == '\0')
		return fail_argument(error, "generator must not be empty");
	options = PQconninfoParse(conninfo, &why);
	if (options == NULL)
	{
		(void) fail_argument(error, "%.*s", why != NULL ? (int) strcspn(why, "\n") : 13,
							 why != NULL ? why : "out of memory");
		PQfreemem(why);
		return FLAKEID_INVALID_ARGUMENT;
	}
	PQconninfoFree(options);
	connection->conninfo = strdup(conninfo);
	if (generator != NULL)
		connection->generator = strdup(generator);
	if (connection->conninfo == NULL || (generator != NULL && connection->generator == NULL))
		return fail_argument(error, "out of memory");
	return FLAKEID_OK;
}

void
flakeid_connection_limit(Connection *connection, int64_t ns)
{
	connection->until_ns = flakeid_steady_ns() + ns;
}

void
flakeid_connection_hurry(Connection *connection, int64_t ns)
{
	__atomic_store_n(&connection->hurry_ns, flakeid_steady_ns() + ns, __ATOMIC_RELAXED);
}

void
flakeid_connection_no_hurry(Connection *connection)
{
	__atomic_store_n(&connection->hurry_ns, INT64_MAX, __ATOMIC_RELAXED);
}

/* Waits until the socket is ready; false if that takes too long. */
static bool
wait_for_socket(Connection *connection, short events)
{
	for (;;)
	{
		int64_t		hurry_ns = __atomic_load_n(&connection->hurry_ns, __ATOMIC_RELAXED);
		int64_t		left_ns = (hurry_ns < connection->until_ns ? hurry_ns : connection->until_ns) -
		flakeid_steady_ns();
		int64_t		left_ms = left_ns / 1000000 + 1;
		struct pollfd socket = {.fd = PQsocket(connection->pg),.events = events};

		if (left_ns <= 0 || socket.fd < 0)
			return false;
		if (poll(&socket, 1, left_ms < LONGEST_POLL_MS ? (int) left_ms : LONGEST_POLL_MS) > 0)
			return true;
	}
}

/* What libpq says of a connection, on one line. */
static flakeid_code
not_connected(Connection *connection, flakeid_error *error)
{
	const char *why = connection->pg != NULL ? PQerrorMessage(connection->pg) : "";

	(void) fail(error, FLAKEID_NOT_CONNECTED, NO_RETRY, "the database cannot be reached: %s",
				*why != '\0' ? why : "it does not answer");
	for (char *c = error->message; *c != '\0'; c++)
	{
		if (*c == '\n')
			*c = c[1] == '\0' ? '\0' : ' ';
	}
	flakeid_connection_drop(connection);
	return FLAKEID_NOT_CONNECTED;
}

static bool
starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The class of an error that the server has raised. */
static flakeid_code
class_of(const char *sqlstate)
{
	static const struct
	{
		const char *prefix;
		flakeid_code code;
	}			classes[] =

	{
		{"08", FLAKEID_NOT_CONNECTED},
		{"28", FLAKEID_NOT_CONNECTED},
		{"3D000", FLAKEID_NOT_CONNECTED},
		{"53300", FLAKEID_NOT_CONNECTED},
		{"57P0", FLAKEID_NOT_CONNECTED},	/* shut down, crashed, starting */
		{"42P01", FLAKEID_NO_GENERATOR},
		{"3F000", FLAKEID_NO_GENERATOR},
		{"0A000", FLAKEID_NO_GENERATOR},	/* in another database */
		{"42601", FLAKEID_NO_GENERATOR},	/* of regclass: no name */
		{"42602", FLAKEID_NO_GENERATOR},
		{"42809", FLAKEID_NO_GENERATOR},
		{"42501", FLAKEID_NOT_PERMITTED},
		{"53400", FLAKEID_NO_SHARD_LEFT},
		{"22003", FLAKEID_LIFETIME_OVER},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
	{
		if (starts_with(sqlstate, classes[i].prefix))
			return classes[i].code;
	}
	return FLAKEID_SERVER_ERROR;
}

static const char *
field_of(const PGresult *result, int field)
{
	const char *text = PQresultErrorField(result, field);

	return text != NULL ? text : "";
}

/* An error of the server. */
static void
server_error(const Connection *connection, const PGresult *result, flakeid_error *error)
{
	const char *sqlstate = field_of(result, PG_DIAG_SQLSTATE);
	const char *detail = field_of(result, PG_DIAG_MESSAGE_DETAIL);
	const char *hint = field_of(result, PG_DIAG_MESSAGE_HINT);
	flakeid_code code = class_of(sqlstate);

	if (code == FLAKEID_NOT_PERMITTED && *hint == '\0')
		hint = connection->rights;
	(void) fail(error, code, NO_RETRY, "%.200s%s%.200s%s%.200s",
				field_of(result, PG_DIAG_MESSAGE_PRIMARY),
				*detail != '\0' ? ": " : "", detail, *hint != '\0' ? " " : "", hint);
	snprintf(error->sqlstate, sizeof(error->sqlstate), "%s", sqlstate);
}

/* The statement with the schema put in; NULL without memory. */
static char *
with_schema(const Connection *connection, const char *sql)
{
	size_t		size = strlen(sql) + 1;
	char	   *result;
	char	   *to;

	for (const char *at = strstr(sql, "$S"); at != NULL; at = strstr(at + 2, "$S"))
		size += strlen(connection->schema);
	to = result = malloc(size);
	while (to != NULL && *sql != '\0')
	{
		if (starts_with(sql, "$S"))
		{
			to = stpcpy(to, connection->schema);
			sql += 2;
		}
		else
			*to++ = *sql++;
	}
	if (to != NULL)
		*to = '\0';
	return result;
}

/* Sends what is to be sent, and waits for the result. */
static PGresult *
get_result(Connection *connection)
{
	PGresult   *result = NULL;
	PGresult   *next;
	int			unsent;

	while ((unsent = PQflush(connection->pg)) > 0)
	{
		if (!wait_for_socket(connection, POLLOUT | POLLIN) ||
			!PQconsumeInput(connection->pg))
			return NULL;
	}
	if (unsent < 0)
		return NULL;
	do
	{
		while (PQisBusy(connection->pg))
		{
			if (!wait_for_socket(connection, POLLIN) || !PQconsumeInput(connection->pg))
			{
				PQclear(result);
				return NULL;
			}
		}
		next = PQgetResult(connection->pg);
		if (next != NULL)
		{
			PQclear(result);
			result = next;
		}
	} while (next != NULL);
	return result;
}

PGresult *
flakeid_connection_query(Connection *connection, const char *sql, int nparams,
						 const char *const *params, flakeid_error *error)
{
	char	   *statement = with_schema(connection, sql);
	PGresult   *result = NULL;

	if (statement != NULL &&
		PQsendQueryParams(connection->pg, statement, nparams, NULL, params, NULL, NULL, 0))
		result = get_result(connection);
	free(statement);
	if (result != NULL && (PQresultStatus(result) == PGRES_TUPLES_OK ||
						   PQresultStatus(result) == PGRES_COMMAND_OK))
		return result;
	if (result != NULL && *field_of(result, PG_DIAG_SQLSTATE) != '\0')
		server_error(connection, result, error);
	else
		(void) not_connected(connection, error);
	PQclear(result);
	return NULL;
}

/* By default libpq would write warnings to standard error. */
static void
ignore_notice(void *argument, const char *message)
{
	(void) argument;
	(void) message;
}

static bool
connect_to_server(Connection *connection)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	connection->pg = PQconnectStart(connection->conninfo);
	if (connection->pg == NULL || PQstatus(connection->pg) == CONNECTION_BAD)
		return false;
	(void) PQsetNoticeProcessor(connection->pg, ignore_notice, NULL);
	while (status != PGRES_POLLING_OK)
	{
		if (status == PGRES_POLLING_FAILED ||
			!wait_for_socket(connection,
							 status == PGRES_POLLING_READING ? POLLIN : POLLOUT))
			return false;
		status = PQconnectPoll(connection->pg);
	}
	return PQsetnonblocking(connection->pg, 1) == 0;
}

/* Finds the extension's schema. */
static flakeid_code
find_extension(Connection *connection, flakeid_error *error)
{
	PGresult   *result;
	char	   *quoted = NULL;

	result = flakeid_connection_query(connection,
									  "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
									  0, NULL, error);
	if (result == NULL)
		return error->code;
	PQclear(result);

	/* P5: with "off" or "local", a commit waits for no standby. */
	result = flakeid_connection_query(connection, "SET synchronous_commit = on", 0, NULL, error);
	if (result == NULL)
		return error->code;
	PQclear(result);
	result = flakeid_connection_query(connection,
									  "SELECT n.nspname FROM pg_catalog.pg_extension AS e"
									  " JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
									  " WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid'",
									  0, NULL, error);
	if (result == NULL)
		return error->code;
	if (PQntuples(result) == 1)
		quoted = PQescapeIdentifier(connection->pg, PQgetvalue(result, 0, 0),
									(size_t) PQgetlength(result, 0, 0));
	PQclear(result);
	if (quoted == NULL)
		return fail(error, FLAKEID_NOT_INSTALLED, NO_RETRY,
					"the database has no extension flakeid: execute CREATE EXTENSION flakeid in it");
	snprintf(connection->schema, sizeof(connection->schema), "%s", quoted);
	snprintf(connection->default_generator, sizeof(connection->default_generator),
			 "%s.flake_default", quoted);
	PQfreemem(quoted);
	return FLAKEID_OK;
}

flakeid_code
flakeid_connection_open(Connection *connection, flakeid_error *error)
{
	flakeid_code code;

	if (connection->pg != NULL && PQstatus(connection->pg) == CONNECTION_OK)
		return FLAKEID_OK;
	flakeid_connection_drop(connection);
	if (!connect_to_server(connection))
		return not_connected(connection, error);
	code = find_extension(connection, error);
	if (code != FLAKEID_OK)
		flakeid_connection_drop(connection);
	return code;
}

int
flakeid_connection_socket(const Connection *connection)
{
	return connection->pg != NULL ? PQsocket(connection->pg) : -1;
}

bool
flakeid_connection_is_broken(Connection *connection)
{
	if (connection->pg == NULL)
		return false;
	if (PQconsumeInput(connection->pg) && PQstatus(connection->pg) == CONNECTION_OK)
		return false;
	flakeid_connection_drop(connection);
	return true;
}

const char *
flakeid_connection_generator(const Connection *connection)
{
	return connection->generator != NULL ? connection->generator
		: connection->default_generator;
}

void
flakeid_connection_drop(Connection *connection)
{
	PQfinish(connection->pg);
	connection->pg = NULL;
}

void
flakeid_connection_free(Connection *connection, bool is_forked)
{
	if (!is_forked)
		flakeid_connection_drop(connection);
	free(connection->conninfo);
	free(connection->generator);
}
