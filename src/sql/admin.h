/*-------------------------------------------------------------------------
 *
 * admin.h
 *	  Creating, showing and changing generators.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_ADMIN_H
#define FLAKEID_ADMIN_H

#pragma GCC visibility push(hidden)

/* Registers the provider of the labels that layouts are; at library load. */
extern void flake_admin_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_ADMIN_H */
