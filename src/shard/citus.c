/*-------------------------------------------------------------------------
 *
 * citus.c
 *	  Which node of a Citus cluster this server is.
 *
 * Citus gives each primary node of a cluster a number, its group, that no other
 * node of the cluster has had or will have; docs/internals/citus.md has the
 * exceptions.  A standby that is promoted keeps that of its primary.  Each node knows
 * its own.  So in a database with Citus
 *
 *	C1	the lower half of a layout's shards is for groups.  Of these a node mints the
 *		one that has the number of its group, and no other.  Groups count upwards, so
 *		that those of nodes that are added later are there, too.
 *	C2	the upper half is for flake_attach().  A node mints of these what was attached
 *		on it, whether it knows its group or not.
 *	C3	only the coordinator leases shards, of the upper half.
 *	C4	what was read is forgotten when Citus changes it, before the next
 *		transaction.  A transaction that goes on to mint a group that the node
 *		has just lost does no harm: nobody else gets that group.
 *
 * Group 0 is the coordinator's.  But every node has it before it is added, and again
 * after it was removed, when it still has the rows of all nodes in pg_dist_node.  So
 * 0 counts only if
 *
 *	- pg_dist_node has the coordinator's row: a node has none before it is added.
 *	- the row of pg_dist_local_group is the one that CREATE EXTENSION citus, or the
 *	  end of an upgrade, has inserted: Citus adds and removes a node by UPDATE, and
 *	  a row says of itself whether it comes from one.  A coordinator that has
 *	  removed itself cannot be told from a worker then; the hint says what to do.
 *
 * The tables are in pg_catalog, where only superusers create something, and are
 * read as relations.  Nothing of Citus is needed to build this or to load it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "mint/relation_change.h"
#include "shard/citus.h"
#include "storage/sinval.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#define COORDINATOR		0

/* How often the tables may have changed, and as of when the node is known. */
static uint64 changes = 1;
static uint64 known_changes = 0;
static CitusNode known;

/* What was read for it. */
static Oid	group_table = InvalidOid;
static Oid	node_table = InvalidOid;

static void (*change_hook) (void);

static void
forget(void)
{
	changes++;
	change_hook();
}

static void
relation_changed(Oid relid)
{
	if (!OidIsValid(relid) || relid == group_table || relid == node_table)
		forget();
}

/* CREATE EXTENSION citus makes schemas, and no table that is known here. */
static void
schemas_changed(Datum arg, SysCacheIdentifier cacheid, uint32 hashvalue)
{
	forget();
}

void
flake_citus_init(void (*hook) (void))
{
	change_hook = hook;
	flake_on_relation_change(relation_changed);
	CacheRegisterSyscacheCallback(NAMESPACEOID, schemas_changed, (Datum) 0);
}

/*
 * Opens a table of Citus and finds its column groupid.  NULL if there is no such
 * table, or not as it is known.
 */
static Relation
open_table(Oid table, AttrNumber *column)
{
	Relation	rel;

	if (!OidIsValid(table))
		return NULL;
	rel = try_table_open(table, AccessShareLock);
	if (rel == NULL)
		return NULL;
	*column = get_attnum(table, "groupid");
	if (rel->rd_rel->relkind == RELKIND_RELATION && *column != InvalidAttrNumber &&
		TupleDescAttr(RelationGetDescr(rel), *column - 1)->atttypid == INT4OID)
		return rel;
	table_close(rel, AccessShareLock);
	return NULL;
}

/* A row's group; -1 if it is null. */
static int32
group_of(Relation rel, HeapTuple row, AttrNumber column)
{
	bool		isnull;
	Datum		group = heap_getattr(row, column, RelationGetDescr(rel), &isnull);

	return isnull ? -1 : DatumGetInt32(group);
}

/* Whether this transaction has written a row. */
static bool
is_in_doubt(HeapTuple row)
{
	return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data));
}

/* Whether the coordinator's row is there, and whether this transaction has added it. */
static bool
find_coordinator(bool *in_doubt)
{
	AttrNumber	column;
	Relation	rel = open_table(node_table, &column);
	SysScanDesc scan;
	HeapTuple	row;
	bool		found = false;

	if (rel == NULL)
		return false;
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (!found && HeapTupleIsValid(row = systable_getnext(scan)))
	{
		found = group_of(rel, row, column) == COORDINATOR;
		*in_doubt = found && is_in_doubt(row);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* Reads the node's own row. */
static CitusNode
read_own_group(void)
{
	CitusNode	node = {CITUS_IS_STRANGE, COORDINATOR};
	AttrNumber	column;
	Relation	rel = open_table(group_table, &column);
	SysScanDesc scan;
	HeapTuple	row;

	if (rel == NULL)
		return node;
	node.place = CITUS_IS_UPGRADED;
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	row = systable_getnext(scan);
	if (HeapTupleIsValid(row))
	{
		bool		is_updated = (row->t_data->t_infomask & HEAP_UPDATED) != 0;

		node.group = group_of(rel, row, column);
		node.place = CITUS_HAS_GROUP;
		if (is_in_doubt(row))
			node.place = CITUS_IS_IN_DOUBT;
		else if (node.group < 0 || HeapTupleIsValid(systable_getnext(scan)))
			node.place = CITUS_IS_STRANGE;
		else if (node.group == COORDINATOR && is_updated)
			node.place = CITUS_HAS_REMOVED;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return node;
}

/* Whether a snapshot has the extension, and if asked for, dropped by this transaction. */
static bool
find_citus(Snapshot snapshot, bool dropped_here)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("citus"));
	/* The table has a few rows: to open its index takes longer. */
	scan = systable_beginscan(rel, InvalidOid, false, snapshot, 1, &key);
	while (!found && HeapTupleIsValid(row = systable_getnext(scan)))
		found = !dropped_here ||
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(row->t_data));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

static CitusNode
read_node(void)
{
	CitusNode	node = {CITUS_IS_ABSENT, COORDINATOR};
	bool		in_doubt;

	/*
	 * Most databases have no row of it, dead or alive: one look is enough
	 * then.
	 */
	if (!find_citus(SnapshotAny, false))
		return node;
	if (!find_citus(NULL, false))
	{
		/*
		 * To drop it can be undone, while the transaction keeps what it has
		 * minted.
		 */
		if (find_citus(SnapshotAny, true))
			node.place = CITUS_IS_IN_DOUBT;
		return node;
	}
	group_table = get_relname_relid("pg_dist_local_group", PG_CATALOG_NAMESPACE);
	node_table = get_relname_relid("pg_dist_node", PG_CATALOG_NAMESPACE);
	node = read_own_group();
	if (node.place == CITUS_HAS_GROUP && node.group == COORDINATOR)
	{
		if (!find_coordinator(&in_doubt))
			node.place = CITUS_HAS_NO_NODE;
		else if (in_doubt)
			node.place = CITUS_IS_IN_DOUBT;
	}
	return node;
}

CitusNode
flake_citus_node(void)
{
	/* To read the tables may bring news of them, or fail. */
	while (known_changes != changes)
	{
		uint64		changes_before = changes;
		uint64		messages_before = SharedInvalidMessageCounter;

		known = read_node();
		known_changes = changes_before;

		/*
		 * With debug_discard_caches there are always changes, but no
		 * messages.
		 */
		if (messages_before == SharedInvalidMessageCounter)
			break;
	}
	return known;
}

/* C1: the highest shard that is for a group. */
static int32
highest_group(const FlakeLayout *layout)
{
	return flake_layout_max_shard(layout) / 2;
}

bool
flake_citus_is_for_group(CitusNode node, const FlakeLayout *layout, int32 shard)
{
	return node.place != CITUS_IS_ABSENT && shard <= highest_group(layout);
}

bool
flake_citus_is_own(CitusNode node, const FlakeLayout *layout, int32 shard)
{
	return node.place == CITUS_HAS_GROUP && node.group == shard &&
		flake_citus_is_for_group(node, layout, shard);
}

/* What is wrong, and what helps. */
static const struct
{
	const char *detail;
	const char *hint;
}			no_places[] =

{
	[CITUS_HAS_NO_NODE] = {
		"Citus does not know this node: its table \"pg_dist_node\" does not have the coordinator.",
		"On the coordinator, use citus_set_coordinator_host(), and for a worker citus_add_node()."
	},
	[CITUS_HAS_REMOVED] = {
		"This node was removed from its cluster.",
		"Add a worker again with citus_add_node(), or drop and create extension \"citus\" there. If this is the coordinator, and was removed and set again: BEGIN; DELETE FROM pg_dist_local_group; INSERT INTO pg_dist_local_group VALUES (0); COMMIT."
	},
	[CITUS_IS_UPGRADED] = {
		"Its table \"pg_dist_local_group\" is empty, as it is during an upgrade.",
		"Call citus_finish_pg_upgrade()."
	},
	[CITUS_IS_IN_DOUBT] = {
		"This transaction has changed the node's place in the cluster.",
		"Commit first."
	},
	[CITUS_IS_STRANGE] = {
		"Its tables \"pg_dist_local_group\" and \"pg_dist_node\" are not as they are expected.",
		"Use a version of Citus for which this version of extension \"flakeid\" was made, or attach shards with flake_attach()."
	},
};

/* ERROR 55000: the place, which is not CITUS_HAS_GROUP, does not tell a shard. */
pg_noreturn static void
no_place(CitusPlace place)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this node of Citus has no shard of its own"),
			 errdetail_internal("%s", no_places[place].detail),
			 errhint("%s", no_places[place].hint)));
}

void
flake_citus_refuse(CitusNode node, const FlakeLayout *layout, int32 shard)
{
	if (node.place != CITUS_HAS_GROUP)
		no_place(node.place);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("shard %d is not this node's", shard),
			 errdetail("In a database with Citus each node mints the shard of its group, which is %d here.",
					   node.group),
			 errhint("Call flake_id() without a shard, and leave \"flakeid.shard\" unset. A shard above %d can be minted on one node, after flake_attach() there.",
					 highest_group(layout))));
}

void
flake_citus_check_attach(const FlakeLayout *layout, int32 shard)
{
	CitusNode	node = flake_citus_node();

	if (flake_citus_is_for_group(node, layout, shard) &&
		!flake_citus_is_own(node, layout, shard))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %d cannot be attached", shard),
				 errdetail("In a database with Citus the shards 0 to %d of layout \"%s\" are for the nodes' groups. Each node mints its own.",
						   highest_group(layout), flake_layout_name(layout)),
				 errhint("Attach a shard above %d, on one node only.", highest_group(layout))));
}

int32
flake_citus_shard(CitusNode node, const FlakeLayout *layout)
{
	if (node.place != CITUS_HAS_GROUP)
		no_place(node.place);
	if (!flake_citus_is_own(node, layout, node.group))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("group %d of this node is out of range", node.group),
				 errdetail("The shards 0 to %d of layout \"%s\" are for groups.",
						   highest_group(layout), flake_layout_name(layout)),
				 errhint("Attach a shard above %d on this node alone with flake_attach(), and set \"flakeid.shard\" to it here.",
						 highest_group(layout))));
	return node.group;
}

void
flake_citus_check_lease(void)
{
	CitusNode	node = flake_citus_node();

	if (node.place == CITUS_IS_ABSENT ||
		(node.place == CITUS_HAS_GROUP && node.group == COORDINATOR))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot lease shards on this node"),
			 errdetail("In a database with Citus the coordinator leases them, or two nodes could lease the same shard."),
			 errhint("Connect to the coordinator.")));
}
