/*-------------------------------------------------------------------------
 *
 * layout_text.c
 *	  The text form of layouts: reading and writing it.
 *
 * A token is what stands between blanks.  Parsing goes from token to token and
 * keeps what was found in a Parser.  Checks that depend on several tokens come
 * at the end.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "layout/instant.h"
#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/scan.h"

/* What a shard number, an int, can hold. */
#define MAX_SHARD_BITS	31

#define MAX_UNIT_US		USECS_PER_DAY

#define DEFAULT_UNIT_US 1000
#define DEFAULT_BLOCK	10000
#define MAX_BLOCK		INT64CONST(1000000000)

#define BLANKS " \t\n\r\f\v"

/* Tokens are no longer than this; a longer one is wrong, and cut for messages. */
#define MAX_TOKEN_LEN	63

typedef struct Parser
{
	FlakeLayout *layout;
	FlakeLayoutError *error;
	int			nfields;
	bool		has_epoch;
	bool		has_unit;
	bool		has_start;
	bool		has_block;
	bool		has_form;
} Parser;

/* Notes what is wrong, and returns false for the caller to return. */
static bool
pg_attribute_printf(3, 4)
wrong(FlakeLayoutError *error, const char *hint, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(error->detail, sizeof(error->detail), format, args);
	va_end(args);
	error->hint = hint;
	return false;
}

static bool
is_field_name(const char *name)
{
	if (*name < 'a' || *name > 'z')
		return false;
	for (; *name != '\0'; name++)
	{
		if (!((*name >= 'a' && *name <= 'z') ||
			  (*name >= '0' && *name <= '9') || *name == '_'))
			return false;
	}
	return true;
}

static bool
parse_epoch(Parser *parser, const char *value)
{
	if (!flake_instant_read(value, &parser->layout->epoch))
		return wrong(parser->error,
					 "Write an instant of the years 1 to 9999 in UTC, as in \"epoch=2011-08-24T21:07:01.721Z\", or milliseconds since 1970, as in \"epoch=1314220021721\".",
					 "Epoch \"%s\" is not an instant.", value);
	return true;
}

/* The units of "unit", the longest first. */
static const struct
{
	const char *name;
	int64		us;
}			units[] =

{
	{"d", USECS_PER_DAY},
	{"h", USECS_PER_HOUR},
	{"min", USECS_PER_MINUTE},
	{"s", USECS_PER_SEC},
	{"ms", 1000},
	{"us", 1},
};

static bool
parse_unit(Parser *parser, const char *value)
{
	const char *name;
	int64		number;

	if (flake_scan_number(value, &name, &number))
	{
		for (int i = 0; i < (int) lengthof(units); i++)
		{
			if (strcmp(name, units[i].name) == 0 &&
				number > 0 && number <= MAX_UNIT_US / units[i].us)
			{
				parser->layout->unit_us = number * units[i].us;
				return true;
			}
		}
	}
	return wrong(parser->error,
				 "Write a number and us, ms, s, min, h or d, as in \"unit=10ms\".",
				 "Unit \"%s\" is not a length of time from 1us to 1d.", value);
}

static bool
parse_start(Parser *parser, const char *value)
{
	FlakeLayout *layout = parser->layout;
	const char *end;

	if (strcmp(value, "continue") == 0)
		layout->start = FLAKE_START_CONTINUE;
	else if (strcmp(value, "zero") == 0)
		layout->start = FLAKE_START_ZERO;
	else if (strcmp(value, "random") == 0 ||
			 (strncmp(value, "random:", 7) == 0 &&
			  flake_scan_number(value + 7, &end, &layout->random_below) &&
			  *end == '\0' && layout->random_below > 0))
		layout->start = FLAKE_START_RANDOM;
	else
		return wrong(parser->error,
					 "Write \"start=continue\", \"start=zero\", \"start=random\", or \"start=random:10\" for a number below 10.",
					 "Start \"%s\" is unknown.", value);
	return true;
}

static bool
parse_block(Parser *parser, const char *value)
{
	const char *end;
	int64		block;

	if (!flake_scan_number(value, &end, &block) || *end != '\0' ||
		block < 1 || block > MAX_BLOCK)
		return wrong(parser->error, NULL,
					 "Block \"%s\" is not a number from 1 to %lld.",
					 value, (long long) MAX_BLOCK);
	parser->layout->block = block;
	return true;
}

static bool
parse_form(Parser *parser, const char *value)
{
	if (strcmp(value, "uuidv7") != 0)
		return wrong(parser->error,
					 "Write \"form=uuidv7\" for UUIDs, or leave it out for numbers.",
					 "Form \"%s\" is unknown.", value);
	return true;
}

/* Reads name=value.  The token is cut in two for it. */
static bool
parse_option(Parser *parser, char *token, char *equals_sign)
{
	const struct
	{
		const char *name;
		bool	   *seen;
		bool		(*parse) (Parser *parser, const char *value);
	}			options[] =
	{
		{"epoch", &parser->has_epoch, parse_epoch},
		{"unit", &parser->has_unit, parse_unit},
		{"start", &parser->has_start, parse_start},
		{"block", &parser->has_block, parse_block},
		{"form", &parser->has_form, parse_form},
	};

	*equals_sign = '\0';
	for (int i = 0; i < (int) lengthof(options); i++)
	{
		if (strcmp(token, options[i].name) != 0)
			continue;
		if (*options[i].seen)
			return wrong(parser->error, NULL,
						 "Option \"%s\" is given twice.", token);
		*options[i].seen = true;
		return options[i].parse(parser, equals_sign + 1);
	}
	return wrong(parser->error, "Options are epoch, unit, start, block and form.",
				 "There is no option \"%s\".", token);
}

/* Reads name:bits.  The token is cut in two for it. */
static bool
parse_field(Parser *parser, char *token, char *colon)
{
	FlakeLayout *layout = parser->layout;
	FlakeField *field;
	const char *end;
	int64		bits;

	*colon = '\0';
	if (parser->has_epoch || parser->has_unit || parser->has_start ||
		parser->has_block || parser->has_form)
		return wrong(parser->error, "Write all fields before the options.",
					 "Field \"%s\" comes after an option.", token);
	if (!is_field_name(token) || strlen(token) >= FLAKE_FIELD_NAME_LEN)
		return wrong(parser->error,
					 "A name begins with a letter from a to z, goes on with such letters, digits and underscores, and has up to 15 characters.",
					 "\"%s\" cannot be a field's name.", token);
	if (!flake_scan_number(colon + 1, &end, &bits) || *end != '\0' ||
		bits < 1 || bits > 63)
		return wrong(parser->error, NULL,
					 "Field \"%s\" has \"%s\" for its bits, which must be a number from 1 to 63.",
					 token, colon + 1);

	if (strcmp(token, "ts") == 0)
	{
		field = &layout->time;
		if (field->bits == 0 && parser->nfields > 0)
			return wrong(parser->error,
						 "The order of ids is that of their first field.",
						 "Field \"ts\" is not the first.");
	}
	else if (strcmp(token, "seq") == 0)
		field = &layout->sequence;
	else if (strcmp(token, "timestamp") == 0)
		return wrong(parser->error,
					 "Choose another name: flake_fields() shows the time as \"timestamp\".",
					 "\"%s\" cannot be a field's name.", token);
	else
	{
		for (int i = 0; i < layout->nparts; i++)
		{
			if (strcmp(layout->parts[i].name, token) == 0)
				return wrong(parser->error, NULL,
							 "Field \"%s\" is given twice.", token);
		}
		if (layout->nparts == FLAKE_MAX_PARTS)
			return wrong(parser->error, NULL,
						 "Field \"%s\" is one too many: a shard number has up to %d parts.",
						 token, FLAKE_MAX_PARTS);
		field = &layout->parts[layout->nparts++];
	}
	if (field->bits > 0)
		return wrong(parser->error, NULL,
					 "Field \"%s\" is given twice.", token);

	/* The shift is known at the end.  Till then, keep the field's number. */
	strlcpy(field->name, token, sizeof(field->name));
	field->bits = (uint8) bits;
	field->shift = (uint8) parser->nfields++;
	return true;
}

/*
 * Turns the order of the fields into their positions.  False if there is a
 * field for which no bits are left.
 */
static bool
place_fields(Parser *parser)
{
	FlakeLayout *layout = parser->layout;
	FlakeField *in_order[FLAKE_MAX_FIELDS] = {NULL};
	int			max_total = layout->time.bits > 0 ? 64 : 63;
	int			total = 0;
	int			shard_bits = 0;

	if (layout->time.bits > 0)
		in_order[layout->time.shift] = &layout->time;
	in_order[layout->sequence.shift] = &layout->sequence;
	for (int i = 0; i < layout->nparts; i++)
		in_order[layout->parts[i].shift] = &layout->parts[i];

	for (int i = 0; i < parser->nfields; i++)
	{
		const FlakeField *field = in_order[i];

		total += field->bits;
		if (total > max_total)
			return wrong(parser->error,
						 max_total == 64 ? NULL
						 : "The 64th bit is the sign, which only the time can use.",
						 "With field \"%s\" there are %d bits, and an id has %d.",
						 field->name, total, max_total);
		if (field == &layout->time || field == &layout->sequence)
			continue;
		shard_bits += field->bits;
		if (shard_bits > MAX_SHARD_BITS)
			return wrong(parser->error, NULL,
						 "With field \"%s\" the shard number has %d bits, and it can have %d.",
						 field->name, shard_bits, MAX_SHARD_BITS);
	}

	layout->time.shift = (uint8) total;
	for (int i = 0; i < parser->nfields; i++)
	{
		total -= in_order[i]->bits;
		in_order[i]->shift = (uint8) total;
	}
	return true;
}

/*
 * form=uuidv7: the fields, the epoch and the unit are those of the UUID.  The
 * shard is not among the 64 bits.
 */
static bool
take_shard_out(Parser *parser)
{
	FlakeLayout *layout = parser->layout;
	const FlakeField *shard = &layout->parts[0];

	/* Till now, the shift is the field's number. */
	if (layout->time.bits != FLAKE_UUIDV7_TIME_BITS ||
		layout->sequence.bits != FLAKE_UUIDV7_SEQUENCE_BITS ||
		layout->sequence.shift != 1 || layout->nparts != 1 ||
		strcmp(shard->name, "shard") != 0 || shard->bits != FLAKE_UUIDV7_SHARD_BITS)
		return wrong(parser->error,
					 "Write \"uuidv7\", or \"ts:48 seq:12 shard:13 form=uuidv7\".",
					 "The fields of form \"uuidv7\" are \"ts:48 seq:12 shard:13\", in this order.");
	if (!parser->has_epoch)
		layout->epoch = FLAKE_UNIX_EPOCH;
	if (layout->epoch != FLAKE_UNIX_EPOCH)
		return wrong(parser->error, "Write \"epoch=1970-01-01\", or leave it out.",
					 "The time of form \"uuidv7\" counts from 1970.");
	if (parser->has_unit && layout->unit_us != FLAKE_UUIDV7_UNIT_US)
		return wrong(parser->error, "Write \"unit=1ms\", or leave it out.",
					 "The time of form \"uuidv7\" counts milliseconds.");
	parser->has_epoch = true;
	layout->uuid_shard_bits = shard->bits;
	memset(&layout->parts[0], 0, sizeof(FlakeField));
	layout->nparts = 0;
	parser->nfields--;
	return true;
}

/* Checks what depends on several tokens, and fills in what was not given. */
static bool
finish(Parser *parser)
{
	FlakeLayout *layout = parser->layout;
	FlakeLayoutError *error = parser->error;

	if (layout->sequence.bits == 0)
		return wrong(error, "Add a field such as \"seq:10\".",
					 "There is no field \"seq\".");
	if (parser->has_form && !take_shard_out(parser))
		return false;
	if (!place_fields(parser))
		return false;

	if (layout->time.bits == 0)
	{
		if (parser->has_epoch || parser->has_unit || parser->has_start)
			return wrong(error, "Add a field such as \"ts:41\" at the beginning, or remove the option.",
						 "Option \"%s\" needs a field \"ts\".",
						 parser->has_epoch ? "epoch" : parser->has_unit ? "unit" : "start");
		if (!parser->has_block)
			layout->block = DEFAULT_BLOCK;
		return true;
	}

	if (parser->has_block)
		return wrong(error, NULL,
					 "Option \"block\" is for layouts without a field \"ts\".");
	if (!parser->has_epoch)
		return wrong(error,
					 "Add the instant from which time counts, as in \"epoch=2011-08-24T21:07:01.721Z\".",
					 "There is no option \"epoch\".");
	if (!parser->has_unit)
		layout->unit_us = DEFAULT_UNIT_US;
	if (layout->random_below > flake_layout_max_sequence(layout))
	{
		if (layout->random_below - 1 > flake_layout_max_sequence(layout))
			return wrong(error, NULL,
						 "Start \"random:%lld\" is more than the %d bits of \"seq\" can hold.",
						 (long long) layout->random_below, layout->sequence.bits);
		layout->random_below = 0;	/* all of them, the same as "random" */
	}
	return true;
}

bool
flake_layout_parse(const char *text, FlakeLayout *layout,
				   FlakeLayoutError *error)
{
	Parser		parser = {.layout = layout,.error = error};

	memset(layout, 0, sizeof(FlakeLayout));
	for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS))
	{
		char		token[MAX_TOKEN_LEN + 1];
		size_t		length = strcspn(text, BLANKS);
		size_t		kept = Min(length, MAX_TOKEN_LEN);
		char	   *separator;

		/* Do not cut a character of several bytes. */
		while (kept < length && kept > 0 && (text[kept - 1] & 0x80) != 0)
			kept--;
		memcpy(token, text, kept);
		token[kept] = '\0';
		text += length;

		separator = strpbrk(token, "=:");
		if (length > MAX_TOKEN_LEN || separator == NULL)
			return wrong(error, NULL,
						 "\"%s%s\" is neither a field, as \"ts:41\" is, nor an option, as \"unit=1ms\" is.",
						 token, length > MAX_TOKEN_LEN ? "..." : "");
		if (*separator == ':' ? !parse_field(&parser, token, separator)
			: !parse_option(&parser, token, separator))
			return false;
	}
	return finish(&parser);
}

/* Appends to the text of a layout, which has room. */
static void
pg_attribute_printf(2, 3)
append(char *text, const char *format,...)
{
	size_t		length = strlen(text);
	va_list		args;

	va_start(args, format);
	vsnprintf(text + length, FLAKE_LAYOUT_TEXT_LEN - length, format, args);
	va_end(args);
}

void
flake_layout_print(const FlakeLayout *layout, char text[FLAKE_LAYOUT_TEXT_LEN])
{
	const FlakeField *fields[FLAKE_MAX_FIELDS];
	int			nfields = flake_layout_fields(layout, fields);
	char		epoch[FLAKE_INSTANT_LEN];
	int			unit = 0;

	text[0] = '\0';

	for (int i = 0; i < nfields; i++)
		append(text, "%s:%d ", fields[i]->name, fields[i]->bits);

	if (flake_layout_is_uuid(layout))
		append(text, "shard:%d form=uuidv7 ", layout->uuid_shard_bits);

	if (!flake_layout_has_time(layout))
	{
		append(text, "block=%lld", (long long) layout->block);
		return;
	}

	flake_instant_print(layout->epoch, epoch);
	append(text, "epoch=%s", epoch);
	while (layout->unit_us % units[unit].us != 0)
		unit++;
	append(text, " unit=%lld%s", (long long) (layout->unit_us / units[unit].us),
		   units[unit].name);

	switch ((FlakeStart) layout->start)
	{
		case FLAKE_START_CONTINUE:
			append(text, " start=continue");
			break;
		case FLAKE_START_ZERO:
			append(text, " start=zero");
			break;
		case FLAKE_START_RANDOM:
			append(text, " start=random");
			if (layout->random_below > 0)
				append(text, ":%lld", (long long) layout->random_below);
			break;
	}
}
