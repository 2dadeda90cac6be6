"""Prefetch and AsyncPrefetch without a server: connections are made up.

Signal handlers and finalizers take ids in the midst of taking one.  Each gets an id or a clear
error, none waits for itself, and no id is handed out twice or lost.
"""

import asyncio
import faulthandler
import gc
import itertools
import os
import subprocess
import sys
import threading
import time
import unittest
from queue import SimpleQueue
from unittest import mock

from flakeid import AsyncPrefetch, Closed, NotConnected, Prefetch
from flakeid import _prefetch, _runner
from flakeid._driver import DatabaseFailed


class Server:
    """What all made up connections have in common."""

    def __init__(self):
        self.fetched = 0
        self.connections = 0
        self.queries = 0
        self.is_away = False
        self.pause = 0
        self.meanwhile = lambda: None

    def answer(self, sql, parameters):
        if sql.startswith("SET"):
            return []
        if "extnamespace" in sql:
            return [("public",)]
        self.meanwhile()
        self.queries += 1
        if self.is_away:
            raise DatabaseFailed("gone")
        first = self.fetched
        self.fetched += parameters[1]
        return [(id,) for id in range(first, self.fetched)]

    def connect(self, parameters):
        self.connections += 1
        connection = mock.Mock(closed=False)
        connection.query = self.answer
        return connection

    async def connect_async(self, parameters):
        connection = self.connect(parameters)

        async def query(sql, parameters):
            await asyncio.sleep(self.pause if self.queries else 0)
            return self.answer(sql, parameters)

        async def close():
            pass

        connection.query, connection.close = query, close
        return connection

    def patches(self, has_async=False):
        return (
            mock.patch("flakeid._prefetch.connection_parameters", lambda dsn: {}),
            mock.patch("flakeid._prefetch.has_async", lambda: has_async),
            mock.patch("flakeid._runner.Connection", self.connect),
            mock.patch("flakeid._runner.AsyncConnection.connect", self.connect_async),
        )


class WithServer(unittest.TestCase):
    def setUp(self):
        faulthandler.dump_traceback_later(120, exit=True)  # should one wait for itself
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        self.has_async = False
        self.server = Server()
        for patch in self.server.patches():
            patch.start()
            self.addCleanup(patch.stop)

    @staticmethod
    def left(ids):
        """The ids that are left, when what is under way is done."""
        answer = SimpleQueue()
        ids._worker.ask(None, answer.put)
        answer.get(timeout=60)
        return [id for id, _ in ids._ids]


class Each:
    """Calls a function before the place-th instruction of the files."""

    def __init__(self, place, function):
        self.place = place
        self.function = function
        self.calls = 0

    def trace(self, frame, event, argument):
        if frame.f_code.co_filename not in (_prefetch.__file__, _runner.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.calls += 1
            if self.calls == self.place:
                self.function()
        return self.trace

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)


class Reentrant(WithServer):
    def test_signal_handler_between_any_two_instructions(self):
        """Of next(), of what it asks for, and of the second half of a batch."""
        for place in range(1, 10_000):
            minted = []
            self.server.fetched = 0
            with Prefetch(shard=5, batch=4) as ids:
                with Each(place, lambda: minted.append(ids.next(timeout=60))) as each:
                    minted += [ids.next(timeout=60) for _ in range(3)]
                minted += ids.next_n(10)
                self.assertEqual(sorted(minted + self.left(ids)), list(range(self.server.fetched)), place)
            if each.calls < place:
                self.assertGreater(place, 200)
                return

    def test_signal_handler_that_closes(self):
        for place in range(1, 10_000):
            minted = []
            ids = Prefetch(shard=5, batch=4)
            with Each(place, ids.close) as each:
                try:
                    minted += [ids.next(timeout=60) for _ in range(3)]
                except Closed:
                    pass
            self.assertEqual(len(set(minted)), len(minted))
            is_over = each.calls < place
            if is_over:
                ids.close()
            with self.assertRaises(Closed):
                ids.next()
            ids.close()
            if is_over:
                return

    def test_signal_handler_that_raises(self):
        """Afterwards it goes on, and still fetches ahead."""

        class Interrupted(Exception):
            pass

        def interrupt():
            raise Interrupted

        for place in range(1, 10_000):
            minted = []
            with Prefetch(shard=5, batch=4) as ids:
                with Each(place, interrupt) as each:
                    for _ in range(3):
                        try:
                            minted.append(ids.next(timeout=60))
                        except Interrupted:
                            pass
                minted += ids.next_n(10) + self.left(ids)
                self.assertEqual(len(set(minted)), len(minted), place)
                while len(ids._ids) > 3:
                    ids.next()
                ids.next()
                self.assertGreater(len(self.left(ids)), 4, place)
            if each.calls < place:
                self.assertGreater(place, 200)
                return

    def test_signals(self):
        """Real ones, some thousand times a second."""
        code = """if True:
            import signal
            from test_prefetch import Prefetch, Server
            for patch in Server().patches():
                patch.start()
            minted = []
            ids = Prefetch(shard=5, batch=20)
            handling = False

            def handle(*_):
                global handling
                if not handling:
                    handling = True
                    minted.append(ids.next())
                    handling = False

            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0003)
            for _ in range(30000):
                minted.append(ids.next())
            signal.setitimer(signal.ITIMER_REAL, 0)
            ids.close()
            print(len(minted) > 30000, len(set(minted)) == len(minted))
        """
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, cwd=os.path.dirname(__file__)
        )
        self.assertEqual((run.stdout, run.stderr), ("True True\n", ""))

    def test_finalizer_in_the_thread_that_fetches(self):
        """It gets an id if there is one, and else does not wait for its own thread."""
        with Prefetch(shard=5, batch=4) as ids:
            got = []

            def finalize():
                try:
                    got.append(ids.next())
                except RuntimeError as error:
                    got.append(str(error))

            self.server.meanwhile = finalize
            self.assertEqual(ids.next(), 0)
            self.assertEqual(got, ["reentrant call of a prefetch, as by a finalizer"])
            self.assertEqual(ids.next(), 1)
            self.assertEqual(self.left(ids), [3, 4, 5, 6, 7])
            self.assertEqual(got[1:], [2])

    def test_finalizer_that_closes_in_the_thread_that_fetches(self):
        ids = Prefetch(shard=5, batch=4)
        self.server.meanwhile = ids.close
        with self.assertRaises(Closed):
            ids.next()
        ids._worker._thread.join(60)
        self.assertFalse(ids._worker._thread.is_alive())

    def test_asyncio(self):
        """A handler cannot wait, but can take an id that is there."""

        async def run(place):
            minted = []
            ids = AsyncPrefetch(shard=5, batch=4)

            def take():
                taking = ids.next(timeout=60)
                try:
                    taking.send(None)
                except StopIteration as end:
                    minted.append(end.value)
                finally:
                    taking.close()

            self.server.fetched = self.server.connections = 0
            for step in range(4):
                with Each(place if step < 3 else -1, take) as each:
                    minted.append(await ids.next(timeout=60))
                place -= each.calls
            minted += await ids.next_n(10)
            await ids.close()
            self.assertEqual(len(set(minted)), len(minted))
            self.assertEqual(sorted(minted)[-1] + 1, len(minted))
            self.assertLessEqual(self.server.fetched, len(minted) + 6)  # no two requests at once
            self.assertEqual(self.server.connections, 1)
            with self.assertRaises(Closed):
                await ids.next()
            return place > 0

        for has_async in (False, True):
            with mock.patch("flakeid._prefetch.has_async", lambda: has_async):
                for place in range(1, 10_000):
                    if asyncio.run(asyncio.wait_for(run(place), 100)):
                        self.assertGreater(place, 100)
                        break


class Fetching(WithServer):
    def test_threads_share_it(self):
        minted = [[] for _ in range(4)]
        with Prefetch(shard=5, batch=3) as ids:
            threads = [
                threading.Thread(target=lambda mine=mine: mine.extend(ids.next() for _ in range(2000))) for mine in minted
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            all_ids = list(itertools.chain(*minted)) + self.left(ids)
        self.assertEqual(sorted(all_ids), list(range(self.server.fetched)))
        for mine in minted:
            self.assertEqual(mine, sorted(mine))

    def test_failures(self):
        """Each call that has no id tells; where there are ids, requests are a second apart."""
        with Prefetch(shard=5, batch=4) as ids:
            ids.next()
            self.left(ids)
            self.server.is_away = True
            ids.next()
            self.left(ids)
            failed = self.server.queries
            ids.next()
            self.left(ids)
            self.assertEqual(self.server.queries, failed)
            ids.next()
            for _ in range(2):
                with self.assertRaises(NotConnected):
                    ids.next()
            self.server.is_away = False
            self.assertEqual(ids.next(), 4)

    def test_event_loop_that_ends_while_a_batch_is_fetched(self):
        ended = threading.Event()
        for has_async in (False, True):
            with mock.patch("flakeid._prefetch.has_async", lambda: has_async):
                ids = AsyncPrefetch(shard=5, batch=2)
                self.server.fetched = self.server.queries = 0
                if has_async:
                    self.server.pause = 3600  # from the second batch on
                else:
                    self.server.meanwhile = lambda: self.server.queries and ended.wait(60)
                loop = asyncio.new_event_loop()
                self.assertEqual(loop.run_until_complete(ids.next()), 0)
                request = ids._request
                self.assertFalse(request.done())
                request._log_destroy_pending = False
                loop.close()
                ended.set()
                self.server.pause = 0
                self.assertEqual([asyncio.run(ids.next()) for _ in range(6)], [1, 2, 3, 4, 5, 6])
                asyncio.run(ids.close())

    def test_one_that_nobody_has_any_more(self):
        ids = Prefetch(shard=5, batch=4)
        ids.next()
        thread = ids._worker._thread
        self.left(ids)
        del ids
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_end_of_the_process(self):
        """Closes the connection."""
        code = """if True:
            import flakeid
            from test_prefetch import AsyncPrefetch, Prefetch, Server
            for patch in Server().patches():
                patch.start()
            ids = Prefetch(shard=5)
            others = AsyncPrefetch(shard=5)
            print(ids.next())
            close = flakeid._runner.Runner.close
            flakeid._runner.Runner.close = lambda runner: (print('closed', flush=True), close(runner))
        """
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=os.path.dirname(__file__)
        )
        self.assertEqual((run.stdout, run.stderr), ("0\nclosed\nclosed\n", ""))

    def test_handler_after_the_end_of_the_process(self):
        """One that was registered before the first Prefetch is called after the thread's end: it gets
        what is left, and then an error."""
        code = """if True:
            import asyncio, atexit, faulthandler
            from test_prefetch import AsyncPrefetch, Closed, Prefetch, Server
            faulthandler.dump_traceback_later(20, exit=True)
            for patch in Server().patches():
                patch.start()

            @atexit.register
            def last():
                print(ids.next_n(3))
                for _ in range(2):
                    try:
                        ids.next()
                    except Closed as error:
                        print(error.message)
                try:
                    asyncio.run(others.next())
                except Closed as error:
                    print(error.message)
                print(ids._worker._requests.qsize())

            ids = Prefetch(shard=5, batch=4)
            others = AsyncPrefetch(shard=5, batch=4)
            print(ids.next())
        """
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=os.path.dirname(__file__)
        )
        ended = "no id is left, and its thread has ended\n"
        self.assertEqual((run.stdout, run.stderr), ("0\n[1, 2, 3]\n" + 3 * ended + "0\n", ""))

    def test_finalizer_of_a_cycle(self):
        """The thread is told to end before it is called: it gets what is left, and then an error."""
        got = []

        class Writer:
            def __init__(self):
                self.ids = Prefetch(shard=5, batch=4)
                self.me = self

            def __del__(self):
                try:
                    while True:
                        got.append(self.ids.next())
                except Closed as error:
                    got.append(error.message)

        writer = Writer()
        self.assertEqual(writer.ids.next(), 0)
        faulthandler.dump_traceback_later(20, exit=True)
        del writer
        gc.collect()
        self.assertEqual(got, [1, 2, 3, "no id is left, and its thread has ended"])

    def test_thread_that_has_died(self):
        with mock.patch("flakeid._runner.Worker._waiting", side_effect=MemoryError), mock.patch("threading.excepthook"):
            ids = Prefetch(shard=5, batch=4)
            faulthandler.dump_traceback_later(20, exit=True)
            with self.assertRaises(NotConnected):
                ids.next(timeout=0.1)
            ids._worker._thread.join(60)
        self.assertEqual(ids.next_n(4), [0, 1, 2, 3])
        with self.assertRaises(Closed):
            ids.next()

    def test_no_answer(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.server.meanwhile = lambda: go_on.wait(60)
        ids = Prefetch(shard=5, batch=4)
        began = time.monotonic()
        with self.assertRaisesRegex(NotConnected, "has not answered within 0.1 s"):
            ids.next(timeout=0.1)
        with mock.patch("flakeid._prefetch.CLOSE_WITHIN", 0.1):
            ids.close()
        self.assertLess(time.monotonic() - began, 60)


if __name__ == "__main__":
    unittest.main()
