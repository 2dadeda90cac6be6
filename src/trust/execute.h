/*-------------------------------------------------------------------------
 *
 * execute.h
 *	  Executing a command as another role.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_EXECUTE_H
#define FLAKEID_EXECUTE_H

#pragma GCC visibility push(hidden)

/*
 * Executes a command as a role if the current user can become that, or else
 * as the current user; SPI is connected.  ERROR 42501 if the current user has the
 * role's rights and cannot become it.
 */
extern void flake_execute_as_if_possible(Oid role, const char *command);

#pragma GCC visibility pop

#endif							/* FLAKEID_EXECUTE_H */
