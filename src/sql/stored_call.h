/*-------------------------------------------------------------------------
 *
 * stored_call.h
 *	  Calls of flakeid's functions in expressions that catalogs have.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_STORED_CALL_H
#define FLAKEID_STORED_CALL_H

#include "nodes/primnodes.h"

#pragma GCC visibility push(hidden)

/*
 * Whether a function is of the extension that another one belongs to: written in
 * C, in the same schema and of the same owner.  Membership alone says nothing, as an
 * extension's creator can add functions to it.
 */
extern bool flake_is_own_function(Oid other, Oid function);

/*
 * The call of flake_id() or flake_uuidv7() that a default consists of, but for
 * coercions that nobody has written, and which of the two; NULL if it is anything
 * else.  nodes is a pg_node_tree.
 */
extern FuncExpr *flake_stored_minting(Datum nodes, Oid function, bool *is_uuid);

#pragma GCC visibility pop

#endif							/* FLAKEID_STORED_CALL_H */
