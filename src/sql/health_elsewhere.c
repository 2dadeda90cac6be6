/*-------------------------------------------------------------------------
 *
 * health_elsewhere.c
 *	  Ids that this server cannot have minted, though it mints their shard: for the
 *	  view flake_health.
 *
 * A copy of the server has minted them, or another server that was given the same
 * shard.  An id of a shard that is above all that was handed out here has come from
 * elsewhere, by an import or by replication.  One that is below may have come from
 * elsewhere, too, and cannot be told from our own.  So this finds what others mint
 * of a shard that is idle here, or slower.
 *
 * What was handed out since the server started is in the slots, all from before is
 * at or below the floor of the generator.  Rows are looked at before slots are: an
 * id of ours that is in a row by then had been handed out before.  A shard that is
 * detached here, or was not minted since the server started, is left out: others may
 * mint it.
 *
 * The tables are anybody's.  One that is locked is left out, or of which somebody keeps
 * a page locked.  Each is unlocked before
 * the next, and so many are looked at that a call takes well below a second (see
 * NEWEST_TABLES).  An id is told to those who may read it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/layout.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/shmem.h"
#include "miscadmin.h"
#include "sql/columns.h"
#include "storage/lmgr.h"
#include "trust/definition_size.h"
#include "trust/plain_ids.h"
#include "trust/search_newest.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(flake_health_elsewhere);

#define ELSEWHERE_COLUMNS	6

/* So many tables are looked at, those that were created last. */
#define NEWEST_TABLES		1000

/* A default that takes more bytes than this in a catalog is not looked at. */
#define LONGEST_DEFAULT		8192

/* And neither is a table with more of them, and of checks, rules, policies and triggers. */
#define LONGEST_DEFINITION	100000

/* A generator that has minted since the server started. */
typedef struct MintingGenerator
{
	Oid			key;			/* must be first: hash key */
	Oid			sequence;
	bool		exists;
	FlakeLayout layout;
	int64		floor;			/* packed: above all from before the start */
	int64		below;			/* id: at or below the last one of each shard */
} MintingGenerator;

typedef struct ShardKey
{
	Oid			generator;
	int32		shard;
} ShardKey;

/* A shard that was minted here. */
typedef struct MintedShard
{
	ShardKey	key;			/* must be first: hash key */
	int64		last;			/* packed: the last value that was handed out */
	int64		last_id;		/* as an id; nothing below is from elsewhere */
	int64		found;			/* the largest id above, in the present table */
	bool		is_found;
} MintedShard;

/* A column that ids of a generator go into. */
typedef struct IdColumn
{
	Oid			relation;
	AttrNumber	attribute;
	MintingGenerator *generator;
} IdColumn;

/* A table that was looked at: hash key. */
typedef struct LookedAt
{
	Oid			relation;
	int32		attribute;
	Oid			generator;
	int32		is_child;		/* as that of another */
} LookedAt;

/* What is known while the tables are looked at. */
typedef struct Look
{
	Oid			function;
	ReturnSetInfo *result;
	HTAB	   *generators;		/* of MintingGenerator */
	HTAB	   *shards;			/* of MintedShard */
	HTAB	   *looked_at;
	int			tables;			/* how many */
	MintingGenerator *generator;	/* of the present table */
	List	   *found;			/* of MintedShard: what is in it */
	Patience	patience;		/* with pages of all tables */
} Look;

static HTAB *
make_hash(const char *name, Size keysize, Size entrysize)
{
	HASHCTL		control = {.keysize = keysize,.entrysize = entrysize,.hcxt = CurrentMemoryContext};

	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The last value of an open slot, which may have been opened and not used. */
static bool
get_last(Slot *slot, int64 *last)
{
	*last = (int64) pg_atomic_read_u64(&slot->last);
	return *last > FLAKE_PACKED_NONE + 1;
}

static void
collect_slot(Slot *slot, void *arg)
{
	Look	   *look = arg;
	ShardKey	key = {.generator = slot->key.generator,.shard = slot->key.shard};
	MintedShard *minted;
	int64		last;

	if (key.generator == FLAKE_UUID || key.generator == FLAKE_OBJECTID ||
		!get_last(slot, &last))
		return;
	minted = hash_search(look->shards, &key, HASH_ENTER, NULL);
	minted->last = last;
	minted->is_found = false;
}

static void
collect_horizon(Horizon *horizon, void *arg)
{
	Look	   *look = arg;
	MintingGenerator *generator = hash_search(look->generators, &horizon->key.generator,
											  HASH_ENTER, NULL);

	generator->floor = (int64) pg_atomic_read_u64(&horizon->floor);
	generator->exists = false;
	generator->below = PG_INT64_MAX;
}

static void
read_layouts(Look *look)
{
	HASH_SEQ_STATUS scan;
	MintingGenerator *generator;

	hash_seq_init(&scan, look->generators);
	while ((generator = hash_seq_search(&scan)) != NULL)
	{
		generator->sequence = flake_generator_sequence(generator->key, look->function);

		/* UUIDs are not looked for. */
		generator->exists = flake_generator_layout(generator->sequence, look->function,
												   true, &generator->layout) &&
			!flake_layout_is_uuid(&generator->layout);
	}
}

/* The last id of a shard, or where nobody knows any more what that was. */
static int64
last_id(const MintingGenerator *generator, int32 shard, int64 last)
{
	const FlakeLayout *layout = &generator->layout;

	/* setval() allows more than the layout does. */
	return flake_layout_id(layout, Min(Max(last, generator->floor),
									   flake_layout_max_packed(layout)),
						   flake_layout_shard_image(layout, shard));
}

static void
set_last_ids(Look *look)
{
	HASH_SEQ_STATUS scan;
	MintedShard *minted;

	hash_seq_init(&scan, look->shards);
	while ((minted = hash_seq_search(&scan)) != NULL)
	{
		MintingGenerator *generator = hash_search(look->generators,
												  &minted->key.generator, HASH_FIND, NULL);

		if (generator == NULL || !generator->exists)
			continue;
		minted->last_id = last_id(generator, minted->key.shard, minted->last);
		generator->below = Min(generator->below, minted->last_id);
	}
}

/* For list_sort(): the newest table first. */
static int
compare_columns(const ListCell *a, const ListCell *b)
{
	Oid			relation_a = ((const IdColumn *) lfirst(a))->relation;
	Oid			relation_b = ((const IdColumn *) lfirst(b))->relation;

	return (relation_a < relation_b) - (relation_a > relation_b);
}

static List *
collect_columns(Look *look)
{
	List	   *columns = NIL;
	HASH_SEQ_STATUS scan;
	MintingGenerator *generator;

	hash_seq_init(&scan, look->generators);
	while ((generator = hash_seq_search(&scan)) != NULL)
	{
		ListCell   *lc;

		if (generator->below == PG_INT64_MAX)
			continue;
		foreach(lc, flake_find_columns(generator->sequence, look->function, NULL))
		{
			const ObjectAddress *address = lfirst(lc);
			IdColumn   *column = palloc(sizeof(IdColumn));

			column->relation = address->objectId;
			column->attribute = address->objectSubId;
			column->generator = generator;
			columns = lappend(columns, column);
		}
	}
	list_sort(columns, compare_columns);
	return columns;
}

static void
heed_id(int64 id, void *arg)
{
	Look	   *look = arg;
	ShardKey	key = {.generator = look->generator->key};
	MintedShard *minted;

	key.shard = flake_layout_shard(&look->generator->layout, id);
	minted = hash_search(look->shards, &key, HASH_FIND, NULL);
	if (minted == NULL || id <= minted->last_id || minted->is_found)
		return;
	minted->found = id;			/* the first one is the largest */
	minted->is_found = true;
	look->found = lappend(look->found, minted);
}

/* Looks at a slot again; closed by now, it says that others may mint. */
static void
look_again(Slot *slot, void *arg)
{
	int64	   *last = arg;

	if (!get_last(slot, last))
		*last = FLAKE_PACKED_NONE;
}

/* Whether the present user may read a column. */
static bool
may_read(Oid relation, AttrNumber attribute)
{
	return (pg_class_aclcheck(relation, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
			pg_attribute_aclcheck(relation, attribute, GetUserId(), ACL_SELECT) == ACLCHECK_OK) &&
		check_enable_rls(relation, InvalidOid, true) != RLS_ENABLED;
}

/* Adds a row for each shard that was found in a table, if its slot confirms it. */
static void
add_found(Look *look, Oid relation, AttrNumber attribute)
{
	ListCell   *lc;

	foreach(lc, look->found)
	{
		MintedShard *minted = lfirst(lc);
		int64		last = FLAKE_PACKED_NONE;
		NameData	name;
		Datum		values[ELSEWHERE_COLUMNS];
		bool		nulls[ELSEWHERE_COLUMNS] = {false};

		minted->is_found = false;
		flake_shmem_visit_slot(minted->key.generator, minted->key.shard, look_again, &last);
		if (last == FLAKE_PACKED_NONE)
			continue;
		last = last_id(look->generator, minted->key.shard, last);
		if (minted->found <= last)
			continue;
		namestrcpy(&name, get_attname(relation, attribute, false));
		values[0] = ObjectIdGetDatum(look->generator->sequence);
		values[1] = ObjectIdGetDatum(relation);
		values[2] = NameGetDatum(&name);
		values[3] = Int32GetDatum(minted->key.shard);
		values[4] = Int64GetDatum(minted->found);
		nulls[4] = !may_read(relation, attribute);
		values[5] = Int64GetDatum(last);
		tuplestore_putvalues(look->result->setResult, look->result->setDesc, values, nulls);
	}
	list_free(look->found);
	look->found = NIL;
}

/*
 * Opens and locks a table; NULL if others have locked or dropped it, or it would take
 * long and much memory.
 */
static Relation
open_table(Oid relation)
{
	Relation	rel;

	if (!ConditionalLockRelationOid(relation, AccessShareLock))
		return NULL;
	rel = flake_definition_is_longer(relation, LONGEST_DEFINITION) ? NULL
		: try_relation_open(relation, NoLock);
	if (rel == NULL)
		UnlockRelationOid(relation, AccessShareLock);
	return rel;
}

/* Whether a column has ids of the generator as they are, as far as its default says. */
static bool
has_ids(Look *look, Relation rel, AttrNumber attribute, bool is_child)
{
	if (is_child)
		return !flake_has_default(rel, attribute);
	return flake_gets_plain_ids(rel, attribute, look->function, LONGEST_DEFAULT);
}

/*
 * Looks at a table, unless that was done before.  Returns whether its children
 * are to be looked at, too.
 */
static bool
look_at_table(Look *look, Oid relation, AttrNumber attribute, bool is_child)
{
	LookedAt	key = {.relation = relation,.attribute = attribute,.is_child = is_child};
	Relation	rel;
	bool		is_known;
	bool		exists;

	key.generator = look->generator->key;
	(void) hash_search(look->looked_at, &key, HASH_ENTER, &is_known);
	if (is_known || attribute <= InvalidAttrNumber)
		return false;

	/* Others' temporary tables cannot be read.  Anybody can make many. */
	if (isOtherTempNamespace(get_rel_namespace(relation)))
		return false;
	look->tables++;
	rel = open_table(relation);
	if (rel == NULL)
		return false;
	exists = attribute <= RelationGetNumberOfAttributes(rel) &&
		!TupleDescAttr(RelationGetDescr(rel), attribute - 1)->attisdropped;
	if (exists && has_ids(look, rel, attribute, is_child))
	{
		flake_search_newest(rel, attribute, look->generator->below, &look->patience,
							heed_id, look);
		add_found(look, relation, attribute);
	}
	relation_close(rel, AccessShareLock);
	return exists;
}

/*
 * Looks at a table, and at its partitions and children that have no default of their
 * own: those that do are in the list of columns, or have ids of another generator.
 */
static void
look_at_column(Look *look, const IdColumn *column)
{
	char	   *name;
	List	   *parents = NIL;

	look->generator = column->generator;
	if (!look_at_table(look, column->relation, column->attribute, false))
		return;
	name = get_attname(column->relation, column->attribute, true);
	if (name == NULL)
		return;
	parents = list_make1_oid(column->relation);
	while (parents != NIL)
	{
		List	   *children = flake_children(llast_oid(parents));

		parents = list_delete_last(parents);
		while (children != NIL && look->tables < NEWEST_TABLES)
		{
			Oid			child = llast_oid(children);

			children = list_delete_last(children);
			if (look_at_table(look, child, get_attnum(child, name), true))
				parents = lappend_oid(parents, child);
		}
		list_free(children);
	}
}

/*
 * _flake_health_elsewhere(OUT generator regclass, OUT relation regclass,
 *	OUT attribute name, OUT shard int, OUT id bigint, OUT last_id bigint)
 *	returns setof record
 *
 * For each column and shard the largest id that was not minted here, null to those
 * who may not read it; and up to where it could have been.
 */
Datum
flake_health_elsewhere(PG_FUNCTION_ARGS)
{
	MemoryContext table_context;
	Look		look = {.function = fcinfo->flinfo->fn_oid,.patience = PATIENCE_BRIEFLY};
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	look.result = (ReturnSetInfo *) fcinfo->resultinfo;
	look.shards = make_hash("flakeid minted shards", sizeof(ShardKey), sizeof(MintedShard));
	look.generators = make_hash("flakeid minting generators", sizeof(Oid),
								sizeof(MintingGenerator));
	look.looked_at = make_hash("flakeid tables", sizeof(LookedAt), sizeof(LookedAt));
	flake_shmem_each_slot(collect_slot, &look);
	if (hash_get_num_entries(look.shards) == 0)
		return (Datum) 0;
	flake_shmem_each_horizon(collect_horizon, &look);
	read_layouts(&look);
	set_last_ids(&look);

	table_context = AllocSetContextCreate(CurrentMemoryContext, "flakeid table",
										  ALLOCSET_DEFAULT_SIZES);
	foreach(lc, collect_columns(&look))
	{
		MemoryContext old_context;

		CHECK_FOR_INTERRUPTS();
		if (look.tables >= NEWEST_TABLES)
			break;
		old_context = MemoryContextSwitchTo(table_context);
		look_at_column(&look, lfirst(lc));
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(table_context);
	}
	MemoryContextDelete(table_context);
	return (Datum) 0;
}
