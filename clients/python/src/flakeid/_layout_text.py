"""The text form of layouts: reading it, and what both directions need."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Dict, List, Optional, Tuple

from ._errors import InvalidArgument

# The fields with their bits, the numbers of options, and the start of the sequence.
Read = Tuple[List[Tuple[str, int]], Dict[str, int], str]

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1

EPOCH_1970 = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)
US_PER_DAY = 86_400_000_000

_MAX_PARTS = 8
_MAX_SHARD_BITS = 31
_MAX_TOKEN = 63
_MAX_BLOCK = 1_000_000_000
_DEFAULT_BLOCK = 10_000
_BLANKS = " \t\n\r\f\v"

UNITS = {"d": US_PER_DAY, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}

_PRESETS = {
    "instagram": "ts:41 shard:13 seq:10 epoch=1314220021721 unit=1ms start=continue",
    "snowflake": "ts:41 datacenter:5 worker:5 seq:12 epoch=1288834974657 unit=1ms start=zero",
    "hazelcast": "ts:41 seq:6 node:16 epoch=2018-01-01 unit=1ms start=zero",
    "snowcast": "ts:41 node:13 seq:10 epoch=2014-01-01 unit=1ms start=zero",
    "region": "ts:41 region:3 worker:10 seq:10 epoch=1288834974657 unit=1ms start=random:10",
    "baidu": "ts:28 worker:22 seq:13 epoch=2016-05-19T16:00:00Z unit=1s start=zero",
    "leaf": "ts:41 worker:10 seq:12 epoch=1288834974657 unit=1ms start=random:100",
    "simpleflake": "ts:41 seq:23 epoch=2000-01-01T05:00:00Z unit=1ms start=random",
    "sonyflake": "ts:39 seq:8 machine:16 epoch=2014-09-01 unit=10ms start=zero",
    "discord": "ts:42 worker:5 process:5 seq:12 epoch=2015-01-01 unit=1ms start=zero",
    "pgedge": "ts:41 node:10 seq:12 epoch=2023-01-01 unit=1ms start=zero",
    "mastodon": "ts:48 seq:16 epoch=1970-01-01 unit=1ms start=random",
    "pgactive": "ts:40 node:10 seq:14 epoch=2016-10-06T23:22:19.634Z unit=1ms start=continue",
    "tsid": "ts:42 node:10 seq:12 epoch=2020-01-01 unit=1ms start=random",
    "clickhouse": "ts:41 machine:10 seq:12 epoch=1970-01-01 unit=1ms start=zero",
    "cockroach": "ts:47 seq:1 node:15 epoch=2015-01-01 unit=20us start=zero",
    "js53": "ts:40 shard:5 seq:8 epoch=2024-01-01 unit=10ms start=continue",
    "uuidv7": "ts:48 seq:12 shard:13 form=uuidv7 epoch=1970-01-01 unit=1ms start=zero",
    "segment": "seq:63 block=10000",
    "ticket": "seq:62 server:1 block=10000",
}


def _wrong(detail: str, hint: Optional[str] = None) -> InvalidArgument:
    return InvalidArgument("invalid layout", detail, hint)


def _number(text: str) -> Optional[int]:
    if re.fullmatch("[0-9]+", text) and int(text) <= INT64_MAX:
        return int(text)
    return None


_ISO_8601 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?Z)?"
)


def _read_instant(text: str) -> Optional[int]:
    iso = _ISO_8601.fullmatch(text)
    if iso:
        year, month, day, hour, minute, second = (int(part or 0) for part in iso.groups()[:6])
        try:
            instant = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        except ValueError:
            return None
        return (instant - EPOCH_1970) // MICROSECOND + int((iso[7] or "0").ljust(6, "0"))
    number = _number(text[1:] if text.startswith("-") else text)
    if number is None:
        return None
    us = (-number if text.startswith("-") else number) * 1000
    return us if -719_162 * US_PER_DAY <= us < 2_932_897 * US_PER_DAY else None


def print_instant(us: int) -> str:
    instant = EPOCH_1970 + timedelta(microseconds=us)
    fraction = f".{us % 1_000_000:06d}" if us % 1000 else f".{us // 1000 % 1000:03d}"
    if us % 1_000_000 == 0:
        fraction = ""
    return (
        f"{instant.year:04d}-{instant.month:02d}-{instant.day:02d}"
        f"T{instant.hour:02d}:{instant.minute:02d}:{instant.second:02d}{fraction}Z"
    )


def read_layout(text: str) -> Read:
    """Reads a preset's name or a layout's text; InvalidArgument says what is wrong with it."""
    if text != "" and not any(c in ":=" + _BLANKS for c in text):
        if text not in _PRESETS:
            raise _wrong(f'There is no preset "{text}".', "The view flake_presets lists the presets.")
        return read_layout(_PRESETS[text])

    fields: List[Tuple[str, int]] = []
    options: Dict[str, str] = {}
    for token in re.split(f"[{_BLANKS}]+", text.strip(_BLANKS)):
        separator = re.search("[=:]", token)
        if separator is None or len(token.encode("utf-8", "replace")) > _MAX_TOKEN:
            if token == "":
                continue
            raise _wrong(f'"{token}" is neither a field, as "ts:41" is, nor an option, as "unit=1ms" is.')
        name, value = token[: separator.start()], token[separator.end() :]
        if separator[0] == ":":
            fields.append(_read_field(name, value, fields, bool(options)))
        elif name not in ("epoch", "unit", "start", "block", "form"):
            raise _wrong(f'There is no option "{name}".', "Options are epoch, unit, start, block and form.")
        elif name in options:
            raise _wrong(f'Option "{name}" is given twice.')
        else:
            options[name] = value
    return _finish(fields, options)


def _read_field(name: str, value: str, fields: List[Tuple[str, int]], after_option: bool) -> Tuple[str, int]:
    if after_option:
        raise _wrong(f'Field "{name}" comes after an option.', "Write all fields before the options.")
    if not re.fullmatch("[a-z][a-z0-9_]{0,14}", name) or name == "timestamp":
        raise _wrong(
            f'"{name}" cannot be a field\'s name.',
            "A name begins with a letter from a to z, goes on with such letters, digits and underscores,"
            ' has up to 15 characters, and is not "timestamp".',
        )
    bits = _number(value)
    if bits is None or not 1 <= bits <= 63:
        raise _wrong(f'Field "{name}" has "{value}" for its bits, which must be a number from 1 to 63.')
    if any(name == other for other, _ in fields):
        raise _wrong(f'Field "{name}" is given twice.')
    if name == "ts" and fields:
        raise _wrong('Field "ts" is not the first.', "The order of ids is that of their first field.")
    if name not in ("ts", "seq") and sum(other not in ("ts", "seq") for other, _ in fields) == _MAX_PARTS:
        raise _wrong(f'Field "{name}" is one too many: a shard number has up to {_MAX_PARTS} parts.')
    return name, bits


def _read_unit(value: str) -> int:
    match = re.fullmatch("([0-9]+)(d|h|min|s|ms|us)", value)
    unit = int(match[1]) * UNITS[match[2]] if match else 0
    if not 0 < unit <= US_PER_DAY:
        raise _wrong(
            f'Unit "{value}" is not a length of time from 1us to 1d.',
            'Write a number and us, ms, s, min, h or d, as in "unit=10ms".',
        )
    return unit


def _read_start(value: str) -> Tuple[str, int]:
    if value in ("continue", "zero", "random"):
        return value, 0
    below = _number(value[7:]) if value.startswith("random:") else None
    if not below:
        raise _wrong(
            f'Start "{value}" is unknown.',
            'Write "start=continue", "start=zero", "start=random", or "start=random:10" for a number below 10.',
        )
    return "random", below


def _finish(fields: List[Tuple[str, int]], options: Dict[str, str]) -> Read:
    """Checks what depends on several words, and fills in what was not given."""
    numbers: Dict[str, int] = {}
    start = "continue"
    has_time = bool(fields) and fields[0][0] == "ts"

    if "epoch" in options:
        epoch = _read_instant(options["epoch"])
        if epoch is None:
            raise _wrong(
                f'Epoch "{options["epoch"]}" is not an instant.',
                'Write an instant of the years 1 to 9999 in UTC, as in "epoch=2011-08-24T21:07:01.721Z",'
                ' or milliseconds since 1970, as in "epoch=1314220021721".',
            )
        numbers["epoch"] = epoch
    if "unit" in options:
        numbers["unit"] = _read_unit(options["unit"])
    if "start" in options:
        start, numbers["random_below"] = _read_start(options["start"])
    if "block" in options:
        block = _number(options["block"])
        if block is None or not 1 <= block <= _MAX_BLOCK:
            raise _wrong(f'Block "{options["block"]}" is not a number from 1 to {_MAX_BLOCK}.')
        numbers["block"] = block
    if options.get("form", "uuidv7") != "uuidv7":
        raise _wrong(
            f'Form "{options["form"]}" is unknown.', 'Write "form=uuidv7" for UUIDs, or leave it out for numbers.'
        )

    bits_of = dict(fields)
    if "seq" not in bits_of:
        raise _wrong('There is no field "seq".', 'Add a field such as "seq:10".')
    if "form" in options:
        if fields != [("ts", 48), ("seq", 12), ("shard", 13)]:
            raise _wrong('The fields of form "uuidv7" are "ts:48 seq:12 shard:13", in this order.')
        if numbers.setdefault("epoch", 0) != 0:
            raise _wrong('The time of form "uuidv7" counts from 1970.')
        if numbers.setdefault("unit", 1000) != 1000:
            raise _wrong('The time of form "uuidv7" counts milliseconds.')
        numbers["uuid_shard_bits"] = fields.pop()[1]

    most = 64 if has_time else 63
    if sum(bits_of.values()) > most and "form" not in options:
        raise _wrong(
            f"The fields have {sum(bits_of.values())} bits, and an id has {most}.",
            None if has_time else "The 64th bit is the sign, which only the time can use.",
        )
    shard_bits = sum(bits for name, bits in fields if name not in ("ts", "seq"))
    if shard_bits > _MAX_SHARD_BITS:
        raise _wrong(f"The shard number has {shard_bits} bits, and it can have {_MAX_SHARD_BITS}.")

    if not has_time:
        for name in ("epoch", "unit", "start"):
            if name in options:
                raise _wrong(
                    f'Option "{name}" needs a field "ts".',
                    'Add a field such as "ts:41" at the beginning, or remove the option.',
                )
        numbers.setdefault("block", _DEFAULT_BLOCK)
        return fields, numbers, start
    if "block" in options:
        raise _wrong('Option "block" is for layouts without a field "ts".')
    if "epoch" not in numbers:
        raise _wrong(
            'There is no option "epoch".',
            'Add the instant from which time counts, as in "epoch=2011-08-24T21:07:01.721Z".',
        )
    numbers.setdefault("unit", 1000)
    below = numbers.get("random_below", 0)
    if below > 1 << bits_of["seq"]:
        raise _wrong(f'Start "random:{below}" is more than the {bits_of["seq"]} bits of "seq" can hold.')
    if below == 1 << bits_of["seq"]:
        numbers["random_below"] = 0  # all of them, the same as "random"
    return fields, numbers, start
