/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  A connection of the libraries' own: made when it is needed, with limits of time,
 *	  and errors in the classes of docs/clients.md.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_CONNECTION_H
#define FLAKEID_CONNECTION_H

#include <libpq-fe.h>

#include "fail.h"

#pragma GCC visibility push(hidden)

#define NS_PER_SECOND	INT64_C(1000000000)
#define US_PER_SECOND	INT64_C(1000000)

/* An attempt to reach the server takes no longer. */
#define ATTEMPT_NS		(10 * NS_PER_SECOND)

#define SCHEMA_LEN		160		/* an identifier of 63 bytes, quoted: each may
								 * be a quote, which is doubled */

typedef struct Connection
{
	char	   *conninfo;
	char	   *generator;		/* as the user has named it; NULL for the
								 * default */
	PGconn	   *pg;				/* NULL if there is none */
	char		schema[SCHEMA_LEN]; /* the extension's, quoted */
	char		default_generator[SCHEMA_LEN + 16];
	const char *rights;			/* what an error says that the role needs */
	int64_t		until_ns;		/* when to give up, by flakeid_steady_ns() */
	int64_t		hurry_ns;		/* atomic: the same, as another thread has it */
} Connection;

/* False without memory.  FLAKEID_INVALID_ARGUMENT for what is no connection string. */
extern flakeid_code flakeid_connection_init(Connection *connection, const char *conninfo,
											const char *generator, flakeid_error *error);

/* What follows is given up after so many nanoseconds. */
extern void flakeid_connection_limit(Connection *connection, int64_t ns);

/*
 * For another thread: what the connection's thread is waiting for, or will be, is
 * given up after so many nanoseconds, until that thread says that there is no hurry
 * any more.
 */
extern void flakeid_connection_hurry(Connection *connection, int64_t ns);
extern void flakeid_connection_no_hurry(Connection *connection);

/* Connects, unless there is a connection, and finds the extension. */
extern flakeid_code flakeid_connection_open(Connection *connection, flakeid_error *error);

/*
 * Executes one statement, in which each "$S" is the extension's schema, and returns the
 * result; NULL, with *error, if that fails.  Parameters are text.  The caller frees it.
 */
extern PGresult *flakeid_connection_query(Connection *connection, const char *sql,
										  int nparams, const char *const *params,
										  flakeid_error *error);

/* The generator, as a parameter for ::regclass. */
extern const char *flakeid_connection_generator(const Connection *connection);

/* To wait for news while nothing is asked; -1 if there is no connection. */
extern int	flakeid_connection_socket(const Connection *connection);

/* With such news: whether the connection was there, and is not any more. */
extern bool flakeid_connection_is_broken(Connection *connection);

/* Disconnects. */
extern void flakeid_connection_drop(Connection *connection);

/*
 * Frees the memory.  In a child process nothing is sent: what libpq has allocated stays,
 * as it cannot be freed without that.
 */
extern void flakeid_connection_free(Connection *connection, bool is_forked);

#pragma GCC visibility pop

#endif							/* FLAKEID_CONNECTION_H */
