"""Memory of the process: the collector kept away from what is loaded, and the peak."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def settle() -> Iterator[None]:
    """Collect garbage, then hide all that is loaded from the collector (``gc.freeze``) while inside.

    The collector stays on: what is made inside is collected as always.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def peak_rss_mb() -> float | None:
    """The most memory that this process ever had, in MiB, loading included; ``None`` if nobody counts it."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return None
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    # kibibytes everywhere but on macOS, where it is bytes
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def resident_mb() -> float:
    """Memory of the process now, in MiB; its peak where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[1])
    except OSError:
        return peak_rss_mb() or 0.0
    return round(pages * _page_size() / 2**20, 1)


def _page_size() -> int:
    from resource import getpagesize

    return getpagesize()
