/*-------------------------------------------------------------------------
 *
 * create.h
 *	  Creating generators.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_CREATE_H
#define FLAKEID_CREATE_H

#pragma GCC visibility push(hidden)

/* Registers the provider of the labels that layouts are; at library load. */
extern void flake_create_init(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_CREATE_H */
