"""Layouts: which bits of an id mean what.

Semantics and limits are those of the SQL functions (docs/layouts.md, docs/reference/read.md).
Times are microseconds since 1970, as integers of any size; what timestamptz cannot hold is an
error, as it is there.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

from ._errors import InvalidArgument
from ._layout_text import EPOCH_1970, INT64_MAX, INT64_MIN, MICROSECOND, UNITS, US_PER_DAY, print_instant, read_layout

Time = Union[int, datetime]

# What timestamptz can hold, the second one not included: see MIN_TIMESTAMP and END_TIMESTAMP in
# PostgreSQL's src/include/datatype/timestamp.h, which count from 2000.
_US_TO_2000 = 946_684_800_000_000
_MIN_TIME = -211_813_488_000_000_000 + _US_TO_2000
_END_TIME = 9_223_371_331_200_000_000 + _US_TO_2000

# The Gregorian calendar repeats itself after 400 years.
_CYCLE_US = 146_097 * US_PER_DAY


def to_us(time: Time) -> int:
    """Microseconds since 1970 of such a number, or of a datetime with a time zone."""
    if isinstance(time, datetime):
        if time.utcoffset() is None:
            raise InvalidArgument(
                f"time {time} has no time zone", hint="Write for example datetime.now(timezone.utc)."
            )
        return (time - EPOCH_1970) // MICROSECOND
    if not isinstance(time, int):
        raise InvalidArgument(
            f"invalid time: {time!r}",
            "A time is a datetime with a time zone, or a number of microseconds since 1970.",
        )
    return time


def to_datetime(time_us: int) -> datetime:
    """The datetime, in UTC; InvalidArgument outside of the years 1 to 9999."""
    try:
        return EPOCH_1970 + timedelta(microseconds=time_us)
    except OverflowError:
        raise InvalidArgument(
            f"time {time_us} is out of range for datetime",
            "It has the years 1 to 9999.",
            "Take the microseconds, of timestamp_us() or decode().time_us.",
        ) from None


def check_id(id: int) -> int:
    """The id, if it is a number that a bigint can be."""
    if not isinstance(id, int) or not INT64_MIN <= id <= INT64_MAX:
        raise InvalidArgument(f"invalid id: {id!r}", "An id is an integer of 64 bits with a sign.")
    return id


def _print_time(us: int) -> str:
    """A time as flake_fields() has it, also outside of datetime's years."""
    cycles, rest = divmod(us, _CYCLE_US)
    time = to_datetime(rest)
    year = time.year + 400 * cycles
    fraction = f".{time.microsecond:06d}".rstrip("0").rstrip(".")
    era = "" if year > 0 else " BC"
    return f"{year if year > 0 else 1 - year:04d}-{time:%m-%dT%H:%M:%S}{fraction}Z{era}"


class Decoded(NamedTuple):
    """The parts of an id: ``time_us`` (microseconds since 1970, None without time), ``shard``,
    ``sequence``.  ``time`` is the same as a datetime in UTC."""

    time_us: Optional[int]
    shard: int
    sequence: int

    @property
    def time(self) -> Optional[datetime]:
        """The time as a datetime in UTC, or None; InvalidArgument outside of the years 1 to 9999."""
        return None if self.time_us is None else to_datetime(self.time_us)


class Field(NamedTuple):
    """Some bits of an id."""

    name: str
    bits: int
    shift: int


class Layout:
    """Which bits of an id mean what.

    ``Layout.parse("snowflake")`` or ``Layout.parse("ts:41 shard:13 seq:10 epoch=2026-01-01")``.
    Two layouts are equal if their canonical texts, ``str(layout)``, are.

    Attributes: ``has_time``; ``is_uuid``, whether ids are UUIDs, of which an integer is only the
    head; ``max_shard``, the largest shard number; ``ids_per_tick``; ``unit_us``, the length of a
    tick in microseconds, 0 without time; ``epoch_us``, microseconds since 1970 at which tick 0
    starts; ``start``, ``"continue"``, ``"zero"`` or ``"random"``, and ``random_below``, the
    number of ``random:10`` or 0; ``block``, without time.
    """

    __slots__ = (
        "has_time", "is_uuid", "max_shard", "ids_per_tick", "unit_us", "epoch_us", "start",
        "random_below", "block", "time_shift", "sequence_bits", "sequence_shift", "min_tick",
        "max_tick", "first_tick", "_fields", "_parts", "_text",
    )  # fmt: skip

    def __init__(self, fields: List[Tuple[str, int]], options: Dict[str, int], start: str) -> None:
        total = sum(bits for _, bits in fields)
        self._fields: List[Field] = []
        for name, bits in fields:
            total -= bits
            self._fields.append(Field(name, bits, total))
        self.is_uuid = "uuid_shard_bits" in options
        time = self._fields[0] if self._fields[0].name == "ts" else None
        sequence = next(field for field in self._fields if field.name == "seq")
        self._parts = [field for field in self._fields if field.name not in ("ts", "seq")]
        self.has_time = time is not None
        self.sequence_bits = sequence.bits
        self.sequence_shift = sequence.shift
        self.ids_per_tick = 1 << sequence.bits
        shard_bits = sum(part.bits for part in self._parts) + options.get("uuid_shard_bits", 0)
        self.max_shard = (1 << shard_bits) - 1
        self.unit_us = options.get("unit", 0)
        self.epoch_us = options.get("epoch", 0)
        self.start = start
        self.random_below = options.get("random_below", 0)
        self.block = options.get("block", 0)
        self.time_shift = time.shift if time else sum(bits for _, bits in fields)
        # The time shares its highest bit with the sign where a layout has all 64 bits.
        self.max_tick = (1 << min(time.bits, 63 - time.shift)) - 1 if time else 0
        self.min_tick = -self.max_tick - 1 if time else 0
        self.first_tick = 0 if self.is_uuid else self.min_tick
        self._text = self._print(options)

    @classmethod
    def parse(cls, text: str = "instagram") -> Layout:
        """Reads the name of a preset or the text of a layout.

        Raises InvalidArgument, which says what is wrong with it.
        """
        if not isinstance(text, str):
            raise InvalidArgument(f"invalid layout: {text!r}", "A layout is a text.")
        return _parse(text)

    def _print(self, options: Dict[str, int]) -> str:
        words = [f"{field.name}:{field.bits}" for field in self._fields]
        if self.is_uuid:
            words += [f"shard:{options['uuid_shard_bits']}", "form=uuidv7"]
        if not self.has_time:
            return " ".join(words + [f"block={self.block}"])
        unit = next(name for name, us in UNITS.items() if self.unit_us % us == 0)
        below = f":{self.random_below}" if self.random_below else ""
        words += [
            f"epoch={print_instant(self.epoch_us)}",
            f"unit={self.unit_us // UNITS[unit]}{unit}",
            f"start={self.start}{below}",
        ]
        return " ".join(words)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Layout.parse({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def starts_us(self) -> Optional[int]:
        """The first time that an id can have, in microseconds since 1970; None without time, or
        where timestamptz cannot hold it."""
        return self.tick_start(self.first_tick) if self.has_time else None

    @property
    def ends_us(self) -> Optional[int]:
        """The time from which on no id can have it, in the same way."""
        return self.tick_start(self.max_tick + 1) if self.has_time else None

    # Parts of ids

    def _check_not_uuid(self) -> None:
        if self.is_uuid:
            raise InvalidArgument(
                f'ids of layout "{self}" are not of type bigint',
                "They are UUIDs, and their shard is in no bigint.",
                "Use uuidv7_decode().",
            )

    def _check_has_time(self) -> None:
        if not self.has_time:
            raise InvalidArgument(f'layout "{self}" has no time')

    def tick_start(self, tick: int) -> Optional[int]:
        """Microseconds since 1970 at which a tick starts; None if timestamptz cannot hold that."""
        elapsed = tick * self.unit_us
        start = self.epoch_us + elapsed
        if INT64_MIN <= elapsed <= INT64_MAX and _MIN_TIME <= start < _END_TIME:
            return start
        return None

    def decode(self, id: int) -> Decoded:
        """The time, shard and sequence number of an id, as flake_decode().

        Raises InvalidArgument for a layout of UUIDs, and for a time that timestamptz cannot hold.
        """
        return Decoded(self.timestamp_us(id), self.shard(id), self.sequence(id))

    def timestamp_us(self, id: int) -> Optional[int]:
        """The time of an id in microseconds since 1970; None if the layout has no time.

        Raises InvalidArgument for a time that timestamptz cannot hold.
        """
        check_id(id)
        if not self.has_time:
            return None
        start = self.tick_start(id >> self.time_shift)
        if start is None:
            raise InvalidArgument("timestamp out of range")
        return start

    def timestamp(self, id: int) -> Optional[datetime]:
        """The time of an id as a datetime in UTC; None if the layout has no time.

        Raises InvalidArgument outside of the years 1 to 9999, which are datetime's.
        """
        us = self.timestamp_us(id)
        return None if us is None else to_datetime(us)

    def shard(self, id: int) -> int:
        """The shard number of an id.  Raises InvalidArgument for a layout of UUIDs."""
        self._check_not_uuid()
        check_id(id)
        shard = 0
        for part in self._parts:
            shard = shard << part.bits | (id >> part.shift & ((1 << part.bits) - 1))
        return shard

    def sequence(self, id: int) -> int:
        """The sequence number of an id within its tick."""
        return check_id(id) >> self.sequence_shift & (self.ids_per_tick - 1)

    def fields(self, id: int) -> Dict[str, Union[int, str]]:
        """Each field's number under its name, and with time the text "timestamp", as flake_fields().

        Raises InvalidArgument for a layout of UUIDs, and for a time that timestamptz cannot hold.
        """
        self._check_not_uuid()
        check_id(id)
        numbers: Dict[str, Union[int, str]] = {
            field.name: id >> field.shift & (-1 if field.name == "ts" else (1 << field.bits) - 1)
            for field in self._fields
        }
        us = self.timestamp_us(id)
        if us is not None:
            numbers["timestamp"] = _print_time(us)
        return numbers

    # Ids of parts

    def shard_image(self, shard: int) -> int:
        """The shard number's bits at their places in an id."""
        image = 0
        for part in reversed(self._parts):
            image |= (shard & ((1 << part.bits) - 1)) << part.shift
            shard >>= part.bits
        return image

    def compose(self, tick: int, sequence: int, image: int) -> int:
        """The id of a tick, a sequence number, and a shard's image, all in range."""
        return tick << self.time_shift | sequence << self.sequence_shift | image

    def _tick_at(self, time_us: int) -> int:
        """The tick that contains a time; as far outside as can be if it is 2^63 us from the epoch."""
        elapsed = time_us - self.epoch_us
        if elapsed < INT64_MIN:
            return INT64_MIN
        if elapsed > INT64_MAX:
            return INT64_MAX
        return elapsed // self.unit_us

    def encode(self, time: Time, shard: int, sequence: int) -> int:
        """The id with these parts, as flake_make(); the time is rounded down to a tick.

        ``time`` is a datetime with a time zone, or microseconds since 1970.  Raises
        InvalidArgument if the layout has no time or is one of UUIDs, or a part is out of range.
        """
        self._check_not_uuid()
        self._check_has_time()
        time_us = to_us(time)
        tick = self._tick_at(time_us)
        if not (self.first_tick <= tick <= self.max_tick and _MIN_TIME <= time_us < _END_TIME):
            raise InvalidArgument(
                f'time {time} is out of range for layout "{self}"',
                hint="For the bounds of a range of ids use lower() and upper(), which accept any time.",
            )
        for name, number, most in (("shard", shard, self.max_shard), ("sequence", sequence, self.ids_per_tick - 1)):
            if not isinstance(number, int) or not 0 <= number <= most:
                raise InvalidArgument(
                    f"{name} {number} is out of range", f'Layout "{self}" has {name} numbers 0 to {most}.'
                )
        return self.compose(tick, sequence, self.shard_image(shard))

    def _first_id(self, tick: int) -> int:
        return tick << self.time_shift

    def _last_id(self) -> int:
        return self.compose(self.max_tick, self.ids_per_tick - 1, 0 if self.is_uuid else self.shard_image(self.max_shard))

    def lower(self, time: Time) -> int:
        """The smallest id whose time is this one or later, as flake_lower().

        ``time`` is a datetime with a time zone, or microseconds since 1970, any number.  Raises
        InvalidArgument if the layout has no time.
        """
        self._check_has_time()
        tick = max(self._tick_at(to_us(time) - 1) + 1, self.first_tick)
        if tick > self.max_tick:
            return min(self._last_id() + 1, INT64_MAX)
        return self._first_id(tick)

    def upper(self, time: Time) -> int:
        """The largest id whose time is this one or earlier, as flake_upper().

        ``time`` is a datetime with a time zone, or microseconds since 1970, any number.  Raises
        InvalidArgument if the layout has no time.
        """
        self._check_has_time()
        tick = self._tick_at(to_us(time))
        if tick < self.first_tick:
            return INT64_MIN
        if tick >= self.max_tick:
            return self._last_id()
        return self._first_id(tick + 1) - 1


@lru_cache(maxsize=256)
def _parse(text: str) -> Layout:
    return Layout(*read_layout(text))
