/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Ids as text of a fixed width, in bases up to 62.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "internal.h"

typedef struct Base
{
	int			base;
	int			width;			/* digits of the largest number of 64 bits */
	const char *digits;			/* in the order of values */
} Base;

/* Base 32 is Douglas Crockford's, 58 Bitcoin's, 62 that of Boundary's flake. */
static const Base bases[] =
{
	{16, 16, "0123456789abcdef"},
	{32, 13, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"},
	{58, 11, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"},
	{62, 11, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
};

static const Base *
find_base(int base)
{
	for (size_t i = 0; i < lengthof(bases); i++)
	{
		if (bases[i].base == base)
			return &bases[i];
	}
	return NULL;
}

flakeid_code
flakeid_to_text(int64_t id, int base, char text[FLAKEID_TEXT_LEN], flakeid_error *error)
{
	const Base *found = find_base(base);
	uint64		rest = (uint64) id;

	if (found == NULL)
		return fail_argument(error, "base %d is not supported: bases are 16, 32, 58 and 62", base);
	text[found->width] = '\0';
	for (int i = found->width - 1; i >= 0; i--)
	{
		text[i] = found->digits[rest % (uint64) base];
		rest /= (uint64) base;
	}
	return FLAKEID_OK;
}

/* The value of a digit; -1 for none. */
static int
value_of(const Base *base, char digit)
{
	const char *found;

	if (base->base == 32)
	{
		/* Crockford: either case, and letters that look like digits. */
		if (digit >= 'a' && digit <= 'z')
			digit = (char) (digit - 'a' + 'A');
		if (digit == 'O')
			digit = '0';
		if (digit == 'I' || digit == 'L')
			digit = '1';
	}
	found = strchr(base->digits, digit);
	return found != NULL ? (int) (found - base->digits) : -1;
}

flakeid_code
flakeid_from_text(const char *text, int base, int64_t *id, flakeid_error *error)
{
	const Base *found = find_base(base);
	uint64		number = 0;

	if (found == NULL)
		return fail_argument(error, "base %d is not supported: bases are 16, 32, 58 and 62", base);
	if (*text == '\0')
		return fail_argument(error, "invalid text form of an id: it is empty");
	for (const char *digit = text; *digit != '\0'; digit++)
	{
		int			value = value_of(found, *digit);

		if (value < 0)
			return fail_argument(error, "invalid text form of an id: \"%.100s\": base %d has the digits %s",
								 text, base, found->digits);
		if (__builtin_mul_overflow(number, (uint64) base, &number) ||
			__builtin_add_overflow(number, (uint64) value, &number))
			return fail_argument(error, "invalid text form of an id: \"%.100s\": it is larger than 64 bits can hold",
								 text);
	}
	*id = (int64) number;
	return FLAKEID_OK;
}
