"""Doing what a keeper asks for: with a connection of its own, in a thread or in a task."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable, Dict, Generator, Optional, Tuple

from ._driver import AsyncConnection, Connection
from ._keeper import Command, Connect, Disconnect, Query, Sleep
from ._process import boottime_ns


def in_thread(function: Callable[[], object]) -> Tuple[threading.Thread, "asyncio.Future[None]"]:
    """Calls a function in a thread that ends with the process, for a coroutine to await."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def set_done(error: Optional[BaseException]) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error: Optional[BaseException] = None
        try:
            function()
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(set_done, error)
        except RuntimeError:
            pass  # the loop is closed

    thread = threading.Thread(target=run, name="flakeid", daemon=True)
    thread.start()
    return thread, done


class Runner:
    """Runs steps where it is called; the connection stays open from call to call."""

    def __init__(self, parameters: Dict[str, Any]) -> None:
        self._parameters = parameters
        self._connection: Optional[Connection] = None
        self._woken = threading.Event()

    def wake(self) -> None:
        """Ends a Sleep."""
        self._woken.set()

    def run(self, steps: Generator[Command, Any, Any]) -> Any:
        """Runs all steps, and returns what they return; an error of one is theirs to handle."""
        try:
            command = next(steps)
            while True:
                try:
                    result = self._do(command)
                except Exception as failure:
                    command = steps.throw(failure)
                else:
                    command = steps.send(result)
        except StopIteration as end:
            return end.value

    def _do(self, command: Command) -> Any:
        if isinstance(command, Connect):
            if self._connection is None:
                self._connection = Connection(self._parameters)
                return True
            return False
        elif isinstance(command, Query):
            assert self._connection is not None
            return self._connection.query(command.sql, command.parameters)
        elif isinstance(command, Sleep):
            self._woken.wait(max(0.0, (command.until - boottime_ns()) / 1e9))
            self._woken.clear()
        elif isinstance(command, Disconnect):
            self.close()
        return None

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class AsyncRunner:
    """The same in a task of asyncio, with psycopg 3."""

    def __init__(self, parameters: Dict[str, Any]) -> None:
        self._parameters = parameters
        self._connection: Optional[AsyncConnection] = None
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def wake(self) -> None:
        """Ends a Sleep; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._woken.set)
        except RuntimeError:
            pass  # the loop is closed

    async def run(self, steps: Generator[Command, Any, Any]) -> Any:
        """Runs all steps, and returns what they return; an error of one is theirs to handle."""
        try:
            command = next(steps)
            while True:
                try:
                    result = await self._do(command)
                except Exception as failure:
                    command = steps.throw(failure)
                else:
                    command = steps.send(result)
        except StopIteration as end:
            return end.value

    async def _do(self, command: Command) -> Any:
        if isinstance(command, Connect):
            if self._connection is None:
                self._connection = await AsyncConnection.connect(self._parameters)
                return True
            return False
        elif isinstance(command, Query):
            assert self._connection is not None
            return await self._connection.query(command.sql, command.parameters)
        elif isinstance(command, Sleep):
            try:
                await asyncio.wait_for(self._woken.wait(), max(0.0, (command.until - boottime_ns()) / 1e9))
            except asyncio.TimeoutError:
                pass
            self._woken.clear()
        elif isinstance(command, Disconnect):
            await self.close()
        return None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
