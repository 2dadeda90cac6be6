/*-------------------------------------------------------------------------
 *
 * layout_text.h
 *	  The text form of layouts.
 *
 * Nothing here needs a running server.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_LAYOUT_TEXT_H
#define FLAKEID_LAYOUT_TEXT_H

#include "layout/layout.h"

#pragma GCC visibility push(hidden)

/* What is wrong with the text of a layout. */
typedef struct FlakeLayoutError
{
	char		detail[256];
	const char *hint;			/* or NULL */
} FlakeLayoutError;

/* Room for any layout's text. */
#define FLAKE_LAYOUT_TEXT_LEN	512

/*
 * Reads the text form: fields as name:bits, from the most significant one
 * down, then options as name=value.  False, with *error filled in, if that is
 * not a layout.
 */
extern bool flake_layout_parse(const char *text, FlakeLayout *layout,
							   FlakeLayoutError *error);

/* Writes the text form, complete and in one fixed order. */
extern void flake_layout_print(const FlakeLayout *layout,
							   char text[FLAKE_LAYOUT_TEXT_LEN]);

#pragma GCC visibility pop

#endif							/* FLAKEID_LAYOUT_TEXT_H */
