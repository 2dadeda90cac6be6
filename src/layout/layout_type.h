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

#pragma GCC visibility push(hidden)

/*
 * What messages call a layout: its preset's name, or if it is no preset its
 * text; palloc'd.
 */
extern char *flake_layout_name(const FlakeLayout *layout);

#pragma GCC visibility pop

#endif							/* FLAKEID_LAYOUT_TYPE_H */
