/*-------------------------------------------------------------------------
 *
 * layout_parse.c
 *	  Fuzzing: any text is a layout or is refused with a message.
 *
 * An input is the text of a layout.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check.h"

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	char	   *source = malloc(size + 1);
	FlakeLayout layout;

	if (source == NULL)
		abort();
	memcpy(source, data, size);
	source[size] = '\0';

	check_parse(source, &layout);
	free(source);
	return 0;
}
