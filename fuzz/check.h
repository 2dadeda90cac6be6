/*-------------------------------------------------------------------------
 *
 * check.h
 *	  What must hold for every layout, and for every id of it.
 *
 * The checks are used three times: by the fuzzers (layout_parse.c,
 * layout_ids.c), by the replay of what these have found (replay.c), and for
 * random layouts (property.c).  None of it needs a server.  A check that does
 * not hold ends the program with abort(), as libFuzzer wants it.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_CHECK_H
#define FLAKEID_CHECK_H

#include "layout/layout.h"
#include "layout/layout_text.h"

/* Ends the program, after a message, unless the condition holds. */
#define CHECK(condition) \
	((condition) ? (void) 0 : check_failed(__FILE__, __LINE__, #condition))

extern void check_failed(const char *file, int line, const char *condition)
			__attribute__((noreturn));

/*
 * Reads the text of a layout, and returns whether it is one.  It must either
 * be refused with a complete message, or be a layout as check_layout() has it
 * whose printed form means the same.
 */
extern bool check_parse(const char *source, FlakeLayout *layout);

/* The fields lie where they should, and nothing undetermined is anywhere. */
extern void check_layout(const FlakeLayout *layout);

/*
 * Ids can be put together and taken apart, and are in order.  Any numbers will
 * do: those that are out of range for the layout are brought into it.
 */
extern void check_ids(const FlakeLayout *layout, int64 packed, int64 shard,
					  int64 id);

/* What a fuzzer or the replay calls; see layout_parse.c and layout_ids.c. */
extern int	LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

#endif							/* FLAKEID_CHECK_H */
