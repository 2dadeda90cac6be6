/*-------------------------------------------------------------------------
 *
 * unlock.h
 *	  Letting go of a generator that was only looked at.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_UNLOCK_H
#define FLAKEID_UNLOCK_H

#pragma GCC visibility push(hidden)

/* Whether a look-up in this transaction has locked the sequence of a generator. */
extern bool flake_generator_is_locked(Oid sequence);

/*
 * Unlocks the sequence of a generator that a look-up has locked.  Nothing was
 * minted from it in this transaction, nor was it locked before that look-up.
 */
extern void flake_generator_unlock(Oid sequence);

#pragma GCC visibility pop

#endif							/* FLAKEID_UNLOCK_H */
