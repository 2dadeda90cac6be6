/*-------------------------------------------------------------------------
 *
 * definition_size.c
 *	  How much PostgreSQL reads to open a relation.
 *
 * Who opens a relation for the first time gets its defaults, also those of columns that
 * were added (attmissingval), checks, rules, policies and triggers along, and keeps them
 * to the end of the session, whatever he wants of it.  Who copies it reads the options of
 * its columns, too.  He cannot be canceled meanwhile.  Each can have a gigabyte, of which compression leaves a
 * few megabytes on disk.  So who opens anybody's relations looks at this before.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "trust/definition_size.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(flake_definition_size);

#define MAX_COLUMNS		3

/* The catalogs, an index of each by relation, and the columns that take room. */
static const struct
{
	Oid			catalog;
	Oid			index;
	AttrNumber	relation;
	AttrNumber	columns[MAX_COLUMNS];
	bool		has_more;		/* rows count, too, and not only these columns */
}			parts[] =

{
	{AttributeRelationId, AttributeRelidNumIndexId, Anum_pg_attribute_attrelid,
	{Anum_pg_attribute_attmissingval, Anum_pg_attribute_attoptions}, false},
	{AttrDefaultRelationId, AttrDefaultIndexId, Anum_pg_attrdef_adrelid,
	{Anum_pg_attrdef_adbin}, true},
	{ConstraintRelationId, ConstraintRelidTypidNameIndexId, Anum_pg_constraint_conrelid,
	{Anum_pg_constraint_conbin}, true},
	{RewriteRelationId, RewriteRelRulenameIndexId, Anum_pg_rewrite_ev_class,
	{Anum_pg_rewrite_ev_qual, Anum_pg_rewrite_ev_action}, true},
	{PolicyRelationId, PolicyPolrelidPolnameIndexId, Anum_pg_policy_polrelid,
	{Anum_pg_policy_polroles, Anum_pg_policy_polqual, Anum_pg_policy_polwithcheck}, true},
	{TriggerRelationId, TriggerRelidNameIndexId, Anum_pg_trigger_tgrelid,
	{Anum_pg_trigger_tgqual, Anum_pg_trigger_tgargs}, true},
};

/* The bytes of columns, uncompressed: those outside of the row are not read. */
static Size
columns_size(HeapTuple row, TupleDesc desc, const AttrNumber *columns)
{
	Size		size = 0;

	for (int i = 0; i < MAX_COLUMNS && columns[i] != InvalidAttrNumber; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(row, columns[i], desc, &isnull);

		if (!isnull)
			size += toast_raw_datum_size(value);
	}
	return size;
}

/* The bytes that these take, or more than a limit. */
static Size
definition_size(Oid relation, Size bytes)
{
	Size		size = 0;

	for (size_t i = 0; i < lengthof(parts) && size <= bytes; i++)
	{
		Relation	catalog = table_open(parts[i].catalog, AccessShareLock);
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple	row;

		ScanKeyInit(&key, parts[i].relation, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(relation));
		scan = systable_beginscan(catalog, parts[i].index, true, NULL, 1, &key);
		while (size <= bytes && HeapTupleIsValid(row = systable_getnext(scan)))
		{
			CHECK_FOR_INTERRUPTS();
			if (parts[i].has_more)
				size += row->t_len;
			size += columns_size(row, RelationGetDescr(catalog), parts[i].columns);
		}
		systable_endscan(scan);
		table_close(catalog, AccessShareLock);
	}
	return size;
}

bool
flake_definition_is_longer(Oid relation, Size bytes)
{
	return definition_size(relation, bytes) > bytes;
}

/*
 * _flake_definition_size(relation oid, up_to bigint) returns bigint
 *
 * Once there are more than so many it ends.
 */
Datum
flake_definition_size(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) definition_size(PG_GETARG_OID(0), Max(PG_GETARG_INT64(1), 0)));
}
