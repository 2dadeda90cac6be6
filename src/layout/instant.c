/*-------------------------------------------------------------------------
 *
 * instant.c
 *	  Instants as the text of a layout has them, for its epoch.
 *
 * PostgreSQL's own functions for dates need a running server, and read much
 * that depends on its settings.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "datatype/timestamp.h"
#include "layout/instant.h"
#include "layout/scan.h"

/* The instants that the text form can name, as days from 1970-01-01. */
#define MIN_EPOCH_DAY	(-719162)	/* 0001-01-01 */
#define MAX_EPOCH_DAY	2932896 /* 9999-12-31 */

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

	if (!flake_scan_digits(&text, 4, &year) || !flake_scan_char(&text, '-') ||
		!flake_scan_digits(&text, 2, &month) || !flake_scan_char(&text, '-') ||
		!flake_scan_digits(&text, 2, &day) ||
		year < 1 || month < 1 || month > 12 ||
		day < 1 || day > days_in_month(year, month))
		return false;

	if (flake_scan_char(&text, 'T'))
	{
		if (!flake_scan_digits(&text, 2, &hour) || !flake_scan_char(&text, ':') ||
			!flake_scan_digits(&text, 2, &minute) || !flake_scan_char(&text, ':') ||
			!flake_scan_digits(&text, 2, &second) ||
			hour > 23 || minute > 59 || second > 59)
			return false;
		if (flake_scan_char(&text, '.'))
		{
			int64		digit_us = USECS_PER_SEC / 10;
			int			digit;

			for (; digit_us > 0 && flake_scan_digits(&text, 1, &digit); digit_us /= 10)
				fraction_us += digit * digit_us;
			if (digit_us == USECS_PER_SEC / 10)
				return false;
		}
		if (!flake_scan_char(&text, 'Z'))
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
	bool		negative = flake_scan_char(&text, '-');
	const char *end;
	int64		ms;

	if (!flake_scan_number(text, &end, &ms) || *end != '\0' ||
		pg_mul_s64_overflow(negative ? -ms : ms, 1000, unix_us))
		return false;
	return *unix_us >= MIN_EPOCH_DAY * USECS_PER_DAY &&
		*unix_us < (MAX_EPOCH_DAY + INT64CONST(1)) * USECS_PER_DAY;
}

bool
flake_instant_read(const char *text, TimestampTz *instant)
{
	int64		unix_us;

	if (!parse_iso_8601(text, &unix_us) && !parse_unix_ms(text, &unix_us))
		return false;
	*instant = unix_us + FLAKE_UNIX_EPOCH;
	return true;
}

void
flake_instant_print(TimestampTz instant, char text[FLAKE_INSTANT_LEN])
{
	int64		since_year_1 = instant - FLAKE_UNIX_EPOCH -
	MIN_EPOCH_DAY * USECS_PER_DAY;
	int64		days = since_year_1 / USECS_PER_DAY;
	int			second = (int) (since_year_1 % USECS_PER_DAY / USECS_PER_SEC);
	int			fraction_us = (int) (since_year_1 % USECS_PER_SEC);
	int			year = (int) (days / 366) + 1;	/* or some years more */
	int			month = 1;
	int			length;

	while (days_before_year(year + 1) <= days)
		year++;
	days -= days_before_year(year);
	while (days >= days_in_month(year, month))
		days -= days_in_month(year, month++);

	length = snprintf(text, FLAKE_INSTANT_LEN, "%04d-%02d-%02dT%02d:%02d:%02d",
					  year, month, (int) days + 1,
					  second / 3600, second / 60 % 60, second % 60);
	if (fraction_us % 1000 != 0)
		length += snprintf(text + length, FLAKE_INSTANT_LEN - length,
						   ".%06d", fraction_us);
	else if (fraction_us != 0)
		length += snprintf(text + length, FLAKE_INSTANT_LEN - length,
						   ".%03d", fraction_us / 1000);
	strlcpy(text + length, "Z", FLAKE_INSTANT_LEN - length);
}
