"""Prefetch and AsyncPrefetch: ids that the database mints, fetched in batches before they are wanted.

A signal handler, or a finalizer, can come in between any two steps, and take an id of the same
Prefetch.  So there is no lock: an id is taken by one call, popleft(), and a batch comes in by
one, extend(); one thread fetches, or one task after the other.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from itertools import repeat
from queue import Empty, SimpleQueue
from typing import Any, Deque, Generator, List, Optional, Tuple

from ._core import after, forked
from ._driver import DatabaseFailed, connection_parameters, has_async
from ._errors import (
    Closed,
    FlakeidError,
    InvalidArgument,
    LifetimeOver,
    NoShardLeft,
    NotConnected,
    NotPermitted,
    ServerError,
)
from ._keeper import Command, Connect, Disconnect, Query, Seconds, check_name, check_seconds, error_of, find_schema
from ._minter import CLOSE_WITHIN, at_exit, check_count
from ._process import Birth, boottime_ns
from ._runner import AsyncRunner, Worker, answer_here
from ._usage import Awaited, Blocking

# The message makes it wait for a synchronous standby, as a transaction with rows does.
_IDS = """
SELECT i FROM {schema}.flake_ids(%s::pg_catalog.int4, %s::pg_catalog.int4, %s::pg_catalog.regclass) AS i
CROSS JOIN pg_catalog.pg_logical_emit_message(true, 'flakeid'::pg_catalog.text, ''::pg_catalog.text)"""

_NOT_PERMITTED = (
    "GRANT EXECUTE ON FUNCTION flake_ids, and pg_logical_emit_message(boolean, text, text); and USAGE on the generator."
)


class Fetching:
    """What Prefetch and AsyncPrefetch have in common: batches, and how to fetch one."""

    def __init__(self, dsn: str, shard: int, generator: Optional[str], batch: int, expires: Seconds) -> None:
        if isinstance(shard, bool) or not isinstance(shard, int) or not 0 <= shard <= 0x7FFF_FFFF:
            raise InvalidArgument(f'option "shard" is {shard!r}', "It is the number of a shard, from 0 on.")
        if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= 1_000_000:
            raise InvalidArgument(f'option "batch" is {batch!r}', "It is a number from 1 to 1000000.")
        self._shard = shard
        self._generator = None if generator is None else check_name("generator", generator, 255)
        self._batch = batch
        self._expires_ns = check_seconds("expires", expires, 0.001, 1e9) * 1000
        self._parameters = connection_parameters(dsn)
        self._birth = Birth()
        self._ids: Deque[Tuple[int, int]] = deque()  # with the time that they were asked for
        self._schema: Optional[str] = None
        self._retry_at = 0
        self._closed = False
        self._worker: Optional[Worker] = None

    def _make_worker(self) -> Worker:
        """A thread that ends with the process, or when nobody has this any more."""
        worker = Worker(self._parameters)
        weakref.finalize(self, worker.end).atexit = False
        at_exit(self)
        return worker

    def _exit(self) -> None:
        if self._birth.is_here() and self._worker is not None:
            self._worker.close(CLOSE_WITHIN)

    def _check(self) -> None:
        if not self._birth.is_here():
            raise forked(type(self).__name__)
        if self._closed:
            raise Closed("it was closed")

    def _check_worker(self) -> None:
        """For want of ids.  A thread ends with the process, and before finalizers of what had this."""
        if self._worker is not None and self._worker.has_ended():
            raise Closed("no id is left, and its thread has ended")

    def _take(self) -> Optional[int]:
        """The next id that is there."""
        while True:
            try:
                id, asked = self._ids.popleft()
            except IndexError:
                return None
            if boottime_ns() < asked + self._expires_ns:
                return id

    def _is_low(self) -> bool:
        """Whether to fetch; not at each next() while that fails and there are ids."""
        left = len(self._ids)
        return 2 * left <= self._batch and (left == 0 or boottime_ns() >= self._retry_at)

    def _fetch(self) -> Generator[Command, Any, None]:
        """Fetches a batch, unless another has come meanwhile."""
        if self._is_low():
            yield from self._fetch_batch()

    def _fetch_batch(self) -> Generator[Command, Any, None]:
        """What an older connection cannot do is tried once more with a new one: at worst, ids that
        nobody has are lost."""
        for is_last in (self._schema is None, True):
            try:
                if self._schema is None:
                    yield Disconnect()
                    yield Connect()
                    self._schema = yield from find_schema()
                generator = self._generator or self._schema.replace("%%", "%") + ".flake_default"
                asked = boottime_ns()
                rows = yield Query(_IDS.format(schema=self._schema), (self._shard, self._batch, generator))
                break
            except DatabaseFailed as failure:
                self._schema = None
                self._retry_at = boottime_ns() + 1_000_000_000
                error = error_of(failure)
                if isinstance(error, NotConnected) and not is_last:
                    continue
                if isinstance(error, NotPermitted) and failure.hint is None:
                    error.hint = _NOT_PERMITTED
                if isinstance(error, (LifetimeOver, NoShardLeft)):  # which flake_lease() means by the code
                    error = ServerError(error.message, error.detail, error.hint, error.sqlstate)
                raise error from None
        self._ids.extend(zip([row[0] for row in rows], repeat(asked)))

    @staticmethod
    def _no_answer(timeout: float) -> NotConnected:
        return NotConnected(f"the database has not answered within {timeout:g} s")


class Prefetch(Blocking, Fetching):
    """Hands out ids that the database has minted, fetched ahead by flake_ids() in batches.

    ``dsn`` is libpq's connection string.  The options are those of docs/clients.md:

    shard       the number of the shard
    generator   default flake_default.  A name that has no schema is looked up by search_path
    batch       how many ids a request fetches, 1 to 1,000,000; default 100
    expires     ids that were fetched longer ago are thrown away, seconds or timedelta; default 10 min

    Raises InvalidArgument, and ImportError without psycopg or psycopg2.  Threads can share it, a
    child made by fork() cannot.  The database is first asked by next().
    """

    def __init__(
        self,
        dsn: str = "",
        *,
        shard: int,
        generator: Optional[str] = None,
        batch: int = 100,
        expires: Seconds = 600,
    ) -> None:
        super().__init__(dsn, shard, generator, batch, expires)
        self._is_asked = False  # ahead
        self._worker: Worker = self._make_worker()

    def next(self, timeout: float = 10.0) -> int:
        """The next id; waits up to ``timeout`` seconds for the database where none is left.

        Raises NotConnected, NotInstalled, NotPermitted, NoGenerator, ServerError, Forked, Closed.
        """
        until = after(timeout)
        while True:
            self._check()
            id = self._take()
            if id is not None:
                if self._is_low() and not self._is_asked:
                    self._is_asked = True
                    self._worker.ask(self._fetch(), self._note_answer)
                return id
            self._check_worker()
            if self._worker.is_here():
                raise RuntimeError("reentrant call of a prefetch, as by a finalizer")
            self._is_asked = False  # also if an exception came between it and asking
            answer: SimpleQueue[Optional[BaseException]] = SimpleQueue()
            self._worker.ask(self._fetch(), answer.put)
            try:
                error = answer.get(timeout=max(0.0, (until - boottime_ns()) / 1e9))
            except Empty:
                raise self._no_answer(timeout) from None
            if error is not None:
                raise error

    def _note_answer(self, error: Optional[BaseException]) -> None:
        """Of a request that nobody waits for: if it has failed, one of those that follow tells."""
        self._is_asked = False

    def next_n(self, n: int, timeout: float = 10.0) -> List[int]:
        """The next ``n`` ids, 1 to 1,000,000; those of one batch ascend.  Raises what next() does."""
        return [self.next(timeout) for _ in range(check_count(n))]

    def next_str(self, timeout: float = 10.0) -> str:
        """next() as decimal digits, for JSON."""
        return str(self.next(timeout))

    def close(self) -> None:
        """Throws away the ids that are left, and closes the connection."""
        if not self._birth.is_here():
            raise forked(type(self).__name__)
        self._closed = True
        self._ids.clear()
        self._worker.close(CLOSE_WITHIN)


class AsyncPrefetch(Awaited, Fetching):
    """The same for coroutines: ``async with AsyncPrefetch(dsn, shard=5) as ids``.

    Requests run in the event loop with psycopg (3), in a thread with psycopg2.  One event loop after
    the other can use it, as of several asyncio.run(), but no two at a time.
    """

    def __init__(
        self,
        dsn: str = "",
        *,
        shard: int,
        generator: Optional[str] = None,
        batch: int = 100,
        expires: Seconds = 600,
    ) -> None:
        super().__init__(dsn, shard, generator, batch, expires)
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._request: Optional[asyncio.Future[Any]] = None
        self._turn = asyncio.Lock()
        self._runner: Optional[AsyncRunner] = None
        self._worker = None if has_async() else self._make_worker()

    def _come_to_loop(self) -> None:
        """In another event loop nobody ends what the last one has begun."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        is_first = self._loop is None
        self._loop = loop
        if is_first:
            return
        self._request = None
        self._turn = asyncio.Lock()
        runner, self._runner = self._runner, None
        if runner is not None:
            self._schema = None
            runner.abandon()

    def _send(self) -> asyncio.Future[Any]:
        """Makes a request.  Of two at once, as by a signal handler, the later has nothing to do."""
        if self._worker is None:
            request: asyncio.Future[Any] = asyncio.ensure_future(self._fetch_in_turn())
        else:
            answer, request = answer_here()
            self._worker.ask(self._fetch(), answer)
        request.add_done_callback(_look_at)
        return request

    async def _fetch_in_turn(self) -> None:
        async with self._turn:
            if not self._closed:
                if self._runner is None:
                    self._runner = AsyncRunner(self._parameters)
                await self._runner.run(self._fetch())

    async def next(self, timeout: float = 10.0) -> int:
        """The next id, as Prefetch.next(); it waits without holding up the event loop."""
        until = after(timeout)
        self._come_to_loop()
        while True:
            self._check()
            id = self._take()
            request = self._request
            if self._is_low() and (request is None or request.done()):
                request = self._request = self._send()
            if id is not None:
                return id
            self._check_worker()
            if request is not None:
                done, _ = await asyncio.wait([request], timeout=max(0.0, (until - boottime_ns()) / 1e9))
                if not done:
                    raise self._no_answer(timeout)
                request.result()

    async def next_n(self, n: int, timeout: float = 10.0) -> List[int]:
        """The next ``n`` ids, as Prefetch.next_n()."""
        return [await self.next(timeout) for _ in range(check_count(n))]

    async def next_str(self, timeout: float = 10.0) -> str:
        """next() as decimal digits, for JSON."""
        return str(await self.next(timeout))

    async def close(self) -> None:
        """Throws away the ids that are left, and closes the connection."""
        if not self._birth.is_here():
            raise forked(type(self).__name__)
        self._come_to_loop()
        self._closed = True
        self._ids.clear()
        if self._worker is not None:
            answer, closed = answer_here()
            self._worker.end(answer)
            await closed
        async with self._turn:
            if self._runner is not None:
                await self._runner.close()


def _look_at(request: asyncio.Future[Any]) -> None:
    """Keeps asyncio from complaining of an error that no next() has waited for."""
    if not request.cancelled():
        request.exception()
