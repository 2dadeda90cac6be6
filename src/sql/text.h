/*-------------------------------------------------------------------------
 *
 * text.h
 *	  Numbers in bases up to 62, at a fixed width.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_TEXT_H
#define FLAKEID_TEXT_H

#pragma GCC visibility push(hidden)

/*
 * Writes an unsigned number of 8 or 16 bytes, the most significant first, in a
 * base: palloc'd, with as many digits as the largest such number needs, so
 * that texts sort in C collation as the numbers do.  ERROR 22023 for a base
 * other than 16, 32, 58 and 62.
 */
extern text * flake_text_encode(const uint8 *bytes, int length, int base);

/*
 * Reads such a number, which may lack zeros at the beginning; type is for
 * messages.  ERROR 22P02 for what is no number in this base, or too large;
 * 22023 for the base.
 */
extern void flake_text_decode(const text * number, int base, const char *type,
							  uint8 *bytes, int length);

#pragma GCC visibility pop

#endif							/* FLAKEID_TEXT_H */
