/*-------------------------------------------------------------------------
 *
 * layout_type.c
 *	  The SQL type flake_layout.
 *
 * A value is stored as a FlakeLayout, and comes and goes as text, also in
 * binary format: the text says the same on every version.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/layout_type.h"
#include "layout/preset.h"
#include "libpq/pqformat.h"
#include "nodes/nodes.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(flake_layout_in);
PG_FUNCTION_INFO_V1(flake_layout_out);
PG_FUNCTION_INFO_V1(flake_layout_recv);
PG_FUNCTION_INFO_V1(flake_layout_send);
PG_FUNCTION_INFO_V1(flake_layout_eq);
PG_FUNCTION_INFO_V1(flake_layout_ne);
PG_FUNCTION_INFO_V1(flake_layout_hash);

/* Before PostgreSQL 16, errors cannot be returned. */
#if PG_VERSION_NUM < 160000
#define ereturn(context, result, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return result; \
	} while (0)
#endif

/* How many letters of a preset's name may be wrong for it to be suggested. */
#define MAX_MISSPELLING 3

/* The preset whose name a word was probably meant to be; NULL if there is none. */
static const char *
nearest_preset(const char *word)
{
	const char *nearest = NULL;
	int			least = MAX_MISSPELLING + 1;
	int			length = (int) strlen(word);

	if (length > NAMEDATALEN)
		return NULL;
	for (const FlakePreset *preset = flake_presets; preset->name != NULL; preset++)
	{
		int			distance = varstr_levenshtein(word, length, preset->name,
												  (int) strlen(preset->name),
												  1, 1, 1, true);

		if (distance < least && distance < length)
		{
			nearest = preset->name;
			least = distance;
		}
	}
	return nearest;
}

/* Whether text is one word, and no field or option: a preset's name. */
static bool
is_word(const char *text)
{
	return *text != '\0' && strpbrk(text, ":= \t\n\r\f\v") == NULL;
}

/* Reads a preset's name or a layout's text; returns NULL after a soft error. */
static FlakeLayout *
read_layout(const char *text, Node *escontext)
{
	FlakeLayout *layout = palloc(sizeof(FlakeLayout));
	FlakeLayoutError error;

	if (is_word(text))
	{
		const FlakePreset *preset = flake_preset_find(text);
		const char *nearest;

		if (preset != NULL)
		{
			*layout = flake_preset_layout(preset);
			return layout;
		}
		nearest = nearest_preset(text);
		ereturn(escontext, NULL,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"",
						"flake_layout", text),
				 errdetail("There is no preset \"%s\".", text),
				 nearest != NULL
				 ? errhint("Perhaps you meant \"%s\".", nearest)
				 : errhint("The view \"flake_presets\" lists the presets.")));
	}

	if (!flake_layout_parse(text, layout, &error))
		ereturn(escontext, NULL,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"",
						"flake_layout", text),
				 errdetail_internal("%s", error.detail),
				 error.hint != NULL ? errhint("%s", error.hint) : 0));
	return layout;
}

/* _flake_layout_in(cstring) returns flake_layout */
Datum
flake_layout_in(PG_FUNCTION_ARGS)
{
	FlakeLayout *layout = read_layout(PG_GETARG_CSTRING(0), fcinfo->context);

	if (layout == NULL)
		PG_RETURN_NULL();
	FLAKE_RETURN_LAYOUT(layout);
}

/* _flake_layout_out(flake_layout) returns cstring */
Datum
flake_layout_out(PG_FUNCTION_ARGS)
{
	char	   *text = palloc(FLAKE_LAYOUT_TEXT_LEN);

	flake_layout_print(FLAKE_GETARG_LAYOUT(0), text);
	PG_RETURN_CSTRING(text);
}

/* _flake_layout_recv(internal) returns flake_layout */
Datum
flake_layout_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			length;
	char	   *text = pq_getmsgtext(message, message->len - message->cursor,
									 &length);

	FLAKE_RETURN_LAYOUT(read_layout(text, NULL));
}

/* _flake_layout_send(flake_layout) returns bytea */
Datum
flake_layout_send(PG_FUNCTION_ARGS)
{
	char		text[FLAKE_LAYOUT_TEXT_LEN];
	StringInfoData message;

	flake_layout_print(FLAKE_GETARG_LAYOUT(0), text);
	pq_begintypsend(&message);
	pq_sendtext(&message, text, (int) strlen(text));
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

static bool
layouts_equal(FunctionCallInfo fcinfo)
{
	return memcmp(FLAKE_GETARG_LAYOUT(0), FLAKE_GETARG_LAYOUT(1),
				  sizeof(FlakeLayout)) == 0;
}

/* _flake_layout_eq(flake_layout, flake_layout) returns boolean */
Datum
flake_layout_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(layouts_equal(fcinfo));
}

/* _flake_layout_ne(flake_layout, flake_layout) returns boolean */
Datum
flake_layout_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!layouts_equal(fcinfo));
}

/* _flake_layout_hash(flake_layout) returns int */
Datum
flake_layout_hash(PG_FUNCTION_ARGS)
{
	return hash_any((const unsigned char *) FLAKE_GETARG_LAYOUT(0),
					sizeof(FlakeLayout));
}
