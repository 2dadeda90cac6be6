/*-------------------------------------------------------------------------
 *
 * preset.h
 *	  Published layouts by name.
 *
 * Nothing here needs a running server.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_PRESET_H
#define FLAKEID_PRESET_H

#include "layout/layout.h"

#pragma GCC visibility push(hidden)

typedef struct FlakePreset
{
	const char *name;
	const char *text;			/* as flake_layout_parse() reads it */
	const char *origin;			/* who published it, and where */
} FlakePreset;

/* All presets; the last one has no name. */
extern const FlakePreset flake_presets[];

/* The preset of that name; NULL if there is none. */
extern const FlakePreset *flake_preset_find(const char *name);

/* The layout of a preset. */
extern FlakeLayout flake_preset_layout(const FlakePreset *preset);

/* The name of the preset that a layout is; NULL if it is none. */
extern const char *flake_preset_name(const FlakeLayout *layout);

#pragma GCC visibility pop

#endif							/* FLAKEID_PRESET_H */
