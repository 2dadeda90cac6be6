/*-------------------------------------------------------------------------
 *
 * version.h
 *	  Whether the extension's SQL objects are of the library's version.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_VERSION_H
#define FLAKEID_VERSION_H

#pragma GCC visibility push(hidden)

/*
 * The version of the SQL objects that this library is for: default_version in
 * flakeid.control.
 */
#define FLAKE_VERSION	"1.0"

/* WARNING, once in a session, if they are of another one. */
extern void flake_check_version(void);

#pragma GCC visibility pop

#endif							/* FLAKEID_VERSION_H */
