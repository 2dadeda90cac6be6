/*-------------------------------------------------------------------------
 *
 * rebind.h
 *	  What parses commands, and executes nothing: see rebind.c.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_TRUST_REBIND_H
#define FLAKEID_TRUST_REBIND_H

#pragma GCC visibility push(hidden)

/* Whether PostgreSQL would take seconds to read what a command calls: see slow.c. */
extern bool flake_command_takes_long(const char *command);

#pragma GCC visibility pop

#endif							/* FLAKEID_TRUST_REBIND_H */
