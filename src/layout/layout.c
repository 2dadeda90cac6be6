/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  Bit arithmetic on ids, and the text form of layouts.  See layout.h for
 *	  the concepts.
 *
 * An id is a signed 64-bit number.  The time field comes first and is read
 * with its sign, so ids before the epoch are negative and the order of ids
 * is the order of their ticks on both sides of it.  A layout of 64 bits
 * gives one bit of its time field to the sign: 41 bits of milliseconds reach
 * 2^40 ms, 34.8 years, to either side of the epoch.  A layout of 63 bits or
 * less leaves the sign outside and reaches the full 2^41 ms to either side.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "layout/layout.h"

/* timestamptz counts from 2000-01-01, epochs are published from 1970-01-01. */
#define UNIX_EPOCH_US \
	((UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)

/* The instants that the text form can name, as days from 1970-01-01. */
#define MIN_EPOCH_DAY	(-719162)	/* 0001-01-01 */
#define MAX_EPOCH_DAY	2932896 /* 9999-12-31 */

/* What a shard number, an int, can hold. */
#define MAX_SHARD_BITS	31

#define MAX_UNIT_US		USECS_PER_DAY

#define DEFAULT_UNIT_US 1000
#define DEFAULT_BLOCK	10000
#define MAX_BLOCK		INT64CONST(1000000000)

static inline uint64
low_bits(int bits)
{
	return (UINT64CONST(1) << bits) - 1;
}

int32
flake_layout_max_shard(const FlakeLayout *layout)
{
	int			bits = 0;

	for (int i = 0; i < layout->nparts; i++)
		bits += layout->parts[i].bits;
	return (int32) low_bits(bits);
}

bool
flake_layout_tick_start(const FlakeLayout *layout, int64 tick,
						TimestampTz *ts)
{
	int64		elapsed_us;
	TimestampTz start;

	if (pg_mul_s64_overflow(tick, layout->unit_us, &elapsed_us) ||
		pg_add_s64_overflow(layout->epoch, elapsed_us, &start) ||
		!IS_VALID_TIMESTAMP(start))
		return false;
	*ts = start;
	return true;
}

int64
flake_layout_tick(const FlakeLayout *layout, int64 id)
{
	return id >> layout->time.shift;
}

int64
flake_layout_sequence(const FlakeLayout *layout, int64 id)
{
	return flake_layout_field(&layout->sequence, id);
}

int32
flake_layout_shard(const FlakeLayout *layout, int64 id)
{
	int64		shard = 0;

	for (int i = 0; i < layout->nparts; i++)
		shard = shard << layout->parts[i].bits |
			flake_layout_field(&layout->parts[i], id);
	return (int32) shard;
}

/* The number in one bit field, unsigned: the time field without its sign. */
int64
flake_layout_field(const FlakeField *field, int64 id)
{
	return (int64) ((uint64) id >> field->shift & low_bits(field->bits));
}

int64
flake_layout_shard_image(const FlakeLayout *layout, int32 shard)
{
	uint64		image = 0;
	uint64		rest = (uint64) shard;

	for (int i = layout->nparts - 1; i >= 0; i--)
	{
		const FlakeField *part = &layout->parts[i];

		image |= (rest & low_bits(part->bits)) << part->shift;
		rest >>= part->bits;
	}
	return (int64) image;
}

int
flake_layout_fields(const FlakeLayout *layout,
					const FlakeField *fields[FLAKE_MAX_FIELDS])
{
	int			n = 0;
	int			part = 0;

	if (flake_layout_has_time(layout))
		fields[n++] = &layout->time;
	while (part < layout->nparts &&
		   layout->parts[part].shift > layout->sequence.shift)
		fields[n++] = &layout->parts[part++];
	fields[n++] = &layout->sequence;
	while (part < layout->nparts)
		fields[n++] = &layout->parts[part++];
	return n;
}

int64
flake_layout_packed_up_to(const FlakeLayout *layout, int64 id)
{
	int			sequence_end = layout->sequence.shift + layout->sequence.bits;
	int64		tick = flake_layout_tick(layout, id);
	int64		sequence = flake_layout_sequence(layout, id);

	if (tick < flake_layout_min_tick(layout))
		return FLAKE_PACKED_NONE;
	if (tick > flake_layout_max_tick(layout))
		return flake_layout_max_packed(layout);

	/* Is there anything between the time and the sequence? */
	if (((uint64) id >> sequence_end & low_bits(layout->time.shift - sequence_end)) != 0)
		sequence = flake_layout_max_sequence(layout);
	return flake_layout_pack(layout, tick, sequence);
}

int64
flake_layout_last_id(const FlakeLayout *layout, int64 packed)
{
	return flake_layout_id(layout, packed,
						   flake_layout_shard_image(layout,
													flake_layout_max_shard(layout)));
}

/*
 * The text form.
 *
 * A token is what stands between blanks.  Parsing goes from token to token
 * and keeps what was found in a Parser; what depends on several tokens is
 * checked at the end.
 */
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

/* Reads a decimal number without a sign; *end is set to what follows. */
static bool
parse_number(const char *text, const char **end, int64 *number)
{
	*number = 0;
	*end = text;

	for (; **end >= '0' && **end <= '9'; (*end)++)
	{
		if (pg_mul_s64_overflow(*number, 10, number) ||
			pg_add_s64_overflow(*number, **end - '0', number))
			return false;
	}
	return *end > text;
}

/* Reads exactly so many digits and moves past them. */
static bool
parse_digits(const char **text, int count, int *number)
{
	*number = 0;
	for (; count > 0; count--, (*text)++)
	{
		if (**text < '0' || **text > '9')
			return false;
		*number = *number * 10 + (**text - '0');
	}
	return true;
}

/* Moves past one character if it is that one. */
static bool
accept(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
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
is_leap_year(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int
days_in_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return month == 2 && is_leap_year(year) ? 29 : days[month - 1];
}

/* Days from 0001-01-01 to the first of January of a year from 1 on. */
static int64
days_before_year(int year)
{
	int64		before = year - 1;

	return before * 365 + before / 4 - before / 100 + before / 400;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static int64
day_number(int year, int month, int day)
{
	int64		days = days_before_year(year) + day - 1;

	for (int m = 1; m < month; m++)
		days += days_in_month(year, m);
	return days + MIN_EPOCH_DAY;
}

/*
 * Reads an instant as ISO 8601 writes it in UTC: YYYY-MM-DD, that is midnight,
 * or YYYY-MM-DDThh:mm:ssZ with up to six decimals of the second.
 */
static bool
parse_iso_8601(const char *text, int64 *unix_us)
{
	int			year,
				month,
				day;
	int			hour = 0,
				minute = 0,
				second = 0;
	int64		fraction_us = 0;

	if (!parse_digits(&text, 4, &year) || !accept(&text, '-') ||
		!parse_digits(&text, 2, &month) || !accept(&text, '-') ||
		!parse_digits(&text, 2, &day) ||
		year < 1 || month < 1 || month > 12 ||
		day < 1 || day > days_in_month(year, month))
		return false;

	if (accept(&text, 'T'))
	{
		if (!parse_digits(&text, 2, &hour) || !accept(&text, ':') ||
			!parse_digits(&text, 2, &minute) || !accept(&text, ':') ||
			!parse_digits(&text, 2, &second) ||
			hour > 23 || minute > 59 || second > 59)
			return false;
		if (accept(&text, '.'))
		{
			int64		digit_us = USECS_PER_SEC / 10;
			int			digit;

			for (; digit_us > 0 && parse_digits(&text, 1, &digit); digit_us /= 10)
				fraction_us += digit * digit_us;
			if (digit_us == USECS_PER_SEC / 10)
				return false;
		}
		if (!accept(&text, 'Z'))
			return false;
	}

	*unix_us = day_number(year, month, day) * USECS_PER_DAY +
		hour * USECS_PER_HOUR + minute * USECS_PER_MINUTE +
		second * USECS_PER_SEC + fraction_us;
	return *text == '\0';
}

/* Reads milliseconds since 1970. */
static bool
parse_unix_ms(const char *text, int64 *unix_us)
{
	bool		negative = accept(&text, '-');
	const char *end;
	int64		ms;

	if (!parse_number(text, &end, &ms) || *end != '\0' ||
		pg_mul_s64_overflow(negative ? -ms : ms, 1000, unix_us))
		return false;
	return *unix_us >= MIN_EPOCH_DAY * USECS_PER_DAY &&
		*unix_us < (MAX_EPOCH_DAY + INT64CONST(1)) * USECS_PER_DAY;
}

static bool
parse_epoch(Parser *parser, const char *value)
{
	int64		unix_us;

	if (!parse_iso_8601(value, &unix_us) && !parse_unix_ms(value, &unix_us))
		return wrong(parser->error,
					 "Write an instant of the years 1 to 9999 in UTC, as in \"epoch=2011-08-24T21:07:01.721Z\", or milliseconds since 1970, as in \"epoch=1314220021721\".",
					 "Epoch \"%s\" is not an instant.", value);
	parser->layout->epoch = unix_us + UNIX_EPOCH_US;
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

	if (parse_number(value, &name, &number))
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
			  parse_number(value + 7, &end, &layout->random_below) &&
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

	if (!parse_number(value, &end, &block) || *end != '\0' ||
		block < 1 || block > MAX_BLOCK)
		return wrong(parser->error, NULL,
					 "Block \"%s\" is not a number from 1 to %lld.",
					 value, (long long) MAX_BLOCK);
	parser->layout->block = block;
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
	return wrong(parser->error, "Options are epoch, unit, start and block.",
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
		parser->has_block)
		return wrong(parser->error, "Write all fields before the options.",
					 "Field \"%s\" comes after an option.", token);
	if (!is_field_name(token) || strlen(token) >= FLAKE_FIELD_NAME_LEN)
		return wrong(parser->error,
					 "A name begins with a letter from a to z, goes on with such letters, digits and underscores, and has up to 15 characters.",
					 "\"%s\" cannot be a field's name.", token);
	if (!parse_number(colon + 1, &end, &bits) || *end != '\0' ||
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

/* Checks what depends on several tokens, and fills in what was not given. */
static bool
finish(Parser *parser)
{
	FlakeLayout *layout = parser->layout;
	FlakeLayoutError *error = parser->error;

	if (layout->sequence.bits == 0)
		return wrong(error, "Add a field such as \"seq:10\".",
					 "There is no field \"seq\".");
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

/* An instant as parse_iso_8601() reads it. */
static void
append_instant(char *text, TimestampTz instant)
{
	int64		since_year_1 = instant - UNIX_EPOCH_US -
	MIN_EPOCH_DAY * USECS_PER_DAY;
	int64		days = since_year_1 / USECS_PER_DAY;
	int			second = (int) (since_year_1 % USECS_PER_DAY / USECS_PER_SEC);
	int			fraction_us = (int) (since_year_1 % USECS_PER_SEC);
	int			year = (int) (days / 366) + 1;	/* or some years more */
	int			month = 1;

	while (days_before_year(year + 1) <= days)
		year++;
	days -= days_before_year(year);
	while (days >= days_in_month(year, month))
		days -= days_in_month(year, month++);

	append(text, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, (int) days + 1,
		   second / 3600, second / 60 % 60, second % 60);
	if (fraction_us % 1000 != 0)
		append(text, ".%06d", fraction_us);
	else if (fraction_us != 0)
		append(text, ".%03d", fraction_us / 1000);
	append(text, "Z");
}

void
flake_layout_print(const FlakeLayout *layout, char text[FLAKE_LAYOUT_TEXT_LEN])
{
	const FlakeField *fields[FLAKE_MAX_FIELDS];
	int			nfields = flake_layout_fields(layout, fields);
	int			unit = 0;

	text[0] = '\0';

	for (int i = 0; i < nfields; i++)
		append(text, "%s:%d ", fields[i]->name, fields[i]->bits);

	if (!flake_layout_has_time(layout))
	{
		append(text, "block=%lld", (long long) layout->block);
		return;
	}

	append(text, "epoch=");
	append_instant(text, layout->epoch);

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
