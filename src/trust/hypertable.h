/*-------------------------------------------------------------------------
 *
 * hypertable.h
 *	  Tables that TimescaleDB has made its own.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_HYPERTABLE_H
#define FLAKEID_HYPERTABLE_H

#pragma GCC visibility push(hidden)

/*
 * Whether a table is a hypertable of TimescaleDB, or a chunk of one, so that who
 * reads it without TimescaleDB may not see all of its rows.  False in a database
 * without TimescaleDB.  ERROR 0A000 if it does not say which are.
 */
extern bool flake_is_hypertable_or_chunk(Oid relation);

#pragma GCC visibility pop

#endif							/* FLAKEID_HYPERTABLE_H */
