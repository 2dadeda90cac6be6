"""Doing what a keeper asks for: with a connection of its own, in a thread or in a task."""

from __future__ import annotations

import asyncio
import selectors
import socket
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


# It takes file descriptors of any number, and has none of its own; Windows has the other one.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)

# A selector takes no clock that counts sleep: look at the clock at least so often, in seconds.
_LONGEST_WAIT = 60.0


class _Bell:
    """Waits until there is news of a connection, or somebody rings, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_rung = False
        self._ends: Optional[Tuple[socket.socket, socket.socket]] = None

    def ring(self) -> None:
        with self._lock:
            if not self._is_rung and self._ends is not None:
                self._ends[1].send(b"!")  # of which there is one at most
            self._is_rung = True

    def wait(self, seconds: float, fileno: int) -> bool:
        """Whether there is news of the connection whose file descriptor that is; -1 is none."""
        with self._lock:
            if self._ends is None:
                self._ends = socket.socketpair()
                self._ends[0].setblocking(False)
            ear = self._ends[0]
            if self._is_rung:
                seconds = 0.0
        with _Selector() as selector:
            selector.register(ear, selectors.EVENT_READ)
            if fileno >= 0:
                selector.register(fileno, selectors.EVENT_READ)
            news = selector.select(min(max(0.0, seconds), _LONGEST_WAIT))
        with self._lock:
            self._is_rung = False
            try:
                ear.recv(1)
            except BlockingIOError:
                pass  # it was rung before there was a bell, or not at all
        return any(key.fd == fileno for key, _ in news)

    def close(self) -> None:
        with self._lock:
            ends, self._ends = self._ends, None
        for end in ends or ():
            end.close()


class Runner:
    """Runs steps where it is called; the connection stays open from call to call."""

    def __init__(self, parameters: Dict[str, Any]) -> None:
        self._parameters = parameters
        self._connection: Optional[Connection] = None
        self._bell = _Bell()

    def wake(self) -> None:
        """Ends a Sleep."""
        self._bell.ring()

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
            connection = self._connection
            fileno = -1 if connection is None else connection.fileno()
            has_news = self._bell.wait((command.until - boottime_ns()) / 1e9, fileno)
            if connection is not None and (fileno < 0 or has_news and connection.is_broken()):
                self._disconnect()
                return True
            return False
        elif isinstance(command, Disconnect):
            self._disconnect()
        return None

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        self._disconnect()
        self._bell.close()


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
            return await self._sleep((command.until - boottime_ns()) / 1e9)
        elif isinstance(command, Disconnect):
            await self.close()
        return None

    async def _sleep(self, seconds: float) -> bool:
        """Whether the connection was there, and is not any more."""
        connection = self._connection
        fileno = -1 if connection is None else connection.fileno()
        if fileno >= 0:
            self._loop.add_reader(fileno, self._woken.set)
        try:
            await asyncio.wait_for(self._woken.wait(), max(0.0, seconds))
        except asyncio.TimeoutError:
            pass
        finally:
            if fileno >= 0:
                self._loop.remove_reader(fileno)
        self._woken.clear()
        if connection is not None and (fileno < 0 or connection.is_broken()):
            await self.close()
            return True
        return False

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
