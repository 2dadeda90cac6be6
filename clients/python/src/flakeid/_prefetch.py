"""Prefetch and AsyncPrefetch: ids that the database mints, fetched in batches before they are wanted."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures
from typing import Any, Callable, Deque, Generator, List, Optional, Tuple

from ._core import after, forked
from ._driver import DatabaseFailed, connection_parameters, has_async
from ._errors import Closed, FlakeidError, InvalidArgument, LifetimeOver, NoShardLeft, NotConnected, ServerError
from ._keeper import Command, Connect, Disconnect, Query, Seconds, check_name, check_seconds, error_of, find_schema
from ._minter import check_count
from ._process import Birth, boottime_ns
from ._runner import AsyncRunner, Runner, in_thread
from ._usage import Awaited, Blocking

# The message makes it wait for a synchronous standby, as a transaction with rows does.
_IDS = """
SELECT i FROM {schema}.flake_ids(%s::pg_catalog.int4, %s::pg_catalog.int4, %s::pg_catalog.regclass) AS i
CROSS JOIN pg_catalog.pg_logical_emit_message(true, 'flakeid'::pg_catalog.text, ''::pg_catalog.text)"""


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
        self._lock = threading.Lock()
        self._batches: Deque[Tuple[int, Deque[int]]] = deque()  # with the time that it was asked for
        self._left = 0
        self._schema: Optional[str] = None
        self._retry_at = 0
        self._closed = False

    def _check(self) -> None:
        if not self._birth.is_here():
            raise forked(type(self).__name__)
        if self._closed:
            raise Closed("it was closed")

    def _take(self) -> Optional[int]:
        """The next id that is there; the lock is held."""
        while self._batches:
            asked, ids = self._batches[0]
            if ids and boottime_ns() < asked + self._expires_ns:
                self._left -= 1
                return ids.popleft()
            self._left -= len(ids)
            self._batches.popleft()
        return None

    def _is_low(self) -> bool:
        """Whether to fetch; not at each next() while that fails and there are ids."""
        return 2 * self._left <= self._batch and (self._left == 0 or boottime_ns() >= self._retry_at)

    def _fetch(self) -> Generator[Command, Any, None]:
        """Fetches a batch.  What an older connection cannot do is tried once more with a new one: at
        worst, ids that nobody has are lost."""
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
                if isinstance(error, (LifetimeOver, NoShardLeft)):  # which flake_lease() means by the code
                    error = ServerError(error.message, error.detail, error.hint, error.sqlstate)
                raise error from None
        with self._lock:
            self._batches.append((asked, deque(row[0] for row in rows)))
            self._left += len(rows)

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
        self._runner = Runner(self._parameters)
        self._executor = ThreadPoolExecutor(1, "flakeid-prefetch")
        self._request: Optional[Future[Any]] = None

    def next(self, timeout: float = 10.0) -> int:
        """The next id; waits up to ``timeout`` seconds for the database where none is left.

        Raises NotConnected, NotInstalled, NotPermitted, NoGenerator, ServerError, Forked, Closed.
        """
        until = after(timeout)
        while True:
            self._check()
            with self._lock:
                self._check()  # the executor takes nothing more
                id = self._take()
                if self._is_low() and (self._request is None or self._request.done()):
                    self._request = self._executor.submit(self._runner.run, self._fetch())
                request = self._request
            if id is not None:
                return id
            assert request is not None
            if not wait_for_futures([request], max(0.0, (until - boottime_ns()) / 1e9)).done:
                raise self._no_answer(timeout)
            request.result()

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
        with self._lock:
            self._closed = True
        self._executor.shutdown()
        self._runner.close()


class AsyncPrefetch(Awaited, Fetching):
    """The same for coroutines: ``async with AsyncPrefetch(dsn, shard=5) as ids``.

    Requests run in the event loop with psycopg (3), in a thread with psycopg2.
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
        self._request: Optional[asyncio.Future[Any]] = None
        self._close_runner: Optional[Callable[[], Any]] = None
        self._send: Callable[[], asyncio.Future[Any]] = self._first_send

    def _first_send(self) -> asyncio.Future[Any]:
        if has_async():
            runner = AsyncRunner(self._parameters)
            self._close_runner = runner.close
            self._send = lambda: asyncio.ensure_future(runner.run(self._fetch()))
        else:
            blocking = Runner(self._parameters)
            self._close_runner = blocking.close
            self._send = lambda: in_thread(lambda: blocking.run(self._fetch()))[1]
        return self._send()

    async def next(self, timeout: float = 10.0) -> int:
        """The next id, as Prefetch.next(); it waits without holding up the event loop."""
        until = after(timeout)
        while True:
            self._check()
            with self._lock:
                id = self._take()
            if self._is_low() and (self._request is None or self._request.done()):
                self._request = self._send()
                self._request.add_done_callback(_look_at)
            if id is not None:
                return id
            assert self._request is not None
            done, _ = await asyncio.wait([self._request], timeout=max(0.0, (until - boottime_ns()) / 1e9))
            if not done:
                raise self._no_answer(timeout)
            self._request.result()

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
        self._closed = True
        if self._request is not None:
            await asyncio.wait([self._request])
        if self._close_runner is not None:
            closing = self._close_runner()
            if closing is not None:
                await closing


def _look_at(request: asyncio.Future[Any]) -> None:
    """Keeps asyncio from complaining of an error that no next() has waited for."""
    if not request.cancelled():
        request.exception()
