/*-------------------------------------------------------------------------
 *
 * version.c
 *	  Whether the extension's SQL objects are of the library's version.
 *
 * They are not if its package was updated, and the extension was not yet.  That is
 * no reason to stop minting.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "mint/version.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

void
flake_check_version(void)
{
	static bool is_checked = false;
	Relation	extensions;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (is_checked)
		return;
	is_checked = true;
	extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("flakeid"));
	/* The table has a few rows: to open its index takes longer. */
	scan = systable_beginscan(extensions, InvalidOid, false, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		char	   *version = TextDatumGetCString(heap_getattr(tuple, Anum_pg_extension_extversion,
															   RelationGetDescr(extensions), &isnull));

		if (strcmp(version, FLAKE_VERSION) != 0)
			ereport(WARNING,
					(errmsg("extension \"flakeid\" has version %s, but its library is for version %s",
							version, FLAKE_VERSION),
					 errhint("Execute ALTER EXTENSION flakeid UPDATE.")));
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
}
