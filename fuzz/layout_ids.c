/*-------------------------------------------------------------------------
 *
 * layout_ids.c
 *	  Fuzzing: ids of any layout can be put together and taken apart.
 *
 * An input is text of two lines: a layout, or the name of a preset; and three
 * numbers, which are a packed value, a shard and an id.  Numbers that are left
 * out are 0.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check.h"
#include "layout/preset.h"

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	char	   *source = malloc(size + 1);
	char	   *rest;
	const FlakePreset *preset;
	FlakeLayout layout;

	if (source == NULL)
		abort();
	memcpy(source, data, size);
	source[size] = '\0';
	rest = source + strcspn(source, "\n");
	if (*rest != '\0')
		*rest++ = '\0';

	preset = flake_preset_find(source);
	if (check_parse(preset != NULL ? preset->text : source, &layout))
	{
		int64		packed = strtoll(rest, &rest, 10);
		int64		shard = strtoll(rest, &rest, 10);
		int64		id = strtoll(rest, &rest, 10);

		check_ids(&layout, packed, shard, id);
	}
	free(source);
	return 0;
}
