/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  Mistakes, made on purpose.
 *
 * make valgrind and make sanitize append this file to src/flakeid.c, in their
 * own copy of the source, and let a server make these mistakes before they run
 * the tests: that nothing is reported means nothing unless these are.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "utils/builtins.h"

PGDLLEXPORT Datum flake_fault(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(flake_fault);

/* flake_fault(kind text) returns bigint */
Datum
flake_fault(PG_FUNCTION_ARGS)
{
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(0));

	/* What the compiler cannot see through. */
	volatile int four = 4;
	volatile int result = 0;

	if (strcmp(kind, "heap") == 0)
	{
		char	   *volatile memory = malloc(four);

		result = memory[four];
		free(memory);
	}
	else if (strcmp(kind, "freed") == 0)
	{
		char	   *volatile memory = malloc(four);

		free(memory);
		result = memory[0];
	}
	else if (strcmp(kind, "uninitialised") == 0)
	{
		int		   *volatile memory = malloc(sizeof(int));

		if (*memory == four)
			result = 1;
		free(memory);
	}
	else if (strcmp(kind, "stack") == 0)
	{
		char		memory[4] = {0};
		char	   *volatile start = memory;

		start[four] = 1;
		result = memory[0];
	}
	else if (strcmp(kind, "static") == 0)
	{
		static char memory[4];
		char	   *volatile start = memory;

		start[four] = 1;
		result = memory[0];
	}
	else if (strcmp(kind, "bounds") == 0)
	{
		char		memory[4] = {0};

		result = memory[four];
	}
	else if (strcmp(kind, "overflow") == 0)
		result = INT_MAX - 3 + four;
	else if (strcmp(kind, "shift") == 0)
		result = 1 << (four * 8);
	else if (strcmp(kind, "cast") == 0)
		result = (int) (four * 1e300);
	else
		elog(ERROR, "no such fault: %s", kind);
	PG_RETURN_INT64(result);
}
