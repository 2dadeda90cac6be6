"""Text forms of ids: numbers in bases up to 62, at a fixed width, as flake_to_text()."""

from __future__ import annotations

from typing import Dict

from ._errors import InvalidArgument
from ._layout import check_id

# Base 32 is Douglas Crockford's, 58 Bitcoin's, 62 that of Boundary's flake.
_DIGITS = {
    16: "0123456789abcdef",
    32: "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    58: "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    62: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
}
_WIDTHS = {16: 16, 32: 13, 58: 11, 62: 11}


def _values_of(base: int, digits: str) -> Dict[str, int]:
    values = {digit: value for value, digit in enumerate(digits)}
    if base == 32:
        # Crockford: either case, and letters that look like digits.
        values.update({"O": 0, "I": 1, "L": 1})
        values.update({digit.lower(): value for digit, value in values.items()})
    return values


_VALUES = {base: _values_of(base, digits) for base, digits in _DIGITS.items()}


def _digits(base: int) -> str:
    if base not in _DIGITS:
        raise InvalidArgument(f"base {base} is not supported", hint="Bases are 16, 32, 58 and 62.")
    return _DIGITS[base]


def to_text(id: int, base: int = 62) -> str:
    """An id in base 16, 32, 58 or 62, with 16, 13, 11 or 11 digits.

    The texts sort as the ids do, except that negative ids come last.  Raises InvalidArgument for
    another base, or what is no id.
    """
    digits = _digits(base)
    number = check_id(id) & 0xFFFF_FFFF_FFFF_FFFF
    text = ""
    for _ in range(_WIDTHS[base]):
        number, digit = divmod(number, base)
        text = digits[digit] + text
    return text


def from_text(text: str, base: int = 62) -> int:
    """The id of a text of to_text() or flake_to_text().

    In base 32 small letters count as large ones, O as 0, I and L as 1.  Raises InvalidArgument
    for what is no such text, or a number of more than 64 bits.
    """
    digits = _digits(base)
    values = _VALUES[base]
    number = 0
    if not isinstance(text, str) or text == "":
        raise InvalidArgument(f"invalid text form of an id: {text!r}", "It is empty, or no text.")
    for digit in text:
        if digit not in values:
            raise InvalidArgument(
                f"invalid text form of an id: {text!r}", f"Base {base} has the digits {digits}."
            )
        number = number * base + values[digit]
        if number >> 64:
            raise InvalidArgument(
                f"invalid text form of an id: {text!r}", "It is larger than 64 bits can hold."
            )
    return number - (1 << 64) if number >> 63 else number
