#!/usr/bin/env python3
"""A process that mints ids with flakeid.Minter, for tests that kill, stop and fork it.

usage: minter.py DSN GENERATOR TTL_SECONDS PREFIX [RATE]

Mints until SIGTERM, then closes in good order.  Ids are appended to PREFIX.ids as 8-byte
little-endian numbers, in the order minted, in writes of whole ids.  Events are appended to
PREFIX.log, a line each, before any id of that lease is written.  With RATE it mints about so many
ids a second, else as fast as it can.

SIGUSR1: forks.  The child tries to mint with its parent's minter, notes "child CLASS" or
"child minted ID", makes a minter of its own for PREFIX.childPID for 2 seconds, and ends.

FLAKEID_DRIVER=psycopg2 in the environment: not with psycopg (3), though it may be installed.
"""

import os
import select
import signal
import sys
import time
from array import array

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))
if os.environ.get("FLAKEID_DRIVER") == "psycopg2":
    sys.modules["psycopg"] = None

if "faketime" in os.environ.get("LD_PRELOAD", ""):
    # Python's own asks for an absolute time, which libfaketime 0.9.10 gets wrong.
    time.sleep = lambda seconds: select.select([], [], [], seconds)

import flakeid  # noqa: E402

BUFFERED = 4096

ends = False
forks = False


class Files:
    """PREFIX.ids and PREFIX.log."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.ids = os.open(prefix + ".ids", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.log = os.open(prefix + ".log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.buffer = array("q")

    def note(self, line):
        os.write(self.log, (line.replace("\n", " ") + "\n").encode())

    def event(self, event):
        if event.name == "leased":
            self.note(f"leased {event.shard} {event.not_before_us} {event.expires_at_us}")
        elif event.name == "renewed":
            self.note(f"renewed {event.expires_at_us}")
        elif event.name == "renew_failed":
            self.note(f"renew_failed {event.error.sqlstate or '--'} {event.error.message}")
        else:
            self.note(event.name)

    def flush(self):
        if sys.byteorder == "big":
            self.buffer.byteswap()
        data = self.buffer.tobytes()
        while data:
            data = data[os.write(self.ids, data) :]
        self.buffer = array("q")


def mint(dsn, generator, ttl, prefix, rate, seconds=None):
    """Mints for so long, or until SIGTERM."""
    global forks
    files = Files(prefix)
    started = time.monotonic()
    minted = 0
    minter = None
    while not ends and (seconds is None or time.monotonic() < started + seconds):
        try:
            if minter is None:
                minter = flakeid.Minter(
                    dsn, generator=generator, ttl=ttl, first_ttl=ttl, on_event=files.event
                )
            if forks:
                forks = False
                files.flush()
                if os.fork() == 0:
                    try:
                        in_child(minter, files, dsn, generator, ttl, prefix, rate)
                    finally:
                        os._exit(0)
            if rate and minted > rate * (time.monotonic() - started):
                files.flush()
                time.sleep(min(0.02, 1 / rate))
                continue
            files.buffer.append(minter.next())
            minted += 1
            if rate or len(files.buffer) >= BUFFERED:
                files.flush()
        except flakeid.FlakeidError as error:
            files.flush()
            files.note(f"error {type(error).__name__} {error.message}")
            time.sleep(0.05)
    files.flush()
    if minter is not None:
        minter.close()


def in_child(minter, files, dsn, generator, ttl, prefix, rate):
    try:
        files.note(f"child minted {minter.next()}")
    except flakeid.FlakeidError as error:
        files.note(f"child {type(error).__name__}")
    mint(dsn, generator, ttl, f"{prefix}.child{os.getpid()}", rate, seconds=2)


def on_term(number, frame):
    global ends
    ends = True


def on_usr1(number, frame):
    global forks
    forks = True


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    dsn, generator, ttl, prefix = sys.argv[1:5]
    signal.signal(signal.SIGTERM, on_term)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, on_usr1)
    mint(dsn, generator, float(ttl), prefix, float(sys.argv[5]) if len(sys.argv) == 6 else 0)


if __name__ == "__main__":
    main()
