"""Minter, AsyncMinter and Prefetch with a server, which libpq's environment names (PGHOST and so on),
as a superuser who may create databases and roles there."""

import asyncio
import atexit
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

if os.environ.get("FLAKEID_DRIVER") == "psycopg2":
    sys.modules["psycopg"] = None

import flakeid  # noqa: E402
from flakeid import AsyncMinter, AsyncPrefetch, Layout, Minter, Prefetch  # noqa: E402
from flakeid._driver import Connection, connection_parameters  # noqa: E402

LAYOUT = Layout.parse()
DATABASE = f"client_python_{os.getpid()}"


def wait_until(condition, what, seconds=60):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, what
        time.sleep(0.02)


def worker(queue, n):
    """What a worker of a server that forks does: the parent's minter is not its own."""
    try:
        parents.next()
    except flakeid.Forked:
        with Minter(owner=f"worker {n}") as ids:
            queue.put((os.getpid(), [ids.next() for _ in range(100)]))


def leave_open(owner):
    """Ends without close()."""
    globals()["left_open"] = Minter(owner=owner)
    left_open.next()  # noqa: F821


parents = None


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["PGDATABASE"] = "postgres"
        with_postgres = Connection(connection_parameters("application_name=test"))
        with_postgres.query(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", ())
        with_postgres.query(f"CREATE DATABASE {DATABASE}", ())
        with_postgres.query(f"DROP ROLE IF EXISTS {DATABASE}_nobody", ())
        with_postgres.query(f"CREATE ROLE {DATABASE}_nobody LOGIN", ())
        with_postgres.close()
        os.environ["PGDATABASE"] = DATABASE
        cls.connection = Connection(connection_parameters("application_name=test"))
        cls.addClassCleanup(cls.connection.close)
        # Not in public, and in a schema that has to be quoted: nothing may rest on search_path.
        cls.sql('CREATE SCHEMA "a %{s}"')
        cls.sql('CREATE EXTENSION flakeid SCHEMA "a %{s}"')
        cls.sql(
            'CREATE FUNCTION public.create_generator(text, text) RETURNS text LANGUAGE sql '
            'AS $$ SELECT "a %{s}".flake_create_generator($1, $2::"a %{s}".flake_layout) $$'
        )

    @classmethod
    def sql(cls, sql):
        rows = cls.connection.query(sql, ())
        return rows[0][0] if rows else None

    def generator(self, name, layout):
        self.sql(f"SELECT public.create_generator('public.{name}', '{layout}')")
        return name

    def held(self, owner):
        """How many leases there are whose owner's name begins so, which are not over."""
        return self.sql(
            f"""SELECT count(*) FROM "a %{{s}}".flake_leases
            WHERE owner LIKE '{owner}%' AND expires_at > pg_catalog.clock_timestamp()"""
        )

    def cut(self):
        """Ends the connections of minters and prefetches."""
        self.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'flakeid' AND datname = current_database()"
        )

    def owner_of(self, owner):
        return self.sql(f"""SELECT owner FROM "a %{{s}}".flake_leases WHERE owner LIKE '{owner}%'""")

    def expire(self, owner):
        """As if another owner had taken the shard over."""
        self.sql(f"""DELETE FROM "a %{{s}}".flake_leases WHERE owner LIKE '{owner}%'""")


class TestMinter(WithServer):
    @staticmethod
    def mints(ids, error):
        try:
            return ids.next()
        except error:
            return None

    def test_mints_renews_and_gives_back(self):
        events = []
        with Minter(ttl=3, owner="renews", on_event=events.append) as ids:
            self.assertEqual(self.held("renews"), 1)
            self.assertEqual([event.name for event in events], ["leased"])
            minted = ids.next_n(3000) + [int(ids.next_str()), next(ids)]
            wait_until(lambda: len(events) > 2, "renewed twice")
            minted.append(ids.next())
        self.assertEqual(self.held("renews"), 0)
        names = [event.name for event in events]
        self.assertEqual((names[0], set(names[1:-1]), names[-1]), ("leased", {"renewed"}, "released"))
        self.assertGreater(events[1].expires_at_us, events[0].expires_at_us)
        self.assertEqual(minted, sorted(set(minted)))
        self.assertEqual({LAYOUT.shard(id) for id in minted}, {events[0].shard})
        for id in minted:
            self.assertGreaterEqual(LAYOUT.timestamp_us(id), events[0].not_before_us)
            self.assertLess(LAYOUT.timestamp_us(id), events[-1].expires_at_us)
        with self.assertRaises(flakeid.Closed):
            ids.next()
        ids.close()

    def test_ids_ahead_are_not_given_back(self):
        """P8: the server's clock is not past the last id's time, and will not be within a second."""
        name = self.generator("ahead", "ts:41 shard:10 seq:4 epoch=2026-01-01 unit=100ms")
        events = []
        with Minter(generator=name, owner="ahead", on_event=events.append) as ids:
            ids.next_n(16 * 50)
        self.assertEqual(self.held("ahead"), 1)
        self.assertEqual([event.name for event in events], ["leased"])
        with Minter(generator=name, owner="bit ahead", on_event=events.append) as ids:
            ids.next_n(16 * 3)
        self.assertEqual(self.held("bit ahead"), 0)

    def test_threads_share_a_minter(self):
        minted = [[] for _ in range(4)]
        with Minter() as ids:
            def run(mine):
                for _ in range(5000):
                    mine.append(ids.next())
                    if len(mine) % 1000 == 0:
                        mine.extend(ids.next_n(1500))
            threads = [threading.Thread(target=run, args=(mine,)) for mine in minted]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for mine in minted:
            self.assertEqual(mine, sorted(mine))
        self.assertEqual(len({id for mine in minted for id in mine}), sum(map(len, minted)))

    def test_lost_lease(self):
        events = []
        with Minter(ttl=1, owner="lost", on_event=events.append) as ids:
            before = ids.next()
            owner = self.owner_of("lost")
            self.expire("lost")
            wait_until(lambda: len(events) > 2, "leased again")
            self.assertEqual([event.name for event in events[:3]], ["leased", "lost", "leased"])
            self.assertEqual(events[1].error.sqlstate, "42704")
            after = ids.next()
            self.assertNotEqual(LAYOUT.shard(after), LAYOUT.shard(before))
            self.assertGreater(LAYOUT.timestamp_us(after), LAYOUT.timestamp_us(before))
            self.assertNotEqual(self.owner_of("lost"), owner)  # P7

    def test_dropped_generator(self):
        """Nothing is minted of a lease that the server has forgotten."""
        events = []
        generator = self.generator("dropped", "ts:41 shard:3 seq:10 epoch=2026-01-01")
        with Minter(ttl=1, generator=generator, on_event=events.append) as ids:
            ids.next()
            self.sql("DROP SEQUENCE public.dropped")
            wait_until(lambda: any(event.name == "lost" for event in events), "the lease is lost")
            with self.assertRaises(flakeid.LeaseExpired) as raised:
                ids.next(timeout=10)
            self.assertIsInstance(raised.exception.__cause__, flakeid.NoGenerator)

    def test_settings_of_the_session(self):
        with mock.patch.dict(os.environ, PGOPTIONS="-c default_transaction_read_only=on"), Minter() as ids:
            ids.next()

    def test_settings_of_a_connection_made_anew(self):
        """As it renews: P5 rests on synchronous_commit."""
        events = []
        options = "options='-c default_transaction_read_only=on -c synchronous_commit=off'"
        with Minter(options, ttl=3, owner="anew", on_event=events.append) as ids:
            ids.next()
            self.cut()
            wait_until(lambda: len(events) > 1, "renewed")
            self.assertEqual([event.name for event in events[:2]], ["leased", "renewed"])

    def test_extension_is_dropped(self):
        """Nothing is minted of a lease from when that is known."""
        name = f"{DATABASE}_dropped"
        self.sql(f"CREATE DATABASE {name}")
        other = Connection(connection_parameters(f"dbname={name} application_name=test"))
        other.query("CREATE EXTENSION flakeid", ())
        events = []
        with Minter(f"dbname={name}", ttl=4, first_ttl=4, on_event=events.append) as ids:
            ids.next()
            other.query("DROP EXTENSION flakeid CASCADE", ())
            wait_until(lambda: any(event.name == "lost" for event in events), "the lease is lost")
            lost = next(event for event in events if event.name == "lost")
            self.assertIsInstance(lost.error, flakeid.NotInstalled)
            with self.assertRaises(flakeid.LeaseExpired):
                ids.next(timeout=0)
        other.close()
        self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def test_used_up(self):
        """A lease whose ids are used up to its end is renewed before its time."""
        name = self.generator("used_up", "ts:41 shard:10 seq:1 epoch=2026-01-01 unit=100ms")
        events = []
        with Minter(generator=name, first_ttl=30, max_ahead=60, on_event=events.append) as ids:
            started = time.monotonic()
            with self.assertRaises(flakeid.LeaseExpired):
                while True:
                    ids.next(timeout=0)
            ids.next(timeout=float("inf"))
            self.assertEqual([event.name for event in events], ["leased", "renewed"])
            self.assertLess(time.monotonic(), started + 10)  # a third of the lease

    def test_server_that_does_not_answer(self):
        """The statement fails after some time; here it waits for a lock."""
        events = []
        with mock.patch("flakeid._driver.PATIENCE", 0.3), Minter(ttl=6, on_event=events.append) as ids:
            self.sql("BEGIN")
            self.sql('LOCK TABLE "a %{s}".flake_leases IN ACCESS EXCLUSIVE MODE')
            wait_until(lambda: len(events) > 1, "renewing has failed")
            self.sql("ROLLBACK")
            ids.next()
            wait_until(lambda: events[-1].name == "renewed", "renewed")
        # Connecting anew can take longer than that, too.
        names = [event.name for event in events]
        self.assertEqual(names[:2], ["leased", "renew_failed"])
        self.assertNotIn("lost", names)
        self.assertEqual(names[-1], "released")

    def test_connection_is_cut(self):
        """As by a failover: it is renewed long before a third of the lease is over, but not more
        often than once a second."""
        events = []
        with Minter(ttl=300, first_ttl=300, owner="cut", on_event=events.append) as ids:
            started = time.monotonic()
            while time.monotonic() < started + 2.5:
                self.cut()
                time.sleep(0.05)
            ids.next()
        seconds = time.monotonic() - started
        names = [event.name for event in events]
        # The renewal can be cut off, too.
        renewals = names.count("renewed") + names.count("renew_failed")
        self.assertGreaterEqual(renewals, 1, names)
        self.assertLessEqual(renewals, seconds + 1, names)
        self.assertNotIn("lost", names)

    def test_new_lease_that_fails(self):
        """Attempts to lease anew are told, too; those for the first lease are not."""
        events = []
        self.sql("BEGIN")
        self.sql('LOCK TABLE "a %{s}".flake_leases IN ACCESS EXCLUSIVE MODE')
        with mock.patch("flakeid._driver.PATIENCE", 0.2), Minter(ttl=1, on_event=events.append) as ids:
            self.assertEqual(events, [])
            self.sql("ROLLBACK")
            wait_until(lambda: events, "leased")
            self.sql("BEGIN")
            self.sql('LOCK TABLE "a %{s}".flake_leases IN ACCESS EXCLUSIVE MODE')
            wait_until(lambda: "lost renew_failed" in " ".join(event.name for event in events), "a new lease fails")
            self.sql("ROLLBACK")
        self.assertEqual(events[0].name, "leased")

    def test_generator_made_anew(self):
        """P2 is about ids of one layout."""
        events = []
        name = self.generator("anew", "ts:41 shard:3 seq:10 epoch=2026-01-01")
        with Minter(ttl=1, generator=name, on_event=events.append) as ids:
            ids.next()
            self.sql("DROP SEQUENCE public.anew")
            self.generator("anew", "ts:41 shard:5 seq:8 epoch=2026-01-01")
            # It can be looked for before it is there again.
            wait_until(
                lambda: any(isinstance(event.error, flakeid.UnsupportedLayout) for event in events),
                "a new lease is refused",
            )
            self.assertEqual(events[-1].name, "renew_failed")
            with self.assertRaisesRegex(flakeid.LeaseExpired, "another layout"):
                ids.next()
            self.assertEqual(self.sql("SELECT count(*) FROM \"a %{s}\".flake_leases WHERE generator = 'public.anew'::regclass"), 0)

    def test_generator_by_oid(self):
        oid = self.sql("SELECT '\"a %{s}\".flake_default'::regclass::oid")
        with Minter(generator=str(oid)) as ids, Prefetch(generator=str(oid), shard=5) as fetched:
            ids.next()
            fetched.next()

    def test_leaves_nothing_behind(self):
        """No thread, no file descriptor, no callback."""
        def count():
            gc.collect()
            return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0, threading.active_count()

        def count_when_steady():
            """What earlier tests have left goes first."""
            last = None
            while (counted := count()) != last:
                last = counted
                time.sleep(0.5)
            return counted

        with Minter() as ids:
            ids.next()
        before = count_when_steady(), atexit._ncallbacks()
        for _ in range(3):
            with Minter() as ids, Prefetch(shard=5) as fetched:
                ids.next()
                fetched.next()
        with self.assertRaises(flakeid.NoGenerator):
            Minter(generator="nobody")
        wait_until(lambda: (count(), atexit._ncallbacks()) == before, "nothing is left")

    def test_errors_at_once(self):
        self.generator("no_time", "seq:50 shard:5")
        self.generator("no_shards", "ts:41 seq:10 epoch=2026-01-01")
        self.generator("uuids", "uuidv7")
        for error, options in (
            (flakeid.NoGenerator, {"generator": "nobody"}),
            (flakeid.NoGenerator, {"generator": "no.schema"}),
            (flakeid.NoGenerator, {"generator": '"'}),
            (flakeid.NoGenerator, {"generator": "pg_catalog.pg_class"}),
            (flakeid.UnsupportedLayout, {"generator": "no_time"}),
            (flakeid.UnsupportedLayout, {"generator": "no_shards"}),
            (flakeid.UnsupportedLayout, {"generator": "uuids"}),
            (flakeid.UnsupportedLayout, {"generator": '"a %{s}".flake_default_uuid'}),
            (flakeid.NotPermitted, {"dsn": f"user={DATABASE}_nobody"}),
            (flakeid.NotInstalled, {"dsn": "dbname=template1"}),
            (flakeid.NoGenerator, {"generator": "a.b.c.d"}),
            (flakeid.NoGenerator, {"generator": "elsewhere.public.g"}),
            (flakeid.InvalidArgument, {"generator": "\ud800"}),
            (flakeid.InvalidArgument, {"owner": "\ud800"}),
            (flakeid.InvalidArgument, {"dsn": "nonsense"}),
            (flakeid.InvalidArgument, {"dsn": 5}),
            (flakeid.InvalidArgument, {"generator": ""}),
            (flakeid.InvalidArgument, {"generator": "a\0"}),
            (flakeid.InvalidArgument, {"ttl": 0.5}),
            (flakeid.InvalidArgument, {"ttl": "5"}),
            (flakeid.InvalidArgument, {"first_ttl": 86401}),
            (flakeid.InvalidArgument, {"max_ahead": -1}),
            (flakeid.InvalidArgument, {"owner": "x" * 239}),
            (flakeid.InvalidArgument, {"on_event": 5}),
        ):
            with self.subTest(options), self.assertRaises(error) as raised:
                Minter(**options)
            self.assertTrue(raised.exception.hint or raised.exception.detail)

    def test_errors_that_pass(self):
        """next() raises them, and mints when they have passed."""
        for dsn in ("host=/nowhere", "dbname=client_python_later"):
            with self.subTest(dsn), Minter(dsn) as ids:
                with self.assertRaises(flakeid.NotConnected):
                    ids.next()
        self.sql(f"ALTER DATABASE {DATABASE} SET lock_timeout TO '10ms'")
        self.sql("BEGIN")
        self.sql('LOCK TABLE "a %{s}".flake_leases IN ACCESS EXCLUSIVE MODE')
        with Minter() as ids:
            with self.assertRaises(flakeid.ServerError) as raised:
                ids.next()
            self.assertEqual(raised.exception.sqlstate, "55P03")
            self.sql("ROLLBACK")
            self.sql(f"ALTER DATABASE {DATABASE} RESET lock_timeout")
            wait_until(lambda: self.mints(ids, flakeid.ServerError), "it has passed")

    def test_no_shard_left(self):
        name = self.generator("few", "ts:41 shard:1 seq:10 epoch=2026-01-01")
        with Minter(generator=name), Minter(generator=name), Minter(generator=name) as third:
            with self.assertRaisesRegex(flakeid.NoShardLeft, "DETAIL:.*taken over"):
                third.next()

    def test_isolation_and_search_path_of_others(self):
        """What a role or database sets, or a schema of others has, does not matter."""
        self.sql("CREATE SCHEMA evil")
        for function in (
            "evil.f(numeric, int) RETURNS numeric", "evil.g(name, name) RETURNS boolean",
        ):  # fmt: skip
            self.sql(f"CREATE FUNCTION {function} LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil'; END $$")
        self.sql("CREATE OPERATOR evil.* (LEFTARG = numeric, RIGHTARG = int, FUNCTION = evil.f)")
        self.sql("CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.g)")
        options = "options='-csearch_path=evil,pg_catalog,public -cdefault_transaction_isolation=serializable'"
        with Minter(options) as ids, Prefetch(options, shard=5) as fetched:
            ids.next()
            fetched.next()

    def test_too_far_ahead(self):
        name = self.generator("slow", "ts:41 shard:10 seq:1 epoch=2026-01-01 unit=100ms")
        with Minter(generator=name, max_ahead=0.3) as ids:
            ids.next_n(6)
            layout = Layout.parse("ts:41 shard:10 seq:1 epoch=2026-01-01 unit=100ms")
            for _ in range(3):
                id = ids.next()  # waits, where it has to
                self.assertLessEqual(layout.timestamp_us(id), time.time_ns() // 1000 + 300_000)
            with self.assertRaises(flakeid.TooFarAhead):
                for _ in range(100):
                    ids.next(timeout=0)
            with self.assertRaises(flakeid.InvalidArgument):
                ids.next_n(100)
        for n in (0, -1, 1_000_001, "1", True):
            with self.assertRaises(flakeid.InvalidArgument):
                ids.next_n(n)

    def test_on_event_that_fails(self):
        def fail(event):
            raise error
        for error in (RuntimeError("told"), SystemExit(1)):
            with self.assertLogs("flakeid", "ERROR"), Minter(on_event=fail) as ids:
                ids.next()
                self.assertTrue(ids._thread.is_alive())


    def test_signal_handlers(self):
        """One that closes the minter in the midst of it does not wait for itself."""
        code = """if True:
            import flakeid, signal
            ids = flakeid.Minter(owner='by signal')
            signal.signal(signal.SIGALRM, lambda *_: ids.close())
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            try:
                while True:
                    ids.next()
            except flakeid.Closed:
                print('closed')
        """
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd="/")
        self.assertEqual((run.stdout, run.stderr), ("closed\n", ""))

    def test_signal_handler_in_the_midst(self):
        """It does not wait for the thread that waits for what it has interrupted; the process's end does."""
        code = """if True:
            import flakeid, signal, sys, time
            ids = flakeid.Minter(owner='in the midst')
            ids.next()
            def close(*_):
                began = time.monotonic()
                ids.close()
                print(time.monotonic() - began < 10)
                sys.exit()
            signal.signal(signal.SIGTERM, close)
            with ids._lock:
                signal.raise_signal(signal.SIGTERM)
        """
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd="/")
        self.assertEqual((run.stdout, run.stderr), ("True\n", ""))
        self.assertEqual(self.held("in the midst"), 0)


class TestProcesses(WithServer):
    def test_forked_workers(self):
        """As servers that load the application and then fork: each worker has a minter of its own."""
        global parents
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        with Minter(owner="parent") as parents:
            before = parents.next_n(100)
            workers = [context.Process(target=worker, args=(queue, n)) for n in range(3)]
            for process in workers:
                process.start()
            got = dict(queue.get(timeout=60) for _ in workers)
            for process in workers:
                process.join()
                self.assertEqual(process.exitcode, 0)
            after = parents.next_n(100)
        ids = before + after + [id for minted in got.values() for id in minted]
        self.assertEqual(len(set(ids)), 500)
        self.assertEqual(len({LAYOUT.shard(id) for id in ids}), 4)
        self.assertEqual(self.held("worker"), 0)

    def test_children_cannot_use_what_is_the_parents(self):
        unopened = AsyncMinter()
        with Minter() as ids, Prefetch(shard=5) as fetched:
            ids.next()
            fetched.next()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    later = lambda: asyncio.run(unopened.open())  # noqa: E731
                    for call in (ids.next, ids.close, fetched.next, fetched.close, lambda: ids.next_n(2), later):
                        try:
                            call()
                            status = 2
                            break
                        except flakeid.Forked:
                            status = 0
                    gc.collect()
                finally:
                    os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            ids.next()
            fetched.next_n(200)

    def test_end_of_the_process_gives_back(self):
        for code in (
            "import flakeid; ids = flakeid.Minter(owner='at exit'); ids.next()",
            "import asyncio, flakeid\n"
            "async def run():\n"
            "    ids = await flakeid.AsyncMinter(owner='at exit').open()\n"
            "    await ids.next()\n"
            "    return ids\n"
            "ids = asyncio.run(run())",
        ):
            run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd="/")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(self.held("at exit"), 0)
        self.assertEqual(self.sql("""SELECT count(*) FROM "a %{s}".flake_leases WHERE owner LIKE 'at exit%'"""), 2)
        process = multiprocessing.get_context("fork").Process(target=leave_open, args=("of multiprocessing",))
        process.start()
        process.join()
        self.assertEqual(self.held("of multiprocessing"), 0)


class TestPrefetch(WithServer):
    def test_fetches_ahead(self):
        with Prefetch(shard=7, batch=10) as ids:
            minted = [ids.next() for _ in range(100)] + ids.next_n(30) + [int(ids.next_str()), next(ids)]
        self.assertEqual({LAYOUT.shard(id) for id in minted}, {7})
        self.assertEqual(minted, sorted(set(minted)))
        with self.assertRaises(flakeid.Closed):
            ids.next()

    def test_expires(self):
        with Prefetch(shard=8, batch=50, expires=0.3) as ids:
            first = ids.next()
            time.sleep(0.4)
            self.assertGreater(ids.next(), first + 40)

    def test_one_request_at_a_time_when_half_is_used(self):
        with Prefetch(shard=9, batch=10) as ids:
            first = ids.next_n(4)[0]
            wait_until(lambda: not ids._is_asked, "no request")
            self.assertEqual(len(ids._ids), 6)
            ids.next()
            wait_until(lambda: len(ids._ids) > 5, "another request")
            self.assertEqual(len(ids._ids), 5 + 10)
            self.assertEqual(ids.next_n(5)[-1], first + 9)

    def test_goes_on_after_a_cut(self):
        with Prefetch(shard=10, batch=1) as ids:
            ids.next()
            wait_until(lambda: ids._ids, "another request")
            self.cut()
            for _ in range(3):
                ids.next()

    def test_closed_meanwhile(self):
        ids = Prefetch(shard=10)
        check = ids._check

        def check_and_close():
            ids._check = check
            check()
            ids.close()

        ids._check = check_and_close
        with self.assertRaises(flakeid.Closed):
            ids.next()

    def test_errors(self):
        for error, options in (
            (flakeid.NotConnected, {"dsn": "host=/nowhere"}),
            (flakeid.NotInstalled, {"dsn": "dbname=template1"}),
            (flakeid.NotPermitted, {"dsn": f"user={DATABASE}_nobody"}),
            (flakeid.NoGenerator, {"generator": "nobody"}),
            (flakeid.ServerError, {"shard": 8192}),
            (flakeid.ServerError, {"batch": 1_000_000, "generator": self.generator("dear", "ts:41 shard:5 seq:5 epoch=2026-01-01")}),
        ):  # fmt: skip
            with self.subTest(options), Prefetch(**{"shard": 5, **options}) as ids:
                for _ in range(2):
                    with self.assertRaises(error):
                        ids.next()
        emit = "EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text)"
        self.sql(f"REVOKE {emit} FROM PUBLIC")
        self.sql(f'GRANT USAGE ON SCHEMA "a %{{s}}" TO {DATABASE}_nobody')
        try:
            with Prefetch(f"user={DATABASE}_nobody", shard=5) as ids:
                with self.assertRaisesRegex(flakeid.NotPermitted, r"pg_logical_emit_message\nHINT:.*emit_message\(boolean, text"):
                    ids.next()
        finally:
            self.sql(f'REVOKE USAGE ON SCHEMA "a %{{s}}" FROM {DATABASE}_nobody')
            self.sql(f"GRANT {emit} TO PUBLIC")
        for options in ({"shard": -1}, {"batch": 0}, {"batch": 1_000_001}, {"expires": 0}, {"dsn": "x"}):
            with self.subTest(options), self.assertRaises(flakeid.InvalidArgument):
                Prefetch(**{"shard": 5, **options})


class TestAsync(WithServer):
    def test_minter(self):
        async def run():
            events = []
            async with AsyncMinter(ttl=1, owner="async", on_event=events.append) as ids:
                minted = [await ids.next()] + await ids.next_n(100) + [int(await ids.next_str())]
                async for id in ids:
                    minted.append(id)
                    if len(minted) == 200:
                        break
                while len(events) < 2:
                    await asyncio.sleep(0.05)
            with self.assertRaises(flakeid.Closed):
                await ids.next()
            return minted, [event.name for event in events]

        minted, names = asyncio.run(run())
        self.assertEqual(minted, sorted(set(minted)))
        self.assertEqual((names[0], names[1], names[-1]), ("leased", "renewed", "released"))
        self.assertEqual(self.held("async"), 0)

    def test_canceled_while_it_opens(self):
        """Nobody has it, and so it keeps no lease and no connection."""
        watching = Connection(connection_parameters("application_name=test"))
        self.addCleanup(watching.close)

        def count(where):
            return watching.query(f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'flakeid' AND datname = current_database() {where}", ())[0][0]

        async def open_and_close():
            async with AsyncMinter(owner="canceled"):
                pass

        async def run():
            opening = asyncio.ensure_future(open_and_close())
            while not count("AND wait_event_type = 'Lock'"):
                await asyncio.sleep(0.05)
            opening.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await opening
            self.sql("ROLLBACK")
            while count(""):
                await asyncio.sleep(0.05)

        self.sql("BEGIN")
        self.sql('LOCK TABLE "a %{s}".flake_leases IN ACCESS EXCLUSIVE MODE')
        asyncio.run(asyncio.wait_for(run(), 60))
        self.assertEqual(self.held("canceled"), 0)

    def test_connection_is_cut(self):
        async def run():
            events = []
            async with AsyncMinter(ttl=300, first_ttl=300, on_event=events.append) as ids:
                self.cut()
                while len(events) < 2:
                    await asyncio.sleep(0.02)
                await ids.next()
            self.assertEqual([event.name for event in events], ["leased", "renewed", "released"])

        asyncio.run(asyncio.wait_for(run(), 60))

    def test_close_that_is_canceled(self):
        async def run():
            ids = await AsyncMinter(owner="close canceled").open()
            self.sql("BEGIN")
            self.sql('LOCK TABLE "a %{s}".flake_leases IN ACCESS EXCLUSIVE MODE')
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(ids.close(), 0.2)
            self.sql("ROLLBACK")
            await ids.close()
            self.assertEqual(self.held("close canceled"), 0)

            # As by who cancels all tasks
            async with AsyncMinter(owner="all canceled") as ids:
                for task in asyncio.all_tasks() - {asyncio.current_task()}:
                    task.cancel()
                await asyncio.sleep(0.1)
            self.assertEqual(self.held("all canceled"), 0)

        asyncio.run(run())

    def test_server_that_does_not_answer(self):
        async def run():
            events = []
            async with AsyncMinter(ttl=1.5, on_event=events.append) as ids:
                self.sql("BEGIN")
                self.sql('LOCK TABLE "a %{s}".flake_leases IN ACCESS EXCLUSIVE MODE')
                while len(events) < 2:
                    await asyncio.sleep(0.02)
                self.sql("ROLLBACK")
                self.assertEqual(events[1].name, "renew_failed")
                await ids.next(timeout=20)

        with mock.patch("flakeid._driver.PATIENCE", 0.3):
            asyncio.run(run())

    def test_a_loop_that_is_held_up(self):
        async def run():
            events = []
            async with AsyncMinter(ttl=1, first_ttl=1, on_event=events.append) as ids:
                await ids.next()
                time.sleep(1.3)
                id = await ids.next(timeout=10)
                lease = [event for event in events if event.name == "leased"][-1]
                self.assertEqual(LAYOUT.shard(id), lease.shard)

        asyncio.run(run())

    def test_errors(self):
        async def run():
            with self.assertRaises(flakeid.NoGenerator):
                async with AsyncMinter(generator="nobody"):
                    pass
            async with AsyncMinter("host=/nowhere") as ids:
                with self.assertRaises(flakeid.NotConnected):
                    await ids.next()
            with self.assertRaisesRegex(flakeid.NotConnected, "open"):
                await AsyncMinter().next()
            async with AsyncPrefetch(shard=5, generator="nobody") as fetched:
                with self.assertRaises(flakeid.NoGenerator):
                    await fetched.next()

        asyncio.run(run())

    def test_prefetch(self):
        async def run():
            async with AsyncPrefetch(shard=11, batch=10) as ids:
                minted = await ids.next_n(35) + [await ids.next(), int(await ids.next_str())]
                async for id in ids:
                    minted.append(id)
                    break
            return minted

        minted = asyncio.run(run())
        self.assertEqual(minted, sorted(set(minted)))
        self.assertEqual({LAYOUT.shard(id) for id in minted}, {11})

    def test_another_event_loop(self):
        """When that in which it was opened has ended: to the end of the lease, and it can be closed."""

        def in_loop(coroutine):
            loop = asyncio.new_event_loop()
            try:
                return loop.run_until_complete(coroutine)
            finally:
                loop.close()

        for run in (asyncio.run, in_loop):  # it cancels the task, or does not
            ids = AsyncMinter(owner="another loop")
            run(ids.open())
            ids._task._log_destroy_pending = False
            run(ids.next())
            self.assertEqual(self.held("another loop"), 1)
            if ids._thread is None:
                deadline, ids._deadline = ids._deadline, 0
                with self.assertRaisesRegex(flakeid.LeaseExpired, "event loop"):
                    run(ids.next(timeout=60))
                ids._deadline = deadline
            run(ids.close())
            self.assertEqual(self.held("another loop"), 0)


if __name__ == "__main__":
    unittest.main()
