"""Minter: ids in the process's own memory, from a leased shard, renewed by a thread."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
import weakref
from typing import Any, Callable, List, Optional

from ._core import Minting, after, forked
from ._driver import connection_parameters
from ._errors import FlakeidError, InvalidArgument
from ._keeper import Event, Keeper, Seconds, check_seconds, log
from ._process import is_mine
from ._runner import Runner
from ._usage import Blocking

# How long close() and the interpreter's exit wait for the lease to be given back, in seconds.
CLOSE_WITHIN = 15.0

# How long making a minter waits for the first attempt: some statements, and hosts, that do not
# answer; and where threads do not run at all, as in uWSGI without enable-threads, not for ever.
_ATTEMPT_WITHIN = 60.0

MAX_IDS_AT_ONCE = 1_000_000


_owners: weakref.WeakSet[Any] = weakref.WeakSet()
_registered_in: Optional[int] = None  # the process


def _exit_all() -> None:
    for owner in list(_owners):
        try:
            owner._exit()
        except Exception as failure:
            log(logging.ERROR, "a minter could not be closed", failure=failure)


def at_exit(owner: Any) -> None:
    """Has owner._exit() called when the process ends in good order, unless it is gone by then."""
    global _registered_in
    _owners.add(owner)
    if _registered_in == os.getpid():
        return
    if _registered_in is None:
        atexit.register(_exit_all)  # and of its children
    _registered_in = os.getpid()
    # A process of multiprocessing ends without atexit, before Python 3.13.
    util = sys.modules.get("multiprocessing.util")
    if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
        util.Finalize(None, _exit_all, exitpriority=100)


def check_count(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAX_IDS_AT_ONCE:
        raise InvalidArgument(f"cannot mint {n!r} ids at once", f"Ask for 1 to {MAX_IDS_AT_ONCE}.")
    return n


class Minter(Blocking, Minting):
    """Mints ids in this process's memory, from a shard that it leases from the database.

    ``dsn`` is libpq's connection string, or "" for what is in the environment.  The options are
    those of docs/clients.md; lengths of time are seconds or timedeltas:

    generator   default flake_default.  A name that has no schema is looked up by search_path; an
                OID as text is taken, too
    ttl         how long a renewed lease lasts, 1 s to 1 day; default 5 minutes
    first_ttl   how long a new lease lasts before it is renewed; default 30 s, or ttl if that is shorter
    max_ahead   how far an id's time may be ahead of the clock, 0 to 1 hour; default 15 s
    owner       the beginning of the owner's name; default host and process
    on_event    a function that is told each Event, in the thread that renews

    Making one waits for the first attempt to lease.  It raises NotPermitted, NotInstalled,
    NoGenerator, UnsupportedLayout and InvalidArgument, and ImportError without psycopg or
    psycopg2, and OSError or RuntimeError if there is no file descriptor or thread left.  Other
    errors pass: next() raises them, and a thread goes on trying.

    Threads can share a minter.  A child made by fork() cannot: it gets Forked, and makes its own.
    """

    def __init__(
        self,
        dsn: str = "",
        *,
        generator: Optional[str] = None,
        ttl: Seconds = 300,
        first_ttl: Optional[Seconds] = None,
        max_ahead: Seconds = 15,
        owner: Optional[str] = None,
        on_event: Optional[Callable[[Event], object]] = None,
    ) -> None:
        super().__init__(check_seconds("max_ahead", max_ahead, 0, 3600))
        keeper = Keeper(self, generator, ttl, first_ttl, owner, on_event)
        runner = Runner(connection_parameters(dsn))
        attempted = threading.Event()
        keeper.on_first_attempt = attempted.set
        self._wake_keeper = runner.wake
        self._thread = threading.Thread(target=self._run, args=(runner, keeper), name="flakeid", daemon=True)
        try:
            self._thread.start()
            at_exit(self)
            attempted.wait(_ATTEMPT_WITHIN)
        except BaseException:  # Ctrl-C, or there is no thread left: nobody will have it
            self._stop()
            self._wake_keeper()
            if not self._thread.is_alive():
                runner.close()
            raise
        if keeper.first_error is not None:
            self._stop()
            raise keeper.first_error

    @staticmethod
    def _run(runner: Runner, keeper: Keeper) -> None:
        try:
            runner.run(keeper.run())
        finally:
            runner.close()

    def next(self, timeout: float = 1.0) -> int:
        """The next id, greater than all before it of this minter.

        Waits up to ``timeout`` seconds where an error will pass: NotYet, TooFarAhead, and for the
        answer of the database when the lease has just ended.  Raises these, LeaseExpired,
        LifetimeOver, Forked, Closed; and while there was no lease yet NotConnected, NoShardLeft
        or ServerError.
        """
        id = self._take()
        return self._claim_within(1, timeout)[0] if id is None else id

    def next_n(self, n: int, timeout: float = 1.0) -> List[int]:
        """The next ``n`` ids at once, 1 to 1,000,000, ascending; all of one lease.

        Raises what next() does, and InvalidArgument for another number, or one that takes up more
        of the layout's time than ``max_ahead``.
        """
        return self._claim_within(check_count(n), timeout)

    def next_str(self, timeout: float = 1.0) -> str:
        """next() as decimal digits, for JSON: JavaScript's numbers are exact only up to 2^53."""
        return str(self.next(timeout))

    def _claim_within(self, n: int, timeout: float) -> List[int]:
        until = after(timeout)
        while True:
            try:
                return self._claim(n)
            except FlakeidError as error:
                pause = self._pause(error, until)
            time.sleep(pause)

    def close(self) -> None:
        """Ends minting, and gives the lease back if it can be done at once; next() raises Closed then.

        Waits for the server's clock to pass the time of the last id, up to a second.  Does nothing
        when called again.  In a signal handler that has interrupted next() it does not wait: the
        lease is given back when that goes on, and at the latest when the process ends.  Raises
        Forked in a child of the process that made the minter.
        """
        if not self._birth.is_here():
            raise forked("minter")
        self._stop()
        self._wake_keeper()
        if threading.current_thread() is not self._thread and not is_mine(self._lock):
            self._thread.join(CLOSE_WITHIN)

    def _exit(self) -> None:
        if self._birth.is_here():
            self.close()
