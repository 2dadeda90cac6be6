"""AsyncMinter: the same for asyncio."""

from __future__ import annotations

import asyncio
import threading
from typing import Callable, List, Optional

from ._core import Minting, after, forked
from ._driver import connection_parameters, has_async
from ._errors import FlakeidError, LeaseExpired, NotConnected
from ._keeper import Event, Keeper, Seconds, Steps, check_seconds
from ._minter import CLOSE_WITHIN, Minter, at_exit, check_count
from ._runner import AsyncRunner, Runner, in_thread
from ._usage import Awaited


class AsyncMinter(Awaited, Minting):
    """Mints ids in this process's memory, for coroutines: ``async with AsyncMinter(dsn) as ids``.

    Takes what Minter takes, and raises what it raises.  Nothing happens before ``async with`` or
    open(), which waits for the first attempt to lease.  Leases are renewed by a task of the event
    loop with psycopg (3), by a thread with psycopg2; ``on_event`` is called there.

    A loop that is held up for longer than the lease lasts loses the lease, not an id.  In another
    loop, when that of open() has ended, it mints to the end of its lease, and can be closed.
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
        self._keeper = Keeper(self, generator, ttl, first_ttl, owner, on_event)
        self._parameters = connection_parameters(dsn)
        self._task: Optional[asyncio.Future[None]] = None
        self._runner: Optional[AsyncRunner] = None
        self._thread: Optional[threading.Thread] = None
        at_exit(self)

    async def open(self) -> AsyncMinter:
        """Begins to lease, and waits for the first attempt, as making a Minter does."""
        if not self._birth.is_here():
            raise forked("minter")
        if self._task is None:
            loop = asyncio.get_running_loop()
            attempted = asyncio.Event()

            def set_attempted() -> None:
                try:
                    loop.call_soon_threadsafe(attempted.set)
                except RuntimeError:
                    pass  # the loop is closed

            self._keeper.on_first_attempt = set_attempted
            if has_async():
                self._runner = AsyncRunner(self._parameters)
                self._wake_keeper = self._runner.wake
                self._keeper.may_exit = True
                self._task = asyncio.ensure_future(self._run(self._runner, self._keeper.run()))
            else:
                blocking = Runner(self._parameters)
                self._wake_keeper = blocking.wake
                try:
                    self._thread, self._task = in_thread(lambda: Minter._run(blocking, self._keeper))
                except RuntimeError:  # there is no thread left
                    blocking.close()
                    raise
            try:
                await attempted.wait()
            except BaseException:  # canceled: nobody will have it
                self._stop()
                self._wake_keeper()
                raise
            if self._keeper.first_error is not None:
                self._stop()
                raise self._keeper.first_error
        return self

    @staticmethod
    async def _run(runner: AsyncRunner, steps: Steps) -> None:
        try:
            await runner.run(steps)
        finally:
            await runner.close()

    async def next(self, timeout: float = 1.0) -> int:
        """The next id, as Minter.next(); it waits without holding up the event loop."""
        id = self._take()
        return (await self._claim_within(1, timeout))[0] if id is None else id

    async def next_n(self, n: int, timeout: float = 1.0) -> List[int]:
        """The next ``n`` ids at once, as Minter.next_n()."""
        return await self._claim_within(check_count(n), timeout)

    async def next_str(self, timeout: float = 1.0) -> str:
        """next() as decimal digits, for JSON."""
        return str(await self.next(timeout))

    async def _claim_within(self, n: int, timeout: float) -> List[int]:
        until = after(timeout)
        while True:
            try:
                return self._claim(n)
            except FlakeidError as error:
                if self._task is None and isinstance(error, NotConnected):
                    error.hint = 'Write "async with", or await open() first.'
                    raise
                if isinstance(error, LeaseExpired) and self._is_kept_no_more():
                    error.detail = "The event loop that renewed it has ended, or its tasks were canceled."
                    error.hint = "Make a minter in this event loop."
                    raise
                pause = self._pause(error, until)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Ends minting, and gives the lease back, as Minter.close().  That goes on if it is canceled."""
        if not self._birth.is_here():
            raise forked("minter")
        self._stop()
        self._wake_keeper()
        if self._task is None:
            return
        if self._task.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.result()
                return
        # Somebody has canceled all tasks, or it was opened in another loop.
        if self._thread is None:
            if self._runner is not None and self._task.get_loop().is_closed():
                self._runner.abandon()
            await self._run(AsyncRunner(self._parameters), self._keeper.release())
        else:
            await asyncio.to_thread(self._thread.join, CLOSE_WITHIN)

    def _is_kept_no_more(self) -> bool:
        """Whether nobody renews the lease."""
        task = self._task
        return self._thread is None and task is not None and (task.done() or task.get_loop().is_closed())

    def _exit(self) -> None:
        """The interpreter ends, and nobody has closed it; the loop is over."""
        if not self._birth.is_here() or not self._stop():
            return
        if self._thread is not None:
            self._wake_keeper()
            self._thread.join(CLOSE_WITHIN)
        elif self._task is not None:
            runner = Runner(self._parameters)
            runner.run(self._keeper.release())
            runner.close()

    async def __aenter__(self) -> AsyncMinter:
        return await self.open()
