"""The states of a minter: leasing, leased, closed (docs/clients.md), without any I/O.

``Keeper.run()`` is a generator.  It yields what is to be done with the database, or how long to
wait, and is sent the result; _runner.py does it, in a thread or a task of asyncio.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Generator, NamedTuple, Optional, Sequence, Type, Union

from ._core import Minting
from ._driver import DatabaseFailed
from ._errors import (
    FlakeidError,
    InvalidArgument,
    LifetimeOver,
    NoGenerator,
    NoShardLeft,
    NotConnected,
    NotInstalled,
    NotPermitted,
    ServerError,
    UnsupportedLayout,
)
from ._layout import Layout
from ._process import boottime_ns

_log = logging.getLogger("flakeid")

_SECOND = 1_000_000_000
_LONGEST_DELAY = 10 * _SECOND

# No answer, or the server's farewell
_NO_CONNECTION = ("08", "57P0")

# At the first lease these are raised at once.
AT_ONCE = (NotPermitted, NotInstalled, NoGenerator, UnsupportedLayout, InvalidArgument)

Seconds = Union[int, float, timedelta]


@dataclass(frozen=True)
class Event:
    """What ``on_event`` is told.

    ``name`` is "leased", "renewed", "renew_failed" (also of an attempt to lease anew), "lost" or
    "released"; ``shard`` is the lease's; ``not_before_us`` and ``expires_at_us`` are its times in microseconds since 1970, by
    the server's clock; ``error`` is what has failed, of "renew_failed" and "lost", or None.
    """

    name: str
    shard: int
    not_before_us: int
    expires_at_us: int
    error: Optional[FlakeidError] = None


class Connect(NamedTuple):
    """Connect, unless there is a connection; whether it is a new one."""


class Disconnect(NamedTuple):
    """Close the connection, if there is one."""


class Query(NamedTuple):
    """Execute a statement, and return its rows."""

    sql: str
    parameters: Sequence[Any]


class Sleep(NamedTuple):
    """Wait until boottime_ns() is that, somebody wakes the keeper, or there is news of the
    connection; whether it has broken.  Then there is none any more."""

    until: int


Command = Union[Connect, Disconnect, Query, Sleep]
Steps = Generator[Command, Any, None]

_SCHEMA = """
SELECT n.nspname FROM pg_catalog.pg_extension AS e
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid'::pg_catalog.name"""

_US = "(pg_catalog.extract('epoch', {}) OPERATOR(pg_catalog.*) 1000000::pg_catalog.numeric)::pg_catalog.int8"

_LAYOUT = """
SELECT g::pg_catalog.oid::pg_catalog.text, {schema}.flake_layout_of(g)::pg_catalog.text
FROM (SELECT %s::pg_catalog.regclass) AS generator (g)"""

_LEASE = f"""
SELECT l.shard, {_US.format("l.not_before")}, {_US.format("l.expires_at")},
       {_US.format("pg_catalog.clock_timestamp()")}
FROM {{schema}}.flake_lease(%s::pg_catalog.text, pg_catalog.make_interval(secs => %s::pg_catalog.float8),
                          %s::pg_catalog.regclass) AS l"""

_RENEW = f"""
SELECT {_US.format("r")}, {_US.format("pg_catalog.clock_timestamp()")}
FROM {{schema}}.flake_renew(%s::pg_catalog.text, pg_catalog.make_interval(secs => %s::pg_catalog.float8),
                          %s::pg_catalog.regclass) AS r"""

_RELEASE = """
SELECT CASE WHEN pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>)
                 pg_catalog.to_timestamp(%s::pg_catalog.float8)
            THEN {schema}.flake_release(%s::pg_catalog.text, %s::pg_catalog.regclass) END"""


def log(level: int, message: str, *arguments: object, failure: Optional[BaseException] = None) -> None:
    """Logs.  What a filter or a handler of the application's raises must end nothing."""
    try:
        _log.log(level, message, *arguments, exc_info=failure, stacklevel=2)
    except Exception:
        pass


def check_seconds(name: str, value: Seconds, least: float, most: float) -> int:
    """An option that is a length of time, in microseconds; InvalidArgument if it is none."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not least <= seconds <= most:
        raise InvalidArgument(
            f'option "{name}" is {value!r}', f"It is a number of seconds, or a timedelta, from {least:g} to {most:g} s."
        )
    return round(seconds * 1_000_000)


def check_name(name: str, value: str, most: int) -> str:
    """An option that is a text; InvalidArgument if it is none."""
    try:
        length = len(value.encode("utf-8")) if isinstance(value, str) and "\0" not in value else 0
    except UnicodeEncodeError:
        length = 0  # it has half of a surrogate pair
    if not 0 < length <= most:
        raise InvalidArgument(f'option "{name}" is {value!r}', f"It is a text of 1 to {most} bytes.")
    return value


def quoted(name: str) -> str:
    """An identifier in a statement that has parameters."""
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def find_schema() -> Generator[Command, Any, str]:
    """The schema of the extension, quoted, for a connection that may be new."""
    yield Query("SET default_transaction_isolation TO 'read committed'", ())
    yield Query("SET default_transaction_read_only TO off", ())
    yield Query("SET synchronous_commit TO on", ())  # P5: with "off", or "local", no standby has it
    rows = yield Query(_SCHEMA, ())
    if not rows:
        raise NotInstalled(
            "the database has no extension flakeid",
            hint="Execute CREATE EXTENSION flakeid in it, or connect to the database that has it.",
        )
    return quoted(rows[0][0])


def error_of(failed: Exception) -> FlakeidError:
    """The error of its own class for a failure; one that nobody has thought of is logged, too."""
    if isinstance(failed, FlakeidError):
        return failed
    if not isinstance(failed, DatabaseFailed):
        log(logging.ERROR, "unexpected error", failure=failed)
        return ServerError(f"{type(failed).__name__}: {failed}")
    state = failed.sqlstate
    cls: Type[FlakeidError] = ServerError
    hint = failed.hint
    if state is None or state.startswith(_NO_CONNECTION):
        cls = NotConnected
        hint = hint or "Look whether the server runs, and whether the connection string leads to it."
    elif state == "42501":
        cls = NotPermitted
        hint = hint or "GRANT EXECUTE ON FUNCTION flake_lease, flake_renew, flake_release, and the right to mint."
    elif state in ("42P01", "42809", "3F000", "42601", "42602", "0A000"):
        cls = NoGenerator
        hint = hint or "Name one that flake_create_generator() has made, with its schema."
    elif state == "22003":
        cls = LifetimeOver
    elif state == "53400":
        cls = NoShardLeft
    return cls(failed.message, failed.detail, hint, state)


class Keeper:
    """Leases, renews and gives back, for a Minting."""

    def __init__(
        self,
        minting: Minting,
        generator: Optional[str],
        ttl: Seconds,
        first_ttl: Optional[Seconds],
        owner: Optional[str],
        on_event: Optional[Callable[[Event], object]],
    ) -> None:
        self._minting = minting
        self._generator = None if generator is None else check_name("generator", generator, 255)
        self._ttl = check_seconds("ttl", ttl, 1, 86_400) / 1_000_000
        self._first_ttl = min(self._ttl, 30.0)
        if first_ttl is not None:
            self._first_ttl = check_seconds("first_ttl", first_ttl, 1, 86_400) / 1_000_000
        if owner is None:
            owner = f"{socket.gethostname()[:200]}-{os.getpid()}"
        self._owner_prefix = check_name("owner", owner, 238)
        if on_event is not None and not callable(on_event):
            raise InvalidArgument(f'option "on_event" is {on_event!r}', "It is a function.")
        self._on_event = on_event
        self._attempted = False
        self._delay = _SECOND

        # The lease
        self._schema = ""
        self._oid = ""
        self._owner = ""
        self._shard = 0
        self._not_before_us = 0
        self._expires_at_us = 0
        self._deadline = 0
        self._asked_at = 0
        self._renew_at = 0
        self._server_ahead_us = 0  # of boottime_ns()

        self.first_error: Optional[FlakeidError] = None
        self.may_exit = False  # by sys.exit() in on_event; of a thread, that would end nothing else
        self.on_first_attempt: Callable[[], None] = lambda: None

    def run(self) -> Steps:
        """All of it, from the first lease to giving the last one back.  No error ends it for good."""
        while True:
            try:
                yield from self._lease_and_hold()
                return
            except Exception as failure:  # as for want of memory, outside of what is told to anybody
                unexpected = failure
            try:
                error_of(unexpected)
                yield from self._back_off()
            except Exception:  # there is none for this either
                pass

    def _lease_and_hold(self) -> Steps:
        while not self._minting._closed:
            try:
                yield from self._lease()
            except Exception as failure:
                error = error_of(failure)
                self._minting._fail(error)
                if not self._attempted and isinstance(error, AT_ONCE):
                    self.first_error = error
                    break
                self._note_attempt()
                if self._minting._layout is not None:  # the first lease is next()'s to tell
                    self._tell("renew_failed", error)
                yield Disconnect()
                yield from self._back_off()
            else:
                self._note_attempt()
                leased_at = boottime_ns()
                yield from self._hold()
                if boottime_ns() < leased_at + _SECOND:
                    yield from self._back_off()  # not to use up the shards
        self._note_attempt()
        yield from self.release()
        yield Disconnect()

    def _note_attempt(self) -> None:
        if not self._attempted:
            self._attempted = True
            self.on_first_attempt()

    def _tell(self, name: str, error: Optional[FlakeidError] = None) -> None:
        log(logging.DEBUG, "%s: shard %d until %d", name, self._shard, self._expires_at_us)
        if self._on_event is not None:
            try:
                self._on_event(Event(name, self._shard, self._not_before_us, self._expires_at_us, error))
            except (Exception, SystemExit) as failure:
                if self.may_exit and isinstance(failure, SystemExit):
                    raise
                log(logging.ERROR, "on_event has failed", failure=failure)

    def _sleep_until(self, until: int) -> Steps:
        while boottime_ns() < until and not self._minting._closed:
            yield Sleep(until)

    def _back_off(self) -> Steps:
        """Waits a second, then two, four, and at most ten."""
        delay, self._delay = self._delay, min(2 * self._delay, _LONGEST_DELAY)
        yield from self._sleep_until(boottime_ns() + delay)

    def _connect(self) -> Steps:
        """Connects, unless there is a connection.  A new one is set up, and may be to a server on
        which the extension is elsewhere, or gone."""
        is_new = yield Connect()
        if is_new:
            self._schema = yield from find_schema()

    # Leasing

    def _lease(self) -> Steps:
        yield from self._connect()
        layout = yield from self._find_generator()

        # P7: also an attempt that fails may have taken a lease, which nobody knows of.
        self._owner = f"{self._owner_prefix}-{secrets.token_hex(8)}"
        sent = boottime_ns()
        rows = yield self._statement(_LEASE, self._owner, self._first_ttl, self._oid)
        shard, not_before_us, expires_at_us, now_us = rows[0]
        self._shard, self._not_before_us = shard, not_before_us
        self._note_end(sent, expires_at_us, now_us)
        self._tell("leased")
        self._minting._install(layout, shard, not_before_us, expires_at_us, self._deadline)

    def _find_generator(self) -> Generator[Command, Any, Layout]:
        """Finds the generator anew: there may be another one of its name."""
        name = self._generator
        if name is None:
            name = self._schema.replace("%%", "%") + ".flake_default"
        rows = yield self._statement(_LAYOUT, name)
        self._oid, text = rows[0]
        if text is None:
            raise self._unsupported(name, "Its ids are wide.")
        try:
            layout = Layout.parse(text)
        except InvalidArgument:
            raise self._unsupported(name, f'Its layout, "{text}", is of a later version.') from None
        if layout.is_uuid:
            raise self._unsupported(name, "Its ids are UUIDs.")
        if not layout.has_time:
            raise self._unsupported(name, f'Its layout, "{layout}", has no time.')
        if layout.max_shard == 0:
            raise self._unsupported(name, f'Its layout, "{layout}", has no shards.')
        if self._minting._layout not in (None, layout):  # P2
            raise UnsupportedLayout(
                f'generator "{name}" has another layout now',
                f'It was "{self._minting._layout}", and is "{layout}".',
                "Make a new minter.",
            )
        return layout

    def _unsupported(self, name: str, detail: str) -> UnsupportedLayout:
        return UnsupportedLayout(
            f'generator "{name}" cannot be leased from',
            detail,
            "Create one for processes, as flake_create_generator('process_id', 'ts:41 process:16 seq:6 epoch=2026-01-01').",
        )

    def _statement(self, text: str, *parameters: Any) -> Query:
        return Query(text.format(schema=self._schema), parameters)

    def _note_end(self, sent: int, expires_at_us: int, now_us: int) -> None:
        """The deadline is the clock's reading before the statement was sent, and what remained."""
        remaining = (expires_at_us - now_us) * 1000
        self._expires_at_us = expires_at_us
        self._deadline = sent + remaining
        self._asked_at = sent
        self._renew_at = sent + remaining // 3
        self._server_ahead_us = now_us - boottime_ns() // 1000
        self._delay = _SECOND

    # Leased

    def _sleep_until_renewal(self) -> Steps:
        """Until it is time to renew: a second after the last answer, if there are no ids until then."""
        minting = self._minting
        while not minting._closed:
            until = min(self._renew_at, self._deadline)
            if minting._used_up and minting._failure is None:
                until = min(until, self._asked_at + _SECOND)
            if boottime_ns() >= until:
                return
            is_broken = yield Sleep(until)
            if is_broken:  # as by a failover: whoever answers now may not know the lease
                self._renew_at = min(self._renew_at, self._asked_at + _SECOND)

    def _hold(self) -> Steps:
        """Renews until the lease is lost, or the minter closed."""
        while True:
            yield from self._sleep_until_renewal()
            if self._minting._closed:
                return
            try:
                if boottime_ns() >= self._deadline:
                    break
                yield from self._connect()
                sent = boottime_ns()
                rows = yield self._statement(_RENEW, self._owner, self._ttl, self._oid)
            except Exception as failure:
                error = error_of(failure)
                if error.sqlstate in ("42704", "42P01") or isinstance(error, NotInstalled):
                    self._minting._drop()
                    yield Disconnect()
                    self._tell("lost", error)
                    return
                self._minting._fail(error)
                self._tell("renew_failed", error)
                yield Disconnect()
                delay, self._delay = self._delay, min(2 * self._delay, _LONGEST_DELAY)
                self._renew_at = boottime_ns() + delay
                continue
            expires_at_us, now_us = rows[0]
            self._note_end(sent, expires_at_us, now_us)
            self._tell("renewed")
            self._minting._extend(expires_at_us, self._deadline)
        self._minting._drop()
        yield Disconnect()  # it may have slept with the machine
        self._tell("lost", self._minting._failure)

    # Giving back

    def release(self) -> Steps:
        """Gives the lease back, if there is one and it is certain that no id of it is ahead of the
        server's clock (P8)."""
        minting = self._minting
        if not minting._leased or minting._failure is not None or boottime_ns() >= self._deadline:
            return
        # By 1 us later: the parameter is a float8, and the lease must end after the tick's start.
        last_us = minting._last_time_us()
        after_us = 0 if last_us is None else last_us + 1
        try:
            for attempt in range(2):
                yield from self._connect()
                rows = yield self._statement(_RELEASE, after_us / 1_000_000, self._owner, self._oid)
                if rows[0][0] is not None:
                    if rows[0][0]:
                        self._tell("released")
                    break
                if attempt == 0:
                    missing_us = after_us - self._server_ahead_us - boottime_ns() // 1000
                    until = boottime_ns() + 1000 * max(1000, min(missing_us + 1000, 1_000_000))
                    while boottime_ns() < until:
                        yield Sleep(until)
        except Exception as failure:
            log(
                logging.WARNING, "the lease of shard %d was not given back: %s", self._shard, error_of(failure).message
            )
        minting._drop()
