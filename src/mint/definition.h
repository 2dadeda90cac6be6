/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  What the catalogs say of a generator: its sequence and its layout.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_DEFINITION_H
#define FLAKEID_DEFINITION_H

#include "compat.h"
#include "layout/layout.h"
#include "nodes/pg_list.h"
#include "utils/acl.h"


#pragma GCC visibility push(hidden)

/* The provider of the security labels that keep the layouts of generators. */
#define FLAKE_LABEL_PROVIDER	"flakeid"

/* The name of the sequence of a generator of the extension's own. */
extern const char *flake_generator_builtin_name(Oid key);

/*
 * The number of a generator of the extension's own (FLAKE_DEFAULT and so on),
 * any other sequence as it is: the key in shared memory; and back.  InvalidOid
 * if the sequence of an own generator is missing.
 */
extern Oid	flake_generator_key(Oid sequence, Oid function);
extern Oid	flake_generator_sequence(Oid key, Oid function);

/*
 * The sequences of all generators of the database, as a list of OIDs.  Nobody
 * keeps them from being dropped.
 */
extern List *flake_generator_list(Oid function);

/*
 * Reads the layout of a generator from the catalogs.  ERROR 42P01 if the
 * sequence does not exist, 42809 if it is not a generator; with missing_ok it
 * returns false instead.
 */
extern bool flake_generator_layout(Oid sequence, Oid function,
								   bool missing_ok, FlakeLayout *layout);

/*
 * The same, also of a sequence that is no generator only because it is unlogged;
 * sets *is_logged.  False if there is no layout.
 */
extern bool flake_generator_any_layout(Oid sequence, Oid function,
									   FlakeLayout *layout, bool *is_logged);

/* Raises ERROR 42P01: the sequence was dropped. */
pg_noreturn extern void flake_no_such_generator(Oid sequence);

/*
 * How a sequence differs from what a generator of the layout was made with, as the
 * detail of a message; NULL if it does not.
 */
extern char *flake_generator_alteration(Oid sequence, const FlakeLayout *layout);

/* ERROR 55000 if it does. */
extern void flake_generator_check_sequence(Oid sequence, const FlakeLayout *layout);

/*
 * ERROR 55000 if this transaction has made a generator of a sequence that may
 * stay when that is undone.
 */
extern void flake_generator_check_label(Oid sequence);

/* With one of these a user may ask what a generator has handed out. */
#define FLAKE_READ_PRIVILEGES	(ACL_SELECT | ACL_USAGE)

/*
 * With one of these he may mint.  Everybody may mint from the extension's own
 * generators, so SELECT will do there: with USAGE he could also call nextval(), whose
 * error keeps the page locked for as long as he does not read it (see locks.c).
 */
extern AclMode flake_generator_mint_privileges(Oid key);

/* ERROR 42501 without any of them. */
extern void flake_generator_check_privilege(Oid sequence, AclMode any_of);

#pragma GCC visibility pop

#endif							/* FLAKEID_DEFINITION_H */
