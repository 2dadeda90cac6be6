/*-------------------------------------------------------------------------
 *
 * unlock.c
 *	  Letting go of a generator that was only looked at.
 *
 * A look-up locks the sequence to the end of the transaction: so DROP SEQUENCE and
 * flake_rewind() wait for those who mint.  Others who want to mint wait behind
 * these.  So a function that mints nothing, and whose caller goes on to wait for
 * tables of anybody, lets the sequence go.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mint/generator.h"
#include "mint/unlock.h"
#include "storage/lmgr.h"
#include "utils/resowner.h"

bool
flake_generator_is_locked(Oid sequence)
{
	const Generator *generator = flake_generator_known(sequence);

	return generator != NULL && generator->locked_lxid == flake_current_lxid();
}

void
flake_generator_unlock(Oid sequence)
{
	Generator  *generator = flake_generator_known(sequence);
	ResourceOwner owner = CurrentResourceOwner;

	if (generator == NULL || generator->locked_lxid != flake_current_lxid())
		return;					/* the look-up was an error before that */
	Assert(generator->lxid != flake_current_lxid());
	generator->locked_lxid = InvalidLocalTransactionId;
	CurrentResourceOwner = TopTransactionResourceOwner;
	UnlockRelationOid(sequence, RowExclusiveLock);
	CurrentResourceOwner = owner;
}
