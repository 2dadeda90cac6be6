/*-------------------------------------------------------------------------
 *
 * relation_change.h
 *	  Who is told that a relation was changed.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_RELATION_CHANGE_H
#define FLAKEID_RELATION_CHANGE_H

#pragma GCC visibility push(hidden)

/*
 * Lets hook be called with each relation that was changed, InvalidOid if it may be
 * any; at library load.
 */
extern void flake_on_relation_change(void (*hook) (Oid relation));

#pragma GCC visibility pop

#endif							/* FLAKEID_RELATION_CHANGE_H */
