"""The thread that keeps a lease, without a server: what it needs is not to be had for a while."""

import asyncio
import errno
import logging
import threading
import time
import unittest
from unittest import mock

from flakeid import AsyncMinter, Minter, NotConnected
from flakeid import _runner
from flakeid._driver import DatabaseFailed


def wait_until(condition, what, seconds=60):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, what
        time.sleep(0.01)


def too_many(*_):
    raise OSError(errno.EMFILE, "Too many open files")


class Resources(unittest.TestCase):
    def setUp(self):
        self.attempts = 0
        for name, value in (
            ("flakeid._minter.connection_parameters", lambda dsn: {}),
            ("flakeid._aio.connection_parameters", lambda dsn: {}),
            ("flakeid._aio.has_async", lambda: False),
            ("flakeid._runner.Connection", self.connect),
            ("flakeid._runner.AsyncConnection.connect", self.connect_async),
            ("flakeid._runner._SLEEP_WITHOUT_NEWS", 0.01),
            ("flakeid._keeper._SECOND", 10_000_000),
        ):
            patch = mock.patch(name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def connect(self, parameters):
        self.attempts += 1
        raise DatabaseFailed("connection failed")

    async def connect_async(self, parameters):
        self.connect(parameters)

    def goes_on(self):
        attempts = self.attempts
        wait_until(lambda: self.attempts > attempts + 2, "more attempts")

    def test_no_sockets(self):
        """Who makes a minter is told; nothing is left of it."""
        threads = threading.active_count()

        async def open_one():
            with mock.patch("socket.socketpair", too_many), self.assertRaises(OSError):
                await AsyncMinter().open()

        with mock.patch("socket.socketpair", too_many), self.assertRaises(OSError):
            Minter()
        asyncio.run(open_one())
        self.assertEqual(threading.active_count(), threads)
        self.assertEqual(self.attempts, 0)

    def test_no_thread(self):
        with mock.patch("threading.Thread.start", mock.Mock(side_effect=RuntimeError("can't start new thread"))):
            with self.assertRaisesRegex(RuntimeError, "can't start"):
                Minter()
            with self.assertRaisesRegex(RuntimeError, "can't start"):
                asyncio.run(AsyncMinter().open())

    def test_sleep_that_fails(self):
        with Minter() as ids:
            with mock.patch("flakeid._runner._Selector", too_many):
                self.goes_on()
            self.goes_on()
            with self.assertRaises(NotConnected):
                ids.next(timeout=0)

    def test_sleep_that_fails_in_a_task(self):
        def fail(waiting, timeout):
            waiting.close()
            raise OSError(errno.ENOMEM, "Out of memory")

        async def run():
            async with AsyncMinter():
                for wait in (fail, asyncio.wait_for):
                    with mock.patch("asyncio.wait_for", wait):
                        attempts = self.attempts
                        while self.attempts <= attempts + 2:
                            await asyncio.sleep(0.01)

        with mock.patch("flakeid._aio.has_async", lambda: True):
            asyncio.run(asyncio.wait_for(run(), 60))

    def test_no_memory(self):
        """Also where nobody has thought of it."""
        with Minter() as ids:
            with mock.patch.object(ids, "_fail", side_effect=MemoryError), self.assertLogs("flakeid", "ERROR"):
                self.goes_on()
            self.goes_on()

    def test_logging_that_fails(self):
        """What the application has for that is not of the thread's."""

        class Failing(logging.Filter):
            records = 0

            def filter(self, record):
                self.records += 1
                raise ValueError("a filter has failed")

        failing = Failing()
        logger = logging.getLogger("flakeid")
        logger.addFilter(failing)
        self.addCleanup(logger.removeFilter, failing)
        with Minter() as ids, mock.patch.object(ids, "_fail", side_effect=MemoryError):
            self.goes_on()
        self.assertGreater(failing.records, 0)

    def test_bell(self):
        """Rung before anybody waits, it is heard."""
        bell = _runner._Bell()
        self.addCleanup(bell.close)
        bell.ring()
        bell.ring()
        began = time.monotonic()
        bell.wait(60, -1)
        self.assertLess(time.monotonic() - began, 30)
        bell.wait(0, -1)
        bell.close()
        bell.ring()


if __name__ == "__main__":
    unittest.main()
