"""Minting from a lease, without any I/O: rules P1 to P4 and P6 of docs/clients.md.

A *packed* value is tick << sequence bits | sequence.  ``Minting`` keeps the last one that was
handed out, as its tick and what is left of that tick, under a lock; the keeper (_keeper.py) gives
it leases.

The fast path is for one more id of the tick of the last one.  All that is compared for it was
computed when that tick was entered: the readings of the wall clock for which the tick is neither
over nor too far ahead, and the deadline.

A signal handler, or a finalizer, can come in between any two steps, and can raise an exception
there.  So an id is taken by one call, next(), the other path changes what there is to be taken
by one assignment, and the lock lets its own thread in again.
"""

from __future__ import annotations

import random
import threading
from datetime import datetime, timezone
from operator import length_hint
from typing import Any, Callable, Iterator, List, Optional, Tuple

from ._errors import (
    Closed,
    FlakeidError,
    Forked,
    InvalidArgument,
    LeaseExpired,
    LifetimeOver,
    NotConnected,
    NotYet,
    TooFarAhead,
)
from ._layout import Layout
from ._process import Birth, boottime_ns, wall_ns

# How often to look whether a lease has come, or has got longer, in seconds.
_LOOK_AGAIN = 0.01

_NO_IDS: Iterator[int] = iter(())

# Waiting for the clock, look at it at least this often: it may be set meanwhile.
_LONGEST_PAUSE = 1.0

# "For ever", in seconds: what all functions that wait can take
_LONGEST_TIMEOUT = 1e9


def _local(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, timezone.utc).isoformat(" ", "milliseconds")


def forked(what: str) -> Forked:
    return Forked(
        f"the {what} belongs to the parent process",
        "This process was made from it by fork().",
        f"Make a {what} of its own in each process.",
    )


def after(timeout: float) -> int:
    """boottime_ns() in so many seconds; InvalidArgument if it is no such number."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout != timeout:
        raise InvalidArgument(f"timeout is {timeout!r}", "It is a number of seconds.")
    return boottime_ns() + int(max(0.0, min(timeout, _LONGEST_TIMEOUT)) * 1e9)


class Minting:
    """What Minter and AsyncMinter have in common: the ids.  Methods with _ are not public."""

    def __init__(self, max_ahead_us: int) -> None:
        self._birth = Birth()
        self._page = self._birth.page
        self._lock = threading.RLock()
        self._is_claiming = False
        self._max_ahead_us = max_ahead_us
        self._wake_keeper: Callable[[], None] = lambda: None
        self._closed = False
        self._failure: Optional[FlakeidError] = None
        self._failing_since: Optional[int] = None
        self._used_up = False  # the lease is over for next(), and the deadline is not

        # The lease, while there is one
        self._layout: Optional[Layout] = None
        self._leased = False
        self._image = 0
        self._first_tick = 0
        self._end_tick = 0
        self._deadline = 0  # by boottime_ns()

        # The last tick, its last id, and the ids of it that are left
        self._at: Tuple[int, int, Iterator[int]] = (0, 0, _NO_IDS)
        self._step = 0
        self._minted = False  # any of this lease

        # For the fast path
        self._from = 0  # by wall_ns(), in which nothing is from 0 to before 0
        self._upto = 0

    # Minting

    def _take(self) -> Optional[int]:
        """The next id by the fast path, or None."""
        if not self._page[0]:
            raise forked("minter")
        with self._lock:
            if self._from <= wall_ns() < self._upto and boottime_ns() < self._deadline:
                at = self._at
                next_id = next(at[2], None)
                if at is self._at:
                    return next_id
                # A signal handler has claimed ids in between, from that one on.
        return None

    def __reduce__(self) -> Any:
        """Both would mint the same ids (P3)."""
        raise TypeError("a minter can be neither copied nor pickled: make one of its own")

    def _claim(self, n: int) -> List[int]:
        """The next n ids; raises what keeps them from being minted."""
        if not self._birth.is_here():
            raise forked("minter")
        with self._lock:
            if self._is_claiming:
                raise RuntimeError("reentrant call of a minter, as by a signal handler")
            try:
                self._is_claiming = True
                return self._claim_locked(n)
            finally:
                self._is_claiming = False

    def _claim_locked(self, n: int) -> List[int]:
        self._from = self._upto = 0
        if self._closed:
            raise Closed("the minter was closed")
        layout = self._layout
        if layout is None or not self._leased or boottime_ns() >= self._deadline:
            self._wake_keeper()
            raise self._no_lease()

        bits = layout.sequence_bits
        now_us = wall_ns() // 1000
        clock = (now_us - layout.epoch_us) // layout.unit_us
        ahead = self._max_ahead_us // layout.unit_us
        first = self._first_after(layout, clock, n)
        last = first + n - 1
        tick = last >> bits
        if tick > layout.max_tick:
            raise LifetimeOver(
                f'the lifetime of layout "{layout}" is over',
                hint="Check this machine's clock. If it is right, ids must come from a layout with a later epoch.",
            )
        if clock < self._first_tick - ahead:
            starts_us = layout.epoch_us + self._first_tick * layout.unit_us
            raise self._not_yet(starts_us - ahead * layout.unit_us - now_us, starts_us)
        if tick > clock + ahead:
            if (n - 1) >> bits > ahead:
                raise InvalidArgument(
                    f"cannot mint {n} ids at once",
                    'They would take up more of the layout\'s time than "max_ahead" allows.',
                    "Ask for fewer ids at once.",
                )
            begins_us = layout.epoch_us + (tick - ahead) * layout.unit_us
            raise self._too_far_ahead(begins_us - now_us)
        if tick >= self._end_tick:
            if not self._used_up:
                self._used_up = True
                self._wake_keeper()
            error = self._no_lease()
            if clock >= self._end_tick and self._failure is None:
                error.detail = f"By this machine's clock it is {_local(now_us)}, and the lease is over."
                error.hint = "Set this machine's clock right."
            raise error

        ids: List[int] = []
        for each in range(first >> bits, tick + 1):
            low = first & (layout.ids_per_tick - 1) if each == first >> bits else 0
            high = last & (layout.ids_per_tick - 1) if each == tick else layout.ids_per_tick - 1
            start = layout.compose(each, low, self._image)
            ids.extend(range(start, start + (high - low + 1) * self._step, self._step))

        tick_last_id = layout.compose(tick, layout.ids_per_tick - 1, self._image)
        rest = iter(range(ids[-1] + self._step, tick_last_id + 1, self._step))
        begins_ns = (layout.epoch_us + (tick - ahead) * layout.unit_us) * 1000
        ends_ns = (layout.epoch_us + (tick + 1) * layout.unit_us) * 1000
        if self._closed:
            raise Closed("the minter was closed")
        self._minted = True
        self._at = (tick, tick_last_id, rest)
        self._from = begins_ns
        self._upto = ends_ns
        return ids

    def _first_after(self, layout: Layout, clock: int, n: int) -> int:
        """The first of the next n packed values (P2).  Where the sequence of a new tick begins is the
        layout's choice, unless the ids would then run into the next tick, as in the server."""
        last_tick, tick_last_id, rest = self._at
        last_id = tick_last_id - length_hint(rest) * self._step
        last = last_tick << layout.sequence_bits | layout.sequence(last_id)
        if clock <= last_tick:
            return last + 1
        sequence = 0
        if layout.start == "continue":
            sequence = (last + 1) & (layout.ids_per_tick - 1)
        elif layout.start == "random":
            sequence = random.randrange(layout.random_below or layout.ids_per_tick)
        if sequence + n > layout.ids_per_tick:
            sequence = 0
        return clock << layout.sequence_bits | sequence

    # Errors

    def _no_lease(self) -> FlakeidError:
        if self._layout is None:
            failure = self._failure or NotConnected(
                "there is no lease yet", "The database has not answered so far."
            )
            return type(failure)(failure.message, failure.detail, failure.hint, failure.sqlstate)
        error = LeaseExpired(
            "the lease is over, and there is no new one",
            hint="Minting goes on by itself when the database can be reached.",
        )
        if self._failure is not None:
            since = self._failing_since or 0
            error.detail = f"Since {_local(since)} there is an error: {self._failure.message}"
            error.failing_since = since
            error.__cause__ = self._failure
        else:
            error.detail = "It is being renewed, or a new one is asked for."
        return error

    def _not_yet(self, wait_us: int, starts_us: int) -> NotYet:
        error = NotYet(
            f"the lease begins {wait_us / 1_000_000:.3f} s later",
            f'It begins at {_local(starts_us)}, and this machine\'s clock is behind that by more than "max_ahead".',
            "Set this machine's clock right, or wait.",
        )
        error.retry_after = wait_us / 1_000_000
        return error

    def _too_far_ahead(self, wait_us: int) -> TooFarAhead:
        error = TooFarAhead(
            f"the next id is {wait_us / 1_000_000:.3f} s too far ahead of the clock",
            f'An id may be {self._max_ahead_us / 1_000_000:g} s ahead of it ("max_ahead").',
            "If the clock was set back, correct it, or wait. Else more ids are wanted than a shard has.",
        )
        error.retry_after = wait_us / 1_000_000
        return error

    def _pause(self, error: FlakeidError, until: int) -> float:
        """For how many seconds to wait before another attempt; raises the error if that has no use,
        or the time is over."""
        left = (until - boottime_ns()) / 1e9
        if left > 0:
            if isinstance(error, (NotYet, TooFarAhead)):
                return min(error.retry_after, left, _LONGEST_PAUSE)
            if isinstance(error, (LeaseExpired, NotConnected)) and self._failure is None:
                return min(_LOOK_AGAIN, left)
        raise error

    # For the keeper

    def _install(self, layout: Layout, shard: int, not_before_us: int, expires_at_us: int, deadline: int) -> None:
        """Begins with a lease."""
        with self._lock:
            first_tick = -((layout.epoch_us - not_before_us) // layout.unit_us)
            # P2: as if all of the tick before had been minted; of the lease before, its last tick.
            tick = first_tick - 1 if self._layout is None else max(first_tick - 1, self._at[0])
            self._leased = False
            self._from = self._upto = 0
            self._layout = layout
            self._image = layout.shard_image(shard)
            self._step = 1 << layout.sequence_shift
            self._at = (tick, layout.compose(tick, layout.ids_per_tick - 1, self._image), _NO_IDS)
            self._first_tick = first_tick
            self._minted = False
            self._set_end(layout, expires_at_us, deadline)
            self._leased = True

    def _extend(self, expires_at_us: int, deadline: int) -> None:
        """The lease was renewed."""
        with self._lock:
            assert self._layout is not None
            self._from = self._upto = 0  # the end may be before the tick of the last id (P5)
            self._set_end(self._layout, expires_at_us, deadline)

    def _set_end(self, layout: Layout, expires_at_us: int, deadline: int) -> None:
        self._end_tick = -((layout.epoch_us - expires_at_us) // layout.unit_us)
        self._deadline = deadline
        self._used_up = False
        self._failure = self._failing_since = None

    def _drop(self) -> None:
        """The lease is lost or over."""
        with self._lock:
            self._leased = False
            self._from = self._upto = 0

    def _fail(self, error: FlakeidError) -> None:
        """An attempt to lease or renew has failed."""
        with self._lock:
            self._failure = error
            if self._failing_since is None:
                self._failing_since = wall_ns() // 1000

    def _stop(self) -> bool:
        """Ends minting for good; false if it had ended."""
        with self._lock:
            was_closed, self._closed = self._closed, True
            self._from = self._upto = 0
            self._at = (*self._at[:2], _NO_IDS)
            return not was_closed

    def _last_time_us(self) -> Optional[int]:
        """The time of the last id of this lease."""
        with self._lock:
            if self._layout is None or not self._minted:
                return None
            return self._layout.epoch_us + self._at[0] * self._layout.unit_us
