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

/*
 * C1: whether a shard is one of those that are for groups, and whether it is this
 * node's.  Both are false without Citus.
 */
extern bool flake_citus_is_for_group(CitusNode node, const FlakeLayout *layout, int32 shard);
extern bool flake_citus_is_own(CitusNode node, const FlakeLayout *layout, int32 shard);

/*
 * The shard of the node's group.  ERROR 55000 if it is not known, 22003 if it is
 * none of the layout's shards that are for groups.
 */
extern int32 flake_citus_shard(CitusNode node, const FlakeLayout *layout);

/* ERROR 55000: a shard is not this node's, and was not attached. */
pg_noreturn extern void flake_citus_refuse(CitusNode node, const FlakeLayout *layout, int32 shard);

/* ERROR 55000 if a shard cannot be attached, because it is for another group. */
extern void flake_citus_check_attach(const FlakeLayout *layout, int32 shard);

/* ERROR 55000 on a node of Citus other than the coordinator, which alone leases shards. */
extern void flake_citus_check_lease(void);

/* Calls hook whenever the tables may have changed; at library load. */
extern void flake_citus_init(void (*hook) (void));

#pragma GCC visibility pop

#endif							/* FLAKEID_CITUS_H */
