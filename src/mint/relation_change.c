/*-------------------------------------------------------------------------
 *
 * relation_change.c
 *	  Who is told that a relation was changed.
 *
 * A session of PostgreSQL has room for ten functions that are told, of all its
 * libraries, and ends when there is one more (MAX_RELCACHE_CALLBACKS in inval.c).
 * PostgreSQL itself takes up to three, Citus five.  So flakeid takes one.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mint/relation_change.h"
#include "utils/inval.h"

#define MAX_HOOKS	4

static void (*hooks[MAX_HOOKS]) (Oid relation);
static int	hook_count = 0;

static void
relation_changed(Datum arg, Oid relation)
{
	for (int i = 0; i < hook_count; i++)
		hooks[i] (relation);
}

void
flake_on_relation_change(void (*hook) (Oid relation))
{
	Assert(hook_count < MAX_HOOKS);
	if (hook_count == 0)
		CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	hooks[hook_count++] = hook;
}
