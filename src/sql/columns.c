/*-------------------------------------------------------------------------
 *
 * columns.c
 *	  The columns that a generator's ids go into.
 *
 * The catalogs know which columns have a default that mints from a generator, or are
 * of a domain that has one, and which own it.  No name is resolved on the way: see
 * trust/search.c for why.
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
#include "catalog/dependency.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "parser/parse_func.h"
#include "sql/columns.h"
#include "sql/stored_call.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_columns);

/* Functions that mint from a generator of the extension's own. */
static const struct
{
	const char *name;
	Oid			generator;		/* the key of the one that it mints from */
	int			nargs;			/* at most one, an int */
}			minting_functions[] =

{
	{"flake_id", FLAKE_DEFAULT, 0},
	{"flake_id", FLAKE_DEFAULT, 1},
	{"flake_uuid", FLAKE_UUID, 0},
	{"flake_objectid", FLAKE_OBJECTID, 0},
	{"flake_uuidv7", FLAKE_UUIDV7, 0},
	{"flake_uuidv7", FLAKE_UUIDV7, 1},
};

/* The list, with a column added, which may be in it. */
static List *
add_column(List *columns, Oid relation, int32 attribute)
{
	ObjectAddress *column = palloc(sizeof(ObjectAddress));

	ObjectAddressSubSet(*column, RelationRelationId, relation, attribute);
	return lappend(columns, column);
}

/* For list_sort(): by table, the oldest first, then by number. */
static int
compare_columns(const ListCell *a, const ListCell *b)
{
	const ObjectAddress *column_a = lfirst(a);
	const ObjectAddress *column_b = lfirst(b);

	if (column_a->objectId != column_b->objectId)
		return column_a->objectId < column_b->objectId ? -1 : 1;
	return (column_a->objectSubId > column_b->objectSubId) -
		(column_a->objectSubId < column_b->objectSubId);
}

/* The list, sorted, with each column once. */
static List *
sort_columns(List *columns)
{
	List	   *result = NIL;
	ListCell   *lc;

	list_sort(columns, compare_columns);
	foreach(lc, columns)
	{
		const ObjectAddress *last = result == NIL ? NULL : llast(result);
		ObjectAddress *column = lfirst(lc);

		if (last == NULL || last->objectId != column->objectId ||
			last->objectSubId != column->objectSubId)
			result = lappend(result, column);
	}
	list_free(columns);
	return result;
}

/* The list, with the column added of which this is the default. */
static List *
add_column_of_default(List *columns, Oid attrdef, Snapshot snapshot)
{
	Relation	pg_attrdef = table_open(AttrDefaultRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_attrdef_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(attrdef));
	scan = systable_beginscan(pg_attrdef, AttrDefaultOidIndexId, true, snapshot,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attrdef form = (Form_pg_attrdef) GETSTRUCT(tuple);

		columns = add_column(columns, form->adrelid, form->adnum);
	}
	systable_endscan(scan);
	table_close(pg_attrdef, AccessShareLock);
	return columns;
}

/*
 * Whether a column of a domain takes its default from that, in a snapshot, or now if
 * that is NULL: it has no other one, and is in a relation that rows are put into.
 * What a view has is put into the columns of its tables, which are of the domain, too.
 */
static bool
takes_default_of_domain(Oid domain, Oid relation, int16 attribute, Snapshot snapshot)
{
	char		relkind = get_rel_relkind(relation);
	Relation	pg_attribute;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		takes = false;

	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE &&
		relkind != RELKIND_FOREIGN_TABLE)
		return false;
	pg_attribute = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relation));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber,
				F_INT2EQ, Int16GetDatum(attribute));
	scan = systable_beginscan(pg_attribute, AttributeRelidNumIndexId, true, snapshot,
							  2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);

		takes = form->atttypid == domain && !form->atthasdef &&
			form->attidentity == '\0';
	}
	systable_endscan(scan);
	table_close(pg_attribute, AccessShareLock);
	return takes;
}

/*
 * The list, with the columns added that take their defaults from a domain.  A domain
 * over this one has a default of its own, which is a copy, or no default.
 */
static List *
add_columns_of_domain(List *columns, Oid domain, Snapshot snapshot)
{
	Relation	pg_depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(TypeRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(domain));
	scan = systable_beginscan(pg_depend, DependReferenceIndexId, true, snapshot,
							  2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (depend->classid == RelationRelationId && depend->objsubid > 0 &&
			takes_default_of_domain(domain, depend->objid, depend->objsubid, snapshot))
			columns = add_column(columns, depend->objid, depend->objsubid);
	}
	systable_endscan(scan);
	table_close(pg_depend, AccessShareLock);
	return columns;
}

/*
 * The list, with the columns added whose defaults, or those of their domains, depend on
 * an object, in a snapshot, or now if that is NULL.
 */
static List *
add_defaults(List *columns, Oid class, Oid object, Snapshot snapshot)
{
	Relation	pg_depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(class));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(pg_depend, DependReferenceIndexId, true, snapshot,
							  2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (depend->classid == AttrDefaultRelationId)
			columns = add_column_of_default(columns, depend->objid, snapshot);
		else if (depend->classid == TypeRelationId &&
				 get_typtype(depend->objid) == TYPTYPE_DOMAIN)
			columns = add_columns_of_domain(columns, depend->objid, snapshot);
	}
	systable_endscan(scan);
	table_close(pg_depend, AccessShareLock);
	return columns;
}

/*
 * A function of the extension that function belongs to: of that name in the
 * same schema, and not somebody else's, whose schema it may be.
 */
static Oid
own_function(const char *name, int nargs, Oid function)
{
	Oid			argument = INT4OID;
	oidvector  *arguments = buildoidvector(&argument, nargs);
	Oid			found = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
										CStringGetDatum(name),
										PointerGetDatum(arguments),
										ObjectIdGetDatum(get_func_namespace(function)));

	if (!OidIsValid(found) || !flake_is_own_function(found, function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function %s does not exist",
						funcname_signature_string(name, nargs, NIL, &argument)),
				 errdetail("It belongs to extension \"flakeid\"."),
				 errhint("Create the extension again.")));
	return found;
}

List *
flake_find_columns(Oid sequence, Oid function, Snapshot snapshot)
{
	Oid			key = flake_generator_key(sequence, function);
	List	   *columns = add_defaults(NIL, RelationRelationId, sequence, snapshot);
	Oid			owner;
	int32		attribute;

	for (size_t i = 0; i < lengthof(minting_functions); i++)
	{
		if (minting_functions[i].generator == key)
			columns = add_defaults(columns, ProcedureRelationId,
								   own_function(minting_functions[i].name,
												minting_functions[i].nargs,
												function),
								   snapshot);
	}

	/* An owner changes only while the sequence is locked. */
	if (sequenceIsOwned(sequence, DEPENDENCY_AUTO, &owner, &attribute))
		columns = add_column(columns, owner, attribute);
	return sort_columns(columns);
}

/* flake_columns(generator regclass) returns setof record */
Datum
flake_columns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, flake_find_columns(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid, NULL))
	{
		ObjectAddress *column = lfirst(lc);
		char	   *attribute = get_attname(column->objectId,
											column->objectSubId, true);
		NameData	name;
		Datum		values[2];
		bool		nulls[2] = {false, false};

		if (attribute == NULL)
			continue;			/* it has been dropped meanwhile */
		namestrcpy(&name, attribute);
		values[0] = ObjectIdGetDatum(column->objectId);
		values[1] = NameGetDatum(&name);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
