"""Sealed ids: FF1 of NIST SP 800-38G with radix 2, 64 numerals and no tweak, as flake_seal()."""

from __future__ import annotations

import re
from typing import Any, Mapping

from ._errors import InvalidArgument
from ._layout import check_id
from ._text import from_text, to_text

_ROUNDS = 10
_HALF = 0xFFFF_FFFF

# The standard's P: version 1, method 2, addition 1, radix 2 (3 bytes), 10 rounds, 32 numerals in
# the left half, 64 in all (4 bytes), a tweak of no bytes (4 bytes).
_P = bytes((1, 2, 1, 0, 0, 2, 10, 32, 0, 0, 0, 64, 0, 0, 0, 0))


def _aes(key: bytes) -> Any:
    """What encrypts blocks of 16 bytes."""
    if not isinstance(key, (bytes, bytearray, memoryview)):
        raise InvalidArgument("a key must be bytes", hint="For hexadecimal digits write bytes.fromhex(key).")
    if len(key) not in (16, 24, 32):
        raise InvalidArgument(
            "invalid length of a key",
            f"It has {len(key)} bytes, and a key has 16, 24 or 32.",
            "Make one at random, for example with secrets.token_bytes(32).",
        )
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError as error:
        raise ImportError(
            "sealing ids needs AES of the package \"cryptography\": pip install 'flakeid[seal]'"
        ) from error
    return Cipher(algorithms.AES(bytes(key)), modes.ECB()).encryptor()


def _round(aes: Any, start: int, number: int, half: int) -> int:
    """The round function: of AES's block the first 8 bytes are the number, modulo 2^32."""
    block = start ^ (number << 32 | half)
    return int.from_bytes(aes.update(block.to_bytes(16, "big"))[4:8], "big")


def seal(id: int, key: bytes) -> int:
    """The sealed form of an id under a key of 16, 24 or 32 bytes, as flake_seal(id, key).

    Raises InvalidArgument for another key, ImportError without the package cryptography.
    """
    aes = _aes(key)
    start = int.from_bytes(aes.update(_P), "big")
    a, b = check_id(id) >> 32 & _HALF, id & _HALF
    for number in range(_ROUNDS):
        a, b = b, (a + _round(aes, start, number, b)) & _HALF
    return _signed(a, b)


def unseal(sealed: int, key: bytes) -> int:
    """The id of a sealed form, as flake_unseal(sealed, key).  Every number unseals to some id.

    Raises InvalidArgument for a key that is none, ImportError without the package cryptography.
    """
    aes = _aes(key)
    start = int.from_bytes(aes.update(_P), "big")
    a, b = check_id(sealed) >> 32 & _HALF, sealed & _HALF
    for number in reversed(range(_ROUNDS)):
        a, b = (b - _round(aes, start, number, a)) & _HALF, a
    return _signed(a, b)


def _signed(a: int, b: int) -> int:
    number = a << 32 | b
    return number - (1 << 64) if number >> 63 else number


def seal_text(id: int, version: int, key: bytes) -> str:
    """The text for a URL that flake_seal_text() makes of an id: ``1-LgVYMUAD3FE``.

    ``version`` is the key's, from 1 to 2147483647.  Raises InvalidArgument for another one, and
    what seal() raises.
    """
    if not isinstance(version, int) or not 1 <= version <= 0x7FFF_FFFF:
        raise InvalidArgument(f"invalid version of a key: {version!r}", "Versions are numbered from 1 on.")
    return f"{version}-{to_text(seal(id, key))}"


def unseal_text(text: str, keys: Mapping[int, bytes]) -> int:
    """The id of a text of seal_text() or flake_seal_text().

    ``keys`` has the key of each version.  Raises InvalidArgument for a text that is none, or of a
    version without a key: treat it as an id that does not exist.
    """
    match = re.fullmatch("([1-9][0-9]{0,9})-([0-9A-Za-z]{11})", text) if isinstance(text, str) else None
    if match is None or int(match[1]) > 0x7FFF_FFFF:
        raise InvalidArgument(
            f"invalid sealed id: {text!r}",
            'It is the version of a key, "-" and 11 digits of base 62.',
            "Treat it as an id that does not exist.",
        )
    sealed = from_text(match[2])
    if int(match[1]) not in keys:
        raise InvalidArgument(
            f"there is no key of version {match[1]}", hint="Treat it as an id that does not exist."
        )
    return unseal(sealed, keys[int(match[1])])
