/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  Which node of a Citus cluster this server is.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_CITUS_H
#define FLAKEID_CITUS_H

#include "compat.h"
#include "layout/layout.h"

#pragma GCC visibility push(hidden)

typedef enum CitusPlace
{
	CITUS_IS_ABSENT,
	CITUS_HAS_GROUP,			/* the only one in which the group is known */
	CITUS_HAS_NO_NODE,			/* never added to a cluster */
	CITUS_HAS_REMOVED,			/* removed from one */
	CITUS_IS_UPGRADED,			/* its tables are empty meanwhile */
	CITUS_IS_IN_DOUBT,			/* changed by this transaction */
	CITUS_IS_STRANGE			/* not the tables that are known */
} CitusPlace;

typedef struct CitusNode
{
	CitusPlace	place;
	int32		group;
} CitusNode;

/*
 * This node, as the database's tables of Citus have it.  It is kept until they
 * change.
 */
extern CitusNode flake_citus_node(void);

/* Whether a node has a group, as far as this one knows; and whether another has. */
extern bool flake_citus_is_group(int32 group);
extern bool flake_citus_is_of_other(int32 group);

/*
 * Whether flake_citus_node() has to read the tables again.  Whoever keeps what
 * follows from it looks here.
 */
extern bool flake_citus_has_changed;

/* ERROR 55000: the place, which is not CITUS_HAS_GROUP, does not tell a shard. */
pg_noreturn extern void flake_citus_no_place(CitusPlace place);

/* The same for a shard that is not that of the node's group. */
pg_noreturn extern void flake_citus_refuse(const CitusNode *node, int32 shard);

/* ERROR 55000: a shard was attached here, and is another node's group. */
pg_noreturn extern void flake_citus_refuse_other(int32 shard);

/* ERROR 22003: the layout has no shard of the node's group. */
pg_noreturn extern void flake_citus_refuse_group(const FlakeLayout *layout, int32 group);

/* ERROR 55000 on a node of Citus other than the coordinator, which alone leases shards. */
extern void flake_citus_check_lease(void);

/* Calls hook whenever the tables may have changed; at library load. */
extern void flake_citus_init(void (*hook) (void));

#pragma GCC visibility pop

#endif							/* FLAKEID_CITUS_H */
