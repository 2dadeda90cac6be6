"""The process: its clocks, and whether it is still the one that made a minter."""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
import weakref
from functools import partial
from typing import Callable, Union

# MADV_WIPEONFORK of Linux, which the module mmap does not name.
_WIPE_ON_FORK = 18


def is_mine(lock: threading.RLock) -> bool:
    """Whether this thread has it: a signal handler, in which it is asked, has interrupted who took it."""
    return bool(lock._is_owned())  # type: ignore[attr-defined]


def _boottime() -> Callable[[], int]:
    """A clock in nanoseconds that nobody sets and that counts while the machine sleeps."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)
    # CLOCK_MONOTONIC of macOS counts sleep, which time.monotonic() there does not.
    if sys.platform == "darwin":
        return partial(time.clock_gettime_ns, time.CLOCK_MONOTONIC)
    return time.monotonic_ns


wall_ns = time.time_ns
boottime_ns = _boottime()


class Birth:
    """Made in the process that owns something: ``page[0]`` is 0 in children made by fork().

    On Linux the kernel does that, so also for a child whose fork() Python has not seen.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.page: Union[mmap.mmap, bytearray] = bytearray(1)
        if sys.platform == "linux":
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            try:
                page.madvise(_WIPE_ON_FORK)
                self.page = page
            except OSError:
                page.close()
        self.page[0] = 1
        _births.add(self)

    def is_here(self) -> bool:
        """Whether this is the process."""
        return self.page[0] == 1 and self.pid == os.getpid()


_births: weakref.WeakSet[Birth] = weakref.WeakSet()


def _end_births() -> None:
    for birth in _births:
        birth.page[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_births)
