"""The rules of minting, without a server: leases are made up, and both clocks are the test's."""

import copy
import os
import pickle
import random
import signal
import sys
import unittest
from unittest import mock

from flakeid import (
    Closed,
    Forked,
    InvalidArgument,
    Layout,
    LeaseExpired,
    LifetimeOver,
    NotConnected,
    NotYet,
    TooFarAhead,
)
from flakeid import _core, _process
from flakeid._core import Minting
from flakeid._driver import DatabaseFailed
from flakeid._keeper import error_of

SECOND = 1_000_000
START = 1_800_000_000 * SECOND  # microseconds since 1970, the start of a tick of all layouts below


class Clocks(unittest.TestCase):
    """Two clocks that stand still unless they are set."""

    def setUp(self):
        self.wall_us = START
        self.boot_us = 0
        for name, clock in (
            ("wall_ns", lambda: self.wall_us * 1000),
            ("boottime_ns", lambda: self.boot_us * 1000),
        ):
            patch = mock.patch(f"flakeid._core.{name}", clock)
            patch.start()
            self.addCleanup(patch.stop)

    def minting(self, layout, shard=5, lasts_us=60 * SECOND, ahead_us=15 * SECOND, not_before_us=START):
        minting = Minting(ahead_us)
        self.lease(minting, layout, shard, lasts_us, not_before_us)
        return minting

    def lease(self, minting, layout, shard, lasts_us, not_before_us):
        minting._install(
            Layout.parse(layout), shard, not_before_us, not_before_us + lasts_us,
            (self.boot_us + lasts_us) * 1000,
        )  # fmt: skip

    def next(self, minting):
        id = minting._take()
        return minting._claim(1)[0] if id is None else id


# Few ids per tick, so that ticks end; the sequence below the shard, and above it; all 64 bits
LAYOUTS = (
    "ts:41 shard:13 seq:2 epoch=2026-01-01 unit=10ms start={}",
    "ts:41 seq:2 shard:13 epoch=2026-01-01 unit=10ms start={}",
    "ts:41 a:7 seq:2 b:14 epoch=2096-01-01 unit=10ms start={}",
)


class Rules(Clocks):
    def test_ids_ascend_whatever_the_clock_does(self):
        """P1, P2, P4: against a second way to compute them."""
        randomness = random.Random(1)
        for text in LAYOUTS:
            for start in ("continue", "zero", "random", "random:2"):
                layout = Layout.parse(text.format(start))
                minting = self.minting(str(layout), shard=5)
                last = -1
                ids = set()
                for _ in range(3000):
                    if randomness.random() < 0.3:
                        self.wall_us = START + randomness.randrange(40 * SECOND)
                    n = randomness.choice((1, 1, 1, 1, 2, 7))
                    try:
                        new = [self.next(minting)] if n == 1 else minting._claim(n)
                    except TooFarAhead:
                        self.assertGreater(last >> 2, (self.wall_us - START) // 10_000 + 1500 - 3)
                        continue
                    for id in new:
                        time, shard, sequence = layout.decode(id)
                        packed = (time - START) // 10_000 << 2 | sequence
                        self.assertEqual(shard, 5)
                        self.assertGreater(packed, last)
                        if packed > last + 1:
                            self.assertEqual(time, self.wall_us // 10_000 * 10_000)
                            if start == "continue":
                                self.assertEqual(sequence, 0 if n == 7 else (last + 1) & 3 if n == 1 else sequence)
                            elif start == "zero":
                                self.assertEqual(sequence, 0)
                            elif start == "random:2" and n == 1:
                                self.assertLess(sequence, 2)
                        self.assertLessEqual(time, max(self.wall_us, self.wall_us + 15 * SECOND))
                        last = packed
                        ids.add(id)
                    self.assertEqual(len(new), n)
                self.assertGreater(len(ids), 1000)

    def test_random_start_uses_all_numbers(self):
        minting = self.minting("ts:41 shard:13 seq:2 epoch=2026-01-01 start=random")
        seen = set()
        for _ in range(200):
            self.wall_us += 1000
            seen.add(self.next(minting) & 3)
        self.assertEqual(seen, {0, 1, 2, 3})

    def test_ends_with_the_lease(self):
        """P1: not in the tick of expires_at if that is its start, but in the last one before."""
        minting = self.minting(LAYOUTS[0].format("zero"), lasts_us=20_000, ahead_us=15 * SECOND)
        layout = minting._layout
        ids = [self.next(minting) for _ in range(8)]
        self.assertEqual([layout.timestamp_us(id) - START for id in ids], [0] * 4 + [10_000] * 4)
        with self.assertRaises(LeaseExpired):
            self.next(minting)
        minting._extend(START + 25_000, 25_000_000)
        self.assertEqual(layout.timestamp_us(self.next(minting)) - START, 20_000)
        for _ in range(3):
            self.next(minting)
        with self.assertRaises(LeaseExpired):
            self.next(minting)

    def test_ends_with_the_deadline(self):
        """P6: also when the wall clock stands still, in the midst of a tick."""
        minting = self.minting("ts:41 shard:13 seq:10 epoch=2026-01-01")
        self.next(minting)
        self.boot_us = 60 * SECOND - 1
        self.next(minting)
        self.boot_us = 60 * SECOND
        with self.assertRaises(LeaseExpired):
            self.next(minting)

    def test_ends_earlier(self):
        """P5: the latest answer counts, also within the tick of the last id."""
        minting = self.minting("ts:31 shard:13 seq:10 epoch=2026-01-01 unit=1s", ahead_us=60 * SECOND)
        ids = minting._claim(20 * 1024 + 1)
        minting._extend(START + 10 * SECOND, (self.boot_us + 10 * SECOND) * 1000)
        with self.assertRaises(LeaseExpired):
            self.next(minting)
        self.wall_us += 10 * SECOND
        minting._extend(START + 30 * SECOND, (self.boot_us + 30 * SECOND) * 1000)
        self.assertGreater(self.next(minting), ids[-1])

    def test_next_lease_has_later_ticks(self):
        """P2: the clock goes back to the start, and another shard is leased."""
        minting = self.minting(LAYOUTS[0].format("zero"))
        self.wall_us = START + 5 * SECOND
        before = self.next(minting)
        self.wall_us = START
        self.lease(minting, LAYOUTS[0].format("zero"), 6, 60 * SECOND, START)
        after = self.next(minting)
        layout = minting._layout
        self.assertEqual(layout.timestamp_us(after), layout.timestamp_us(before) + 10_000)
        self.assertEqual(layout.shard(after), 6)

    def test_not_yet(self):
        minting = self.minting(LAYOUTS[0].format("zero"))
        self.wall_us = START - 15 * SECOND - 1
        with self.assertRaises(NotYet) as raised:
            self.next(minting)
        self.assertAlmostEqual(raised.exception.retry_after, 1e-6)
        self.wall_us += 1
        self.assertEqual(minting._layout.timestamp_us(self.next(minting)), START)

    def test_not_before_inside_of_a_tick(self):
        """P1: the first tick is the one that begins then, or the next."""
        minting = self.minting(LAYOUTS[0].format("zero"), not_before_us=START + 1)
        self.assertEqual(minting._layout.timestamp_us(self.next(minting)), START + 10_000)

    def test_too_far_ahead(self):
        """P4, and no less: the tick that is max_ahead ahead can be minted."""
        minting = self.minting(LAYOUTS[0].format("zero"), ahead_us=25_000)
        self.assertEqual(minting._layout.timestamp_us(minting._claim(12)[-1]), START + 20_000)
        with self.assertRaises(TooFarAhead) as raised:
            self.next(minting)
        self.assertAlmostEqual(raised.exception.retry_after, 0.01)
        self.wall_us += 10_000
        self.next(minting)
        self.wall_us -= 20_000
        with self.assertRaises(TooFarAhead):
            self.next(minting)
        with self.assertRaises(InvalidArgument):
            minting._claim(13)

    def test_no_max_ahead(self):
        minting = self.minting(LAYOUTS[0].format("zero"), ahead_us=0)
        minting._claim(4)
        with self.assertRaises(TooFarAhead):
            self.next(minting)
        self.wall_us += 10_000
        self.next(minting)

    def test_lifetime_over(self):
        layout = Layout.parse("ts:31 shard:5 seq:2 epoch=2026-01-01 unit=1ms")
        end = layout.ends_us
        minting = self.minting(str(layout), not_before_us=end - 2000)
        self.wall_us = end - 1000
        self.assertEqual(layout.timestamp_us(self.next(minting)), end - 1000)
        self.wall_us = end
        with self.assertRaises(LifetimeOver):
            self.next(minting)

    def test_lifetime_over_though_it_is_too_far_ahead(self):
        """Waiting would not help."""
        layout = Layout.parse("ts:31 shard:5 seq:2 epoch=2026-01-01 unit=1ms")
        self.wall_us = layout.ends_us - 2000
        minting = self.minting(str(layout), not_before_us=self.wall_us, ahead_us=1000)
        minting._claim(8)
        with self.assertRaises(LifetimeOver):
            self.next(minting)

    def test_no_lease(self):
        minting = Minting(15 * SECOND)
        with self.assertRaises(NotConnected):
            self.next(minting)
        minting._fail(InvalidArgument("as the last attempt", "it says", "why", "0A000"))
        with self.assertRaisesRegex(InvalidArgument, "as the last attempt\nDETAIL:  it says\nHINT:  why"):
            self.next(minting)
        self.lease(minting, LAYOUTS[0].format("zero"), 5, SECOND, START)
        self.next(minting)
        minting._drop()
        minting._fail(NotConnected("gone"))
        self.wall_us += SECOND
        minting._fail(NotConnected("gone for good"))
        with self.assertRaises(LeaseExpired) as raised:
            self.next(minting)
        self.assertEqual(raised.exception.failing_since, START)
        self.assertIn("gone for good", str(raised.exception))

    def test_closed(self):
        minting = self.minting(LAYOUTS[0].format("zero"))
        self.next(minting)
        minting._stop()
        with self.assertRaises(Closed):
            self.next(minting)

    def test_no_copies(self):
        """P3: a copy in this process would mint the same ids."""
        minting = self.minting(LAYOUTS[0].format("zero"))
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "neither copied nor pickled"):
                make(minting)

    def test_farewells_of_the_server(self):
        for state in ("57P01", "57P05", "08006", None):
            self.assertIsInstance(error_of(DatabaseFailed("gone", state)), NotConnected)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork()")
    def test_forked(self):
        """P3: in the midst of a tick, while another thread may hold the lock; and by a fork() that
        Python does not see."""
        for births in (_process._births, set()):
            minting = self.minting("ts:41 shard:13 seq:10 epoch=2026-01-01")
            self.next(minting)
            with mock.patch("flakeid._process._births", births), minting._lock:
                child = os.fork()
                if child == 0:
                    signal.alarm(10)
                    os._exit(self.is_forked(minting))
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.next(minting)

    @staticmethod
    def is_forked(minting):
        """0 if it is, for the child's end."""
        for call in (minting._take, lambda: minting._claim(1)):
            try:
                call()
                return 1
            except Forked:
                pass
        return 0


class Interrupted(Exception):
    pass


class InBetween(Clocks):
    """Signal handlers, which come in between any two instructions: they mint, end the minter, or raise
    an exception.  No id is handed out twice."""

    def interrupt(self, handler, but_in=()):
        """Mints over some ticks, once for each place where handler(minting, minted) is called."""
        for place in range(1, 10_000):
            self.wall_us = START
            minting = self.minting(LAYOUTS[0].format("continue"))
            minted = []
            calls = 0

            def trace(frame, event, argument):
                nonlocal calls
                if frame.f_code.co_filename != _core.__file__ or frame.f_code.co_name in but_in:
                    return None
                frame.f_trace_opcodes = True
                if event == "opcode":
                    calls += 1
                    if calls == place:
                        handler(minting, minted)
                return trace

            for step in range(12):
                try:
                    if step in (2, 3, 4):  # the fast path, and the next tick
                        sys.settrace(trace)
                    minted.append(self.next(minting))
                except (Interrupted, Closed):
                    pass
                finally:
                    sys.settrace(None)
                if step == 8:
                    self.wall_us += 10_000
            self.assertEqual(len(set(minted)), len(minted), place)
            if calls < place:
                self.assertGreater(place, 100)
                return

    def test_that_mint(self):
        def mint(minting, minted):
            try:
                minted.append(self.next(minting))
            except RuntimeError as error:
                self.assertIn("reentrant", str(error))

        self.interrupt(mint)

    def test_that_mint_several(self):
        def mint(minting, minted):
            try:
                minted.extend(minting._claim(2))
            except RuntimeError as error:
                self.assertIn("reentrant", str(error))

        self.interrupt(mint)

    def test_that_close(self):
        def close(minting, minted):
            minting._stop()

        self.interrupt(close)

    def test_that_raise(self):
        def fail(minting, minted):
            raise Interrupted

        self.interrupt(fail, but_in=["_claim"])  # its "finally" has no call, after which they come


if __name__ == "__main__":
    unittest.main()
