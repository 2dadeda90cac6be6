/*-------------------------------------------------------------------------
 *
 * layout_type.h
 *	  The SQL type flake_layout, as other files' functions take it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LAYOUT_TYPE_H
#define FLAKEID_LAYOUT_TYPE_H

#include "fmgr.h"
#include "layout/layout.h"

/* Values are passed by reference and are never toasted. */
#define FLAKE_GETARG_LAYOUT(n) ((const FlakeLayout *) PG_GETARG_POINTER(n))
#define FLAKE_RETURN_LAYOUT(layout) PG_RETURN_POINTER(layout)

#endif							/* FLAKEID_LAYOUT_TYPE_H */
