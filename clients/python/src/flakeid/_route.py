"""The shard of a key: XXH64 with seed 0, modulo the number of shards, as flake_shard_for()."""

from __future__ import annotations

from typing import Callable, Union
from uuid import UUID

from ._errors import InvalidArgument
from ._layout_text import INT64_MAX, INT64_MIN

_MASK = 0xFFFF_FFFF_FFFF_FFFF
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> (64 - bits)) & _MASK


def _mix(lane: int, number: int) -> int:
    return _rotate((lane + number * _PRIME_2) & _MASK, 31) * _PRIME_1 & _MASK


def xxh64_in_python(data: bytes) -> int:
    """XXH64 with seed 0, by the xxHash specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""
    at = 0
    if len(data) >= 32:
        lanes = [(_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK]
        while at + 32 <= len(data):
            for i in range(4):
                lanes[i] = _mix(lanes[i], int.from_bytes(data[at : at + 8], "little"))
                at += 8
        digest = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & _MASK
        for lane in lanes:
            digest = ((digest ^ _mix(0, lane)) * _PRIME_1 + _PRIME_4) & _MASK
    else:
        digest = _PRIME_5
    digest = (digest + len(data)) & _MASK
    while at + 8 <= len(data):
        digest ^= _mix(0, int.from_bytes(data[at : at + 8], "little"))
        digest = (_rotate(digest, 27) * _PRIME_1 + _PRIME_4) & _MASK
        at += 8
    if at + 4 <= len(data):
        digest ^= int.from_bytes(data[at : at + 4], "little") * _PRIME_1 & _MASK
        digest = (_rotate(digest, 23) * _PRIME_2 + _PRIME_3) & _MASK
        at += 4
    for byte in data[at:]:
        digest = _rotate(digest ^ byte * _PRIME_5 & _MASK, 11) * _PRIME_1 & _MASK
    digest = (digest ^ digest >> 33) * _PRIME_2 & _MASK
    digest = (digest ^ digest >> 29) * _PRIME_3 & _MASK
    return digest ^ digest >> 32


def _fastest_xxh64() -> Callable[[bytes], int]:
    try:
        from xxhash import xxh64_intdigest
    except ImportError:
        return xxh64_in_python
    fastest: Callable[[bytes], int] = xxh64_intdigest
    return fastest


_xxh64 = _fastest_xxh64()


def shard_for(key: Union[int, str, UUID], shards: int) -> int:
    """The shard of a key, from 0 to ``shards`` - 1, as flake_shard_for().

    An int is taken as a bigint, a str as text, a UUID as uuid.  The three give different shards
    even where they look the same.  Raises InvalidArgument for another key, an int that is no
    bigint, a text that no database can have, or a number of shards outside of 1 to 2147483647.
    """
    if isinstance(key, bool):
        raise InvalidArgument("a bool is no key", "Keys are int, str and UUID.")
    if not isinstance(shards, int) or not 1 <= shards <= 0x7FFF_FFFF:
        raise InvalidArgument("number of shards must be from 1 to 2147483647", f"The number given is {shards!r}.")
    if isinstance(key, int):
        if not INT64_MIN <= key <= INT64_MAX:
            raise InvalidArgument(f"key {key} is no bigint", "It has more than 64 bits.")
        data = key.to_bytes(8, "little", signed=True)
    elif isinstance(key, str):
        try:
            data = key.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidArgument(f"key {key!r} is no text", "It has half of a surrogate pair.") from None
        if b"\0" in data:
            raise InvalidArgument(f"key {key!r} is no text", "PostgreSQL has no text with a zero byte.")
    elif isinstance(key, UUID):
        data = key.bytes
    else:
        raise InvalidArgument(f"invalid key: {key!r}", "Keys are int, str and UUID.")
    return _xxh64(data) % shards
