/*-------------------------------------------------------------------------
 *
 * own_table.h
 *	  The extension's own tables, which only its functions write.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_OWN_TABLE_H
#define FLAKEID_OWN_TABLE_H

#include "postgres.h"

#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/*
 * A table or index of the extension: in the schema of function, which is one
 * of its functions.  ERROR 42P01 if it is missing.
 */
extern Oid	flake_own_relation(const char *name, Oid function);

/* Its name as SQL has to have it. */
extern char *flake_own_relation_name(const char *name, Oid function);

/* Whether this transaction has created a relation, also in its parallel workers. */
extern bool flake_is_new(Relation rel);

/* Whether it has given it a new file after that. */
extern bool flake_has_new_file(Relation rel);

/* The owner of a table. */
extern Oid	flake_relation_owner(Oid relation);

/*
 * Executes a statement by SPI, to which the caller has connected, as the owner
 * of a table.  nulls as for SPI_execute_with_args().  Returns the rows that it
 * has found or changed, which SPI_tuptable has, too.
 */
extern uint64 flake_execute_as_owner(Oid table, const char *statement,
									 int nargs, Oid *types, Datum *values,
									 const char *nulls);

#pragma GCC visibility pop

#endif							/* FLAKEID_OWN_TABLE_H */
