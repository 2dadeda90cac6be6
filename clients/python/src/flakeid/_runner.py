"""Doing what a keeper asks for: with a connection of its own, in a thread or in a task."""

from __future__ import annotations

import asyncio
import selectors
import socket
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any, Callable, Dict, Generator, List, Optional, Tuple

from ._driver import AsyncConnection, Connection
from ._keeper import Command, Connect, Disconnect, Query, Sleep
from ._process import boottime_ns

# Takes the error, or None.
Answer = Callable[[Optional[BaseException]], object]

# How long a Sleep is that fails, as for want of memory, in seconds
_SLEEP_WITHOUT_NEWS = 1.0


def answer_here() -> Tuple[Answer, "asyncio.Future[None]"]:
    """What a thread may call, at most once with effect, and the future that is done by it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def set_done(error: Optional[BaseException]) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def answer(error: Optional[BaseException]) -> None:
        try:
            loop.call_soon_threadsafe(set_done, error)
        except RuntimeError:
            pass  # the loop is closed

    return answer, done


def in_thread(function: Callable[[], object]) -> Tuple[threading.Thread, "asyncio.Future[None]"]:
    """Calls a function in a thread that ends with the process, for a coroutine to await."""
    answer, done = answer_here()

    def run() -> None:
        error: Optional[BaseException] = None
        try:
            function()
        except BaseException as raised:
            error = raised
        answer(error)

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
        self._ends: Optional[Tuple[socket.socket, socket.socket]] = socket.socketpair()
        self._ends[0].setblocking(False)

    def ring(self) -> None:
        with self._lock:
            if not self._is_rung and self._ends is not None:
                self._ends[1].send(b"!")  # of which there is one at most
            self._is_rung = True

    def wait(self, seconds: float, fileno: int) -> bool:
        """Whether there is news of the connection whose file descriptor that is; -1 is none."""
        with self._lock:
            if self._ends is None:
                raise OSError("it was closed")
            ear = self._ends[0]
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
                pass  # it was not rung
        return any(key.fd == fileno for key, _ in news)

    def close(self) -> None:
        with self._lock:
            ends, self._ends = self._ends, None
        for end in ends or ():
            end.close()


class Runner:
    """Runs steps where it is called; the connection stays open from call to call.

    What a Sleep needs is there from the start: steps that keep something must not end because there
    is no file descriptor left.  Steps without one can do without.
    """

    def __init__(self, parameters: Dict[str, Any], sleeps: bool = True) -> None:
        self._parameters = parameters
        self._connection: Optional[Connection] = None
        self._bell = _Bell() if sleeps else None

    def wake(self) -> None:
        """Ends a Sleep."""
        if self._bell is not None:
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
            try:
                return self._sleep((command.until - boottime_ns()) / 1e9)
            except Exception:
                time.sleep(_SLEEP_WITHOUT_NEWS)
                return False
        elif isinstance(command, Disconnect):
            self._disconnect()
        return None

    def _sleep(self, seconds: float) -> bool:
        """Whether the connection was there, and is not any more."""
        assert self._bell is not None
        connection = self._connection
        fileno = -1 if connection is None else connection.fileno()
        has_news = self._bell.wait(seconds, fileno)
        if connection is not None and (fileno < 0 or has_news and connection.is_broken()):
            self._disconnect()
            return True
        return False

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        self._disconnect()
        if self._bell is not None:
            self._bell.close()


class Worker:
    """Runs steps that are asked for, one after the other, in a thread of its own.

    It can be asked in a signal handler or a finalizer, whatever that interrupts, also asking: there
    is no lock, put() of a SimpleQueue is made for this, and no thread is started then.
    """

    def __init__(self, parameters: Dict[str, Any]) -> None:
        self._runner = Runner(parameters, sleeps=False)
        self._requests: SimpleQueue[Tuple[Optional[Generator[Command, Any, Any]], Answer]] = SimpleQueue()
        self._ends = False
        self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="flakeid", daemon=True)
        self._thread.start()

    def is_here(self) -> bool:
        """Whether its thread is the one that asks this: it would wait for itself."""
        return threading.get_ident() == self._thread.ident

    def has_ended(self) -> bool:
        """Whether its thread runs no more steps, and answers None to all who ask."""
        return self._has_ended

    def ask(self, steps: Optional[Generator[Command, Any, Any]], answer: Answer) -> None:
        """Has steps run.  Where others are under way, their outcome is the answer."""
        if not self._has_ended:
            self._requests.put((steps, answer))
        if self._has_ended:  # looked at after put(), as the thread looks for requests after it is set
            answer(None)

    def end(self, answer: Answer = lambda error: None) -> None:
        """Closes the connection, and answers then, or after what is under way."""
        self._ends = True
        self.ask(None, answer)

    def close(self, seconds: float) -> None:
        """The same, and waits so long for it, unless that would be for its own thread."""
        answer: SimpleQueue[Optional[BaseException]] = SimpleQueue()
        self.end(answer.put)
        if not self.is_here():
            try:
                answer.get(timeout=seconds)
            except Empty:
                pass

    def _run(self) -> None:
        answers: List[Answer] = []
        try:
            while not self._ends:
                steps, answer = self._requests.get()
                answers.append(answer)
                error = None
                try:
                    if steps is not None and not self._ends:
                        self._runner.run(steps)
                except Exception as raised:
                    error = raised
                answers += self._waiting()
                while answers and not self._ends:
                    answers.pop(0)(error)
                del steps, answer, error  # which lead to who has asked
            self._runner.close()
        finally:
            self._has_ended = True
            for answer in answers + self._waiting():
                answer(None)

    def _waiting(self) -> List[Answer]:
        answers = []
        try:
            while True:
                answers.append(self._requests.get_nowait()[1])
        except Empty:
            return answers


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
                return await self._sleep((command.until - boottime_ns()) / 1e9)
            except Exception:
                await asyncio.sleep(_SLEEP_WITHOUT_NEWS)
                return False
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

    def abandon(self) -> None:
        """Closes the connection when the event loop has ended."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abandon()
