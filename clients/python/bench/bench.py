#!/usr/bin/env python3
"""How many ids a second: bench.py [SECONDS], prints lines of a name, a tab, and ids per second.

Each case takes so many seconds, 1 if not said.  What is divided by is the time of the processor, so that
other programs do not count.  With PGHOST or DATABASE_URL the minter has its lease
from that database, of the generator FLAKEID_GENERATOR if that is set.  Otherwise its lease is made up,
so that no server is needed; the path of next() is the same, and the layout has 22 bits of sequence
numbers, so that it does not limit the figures.
"""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))

from flakeid import Layout, Minter  # noqa: E402
from flakeid._core import Minting  # noqa: E402
from flakeid._process import boottime_ns  # noqa: E402

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0


class Leased(Minting):
    """A minter with a lease for a minute."""

    _claim_within = Minter._claim_within
    next = Minter.next
    next_n = Minter.next_n

    def __init__(self):
        super().__init__(15_000_000)
        now_us = time.time_ns() // 1000
        self._install(
            Layout.parse("ts:36 shard:5 seq:22 epoch=2026-01-01 unit=10ms"),
            5, now_us, now_us + 60_000_000, boottime_ns() + 60_000_000_000,
        )  # fmt: skip


def rate(function, ids_of_a_call=1, threads=1):
    """Calls a function for a while, and returns how many ids that were in a second of the processor."""
    counts = []

    def run():
        calls = 0
        ends = time.perf_counter() + SECONDS
        while time.perf_counter() < ends:
            for _ in range(1000 // ids_of_a_call or 1):
                function()
            calls += 1000 // ids_of_a_call or 1
        counts.append(calls)

    started = time.process_time()
    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(counts) * ids_of_a_call / (time.process_time() - started)


def open_minter():
    if not os.environ.get("DATABASE_URL") and not os.environ.get("PGHOST"):
        return Leased()
    return Minter(
        os.environ.get("DATABASE_URL", ""),
        generator=os.environ.get("FLAKEID_GENERATOR"),
        ttl=600,
        first_ttl=600,
        max_ahead=600,
    )


def main():
    ids = open_minter()
    for name, function, ids_of_a_call, threads in (
        ("time.time_ns()", time.time_ns, 1, 1),
        ("next()", ids.next, 1, 1),
        ("next(), 2 threads", ids.next, 1, 2),
        ("next_n(1000)", lambda: ids.next_n(1000), 1000, 1),
    ):
        print(f"{name}\t{rate(function, ids_of_a_call, threads):.0f}")
    if isinstance(ids, Minter):
        ids.close()


if __name__ == "__main__":
    main()
