/*-------------------------------------------------------------------------
 *
 * plain_ids.h
 *	  Whether the ids in a column are as they were minted.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_PLAIN_IDS_H
#define FLAKEID_PLAIN_IDS_H

#include "access/attnum.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/* Whether a column has a default, of its own or of its domain.  The relation is locked. */
extern bool flake_has_default(Relation rel, AttrNumber attribute);

/*
 * Whether a column gets ids as they are, cast to its type, if it gets any by its
 * default, or that of its domain; and not such as flake_to_text() or flake_seal() make of them.  False for
 * a default whose nodes take more than longest bytes as text.  The relation is
 * locked; function is one of the extension's.
 */
extern bool flake_gets_plain_ids(Relation rel, AttrNumber attribute, Oid function,
								 Size longest);

#pragma GCC visibility pop

#endif							/* FLAKEID_PLAIN_IDS_H */
