/*-------------------------------------------------------------------------
 *
 * definition_size.h
 *	  How much PostgreSQL reads to open a relation.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_DEFINITION_SIZE_H
#define FLAKEID_DEFINITION_SIZE_H

#pragma GCC visibility push(hidden)

/*
 * Whether the defaults, checks, rules, policies and triggers of a relation take more
 * bytes together, as the catalogs have them uncompressed.  It is locked, or they can
 * change.
 */
extern bool flake_definition_is_longer(Oid relation, Size bytes);

#pragma GCC visibility pop

#endif							/* FLAKEID_DEFINITION_SIZE_H */
