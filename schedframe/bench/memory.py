"""Memory of the process: its size, and a heap that the garbage collector does not scan."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Collect garbage, then exclude all existing objects from collection (``gc.freeze``) inside the block.

    The collector stays on: objects that are created inside are collected as usual. In a program that has
    excluded objects already nothing ends that: there is no way back to just its own.
    """
    frozen = gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


def peak_rss_mb() -> float | None:
    """Return the peak resident size of this process in MiB, loading included; ``None`` if unknown."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return None
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    # ru_maxrss is in bytes on macOS and in KiB elsewhere.
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def resident_mb() -> float:
    """Return the resident size of this process in MiB; the peak where only that is known."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[1])
    except OSError:
        return peak_rss_mb() or 0.0
    return round(pages * _page_size() / 2**20, 1)


def _page_size() -> int:
    from resource import getpagesize

    return getpagesize()
