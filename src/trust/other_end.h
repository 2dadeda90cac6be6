/*-------------------------------------------------------------------------
 *
 * other_end.h
 *	  The tables at the other end of foreign keys.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_OTHER_END_H
#define FLAKEID_OTHER_END_H

#include "trust/step.h"

#pragma GCC visibility push(hidden)

/*
 * ERROR unless the next command may make the foreign keys that a step without a
 * command is about.  function is one of the extension.
 */
extern void flake_check_other_end(const Step *step, Oid function);

#pragma GCC visibility pop

#endif							/* FLAKEID_OTHER_END_H */
