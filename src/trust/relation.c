/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  What this transaction has done to a relation, and whose it is.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "trust/relation.h"
#include "utils/rel.h"
#include "utils/syscache.h"

bool
flake_is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId;
}

bool
flake_has_new_file(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
	return rel->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

Oid
flake_relation_owner(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}
