/*-------------------------------------------------------------------------
 *
 * oid_set.c
 *	  Sets of OIDs, of which there can be any number.
 *
 * Anybody can have thousands of tables inherit from one.  A list would be searched
 * for each of them.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "trust/oid_set.h"
#include "utils/memutils.h"

HTAB *
flake_oid_set(const List *oids)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Oid),.hcxt = CurrentMemoryContext};
	HTAB	   *set = hash_create("flakeid OIDs", 64, &control,
								  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	const ListCell *lc;

	foreach(lc, oids)
	{
		CHECK_FOR_INTERRUPTS();
		(void) flake_oid_set_add(set, lfirst_oid(lc));
	}
	return set;
}

bool
flake_oid_set_has(HTAB *set, Oid oid)
{
	return hash_search(set, &oid, HASH_FIND, NULL) != NULL;
}

bool
flake_oid_set_add(HTAB *set, Oid oid)
{
	bool		found;

	(void) hash_search(set, &oid, HASH_ENTER, &found);
	return !found;
}
