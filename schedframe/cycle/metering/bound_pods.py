"""Metrics of bound pods: a record of five floats for each, added to the histograms in batches.

Only pods that their first attempt bound, with one call of the only bind plugin, have a record; the core
counts all others one by one. A buffer holds whole records and nothing else: a record is appended in one step,
which no other thread can interrupt, and records are removed under the lock of the counts. Otherwise times of
different pods would be subtracted from each other, or pods would count twice.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

import numpy as np
import numpy.typing as npt

from ..._value import record
from ..latency import BATCH
from .plugin_calls import RunHistogram
from .profile_meter import ProfileMeter

_MOMENTS: Final = Struct("5d")
packed: Final = _MOMENTS.pack
"""``packed(ended, bind_started, searched, started, entered)`` returns the record of a pod: when bind returned
and was called, when the search for a node ended and the pod was popped, in seconds of ``perf_counter``, and
when the pod entered the queue, in seconds of the scheduler's clock.
"""
_KEPT: Final = 16 * BATCH * _MOMENTS.size
"""Bytes of records from which on they are counted, 320 KiB. At 80 KiB counting took 1.3 % of the time of a
pod: each time its code had left the processor's caches.
"""
_TOGETHER: Final = 4 * BATCH * _MOMENTS.size
"""Bytes of records in one batch, 80 KiB: from 128 KiB on glibc maps fresh pages each time."""


@record(eq=False)
class BoundPods:
    """The pods of one framework that their first attempt bound."""

    counts: ProfileMeter
    """Of its profile."""
    binds: RunHistogram
    """Successful calls of its only bind plugin."""
    figures: bytearray
    """Records that are not counted yet, as :data:`packed` makes them. Any thread may append one."""

    def fold_if_full(self) -> None:
        """Count the records if there are many. O(1) amortised."""
        if len(self.figures) >= _KEPT:
            self.fold()

    def fold(self) -> None:
        """Count the records and remove them. O(pods bound since the last time). Any thread."""
        figures, counts = self.figures, self.counts
        with counts.lock:
            size = len(figures)  # other threads may append more, behind this
            if not size:
                return
            taken = figures[:size]
            del figures[:size]
            for start in range(0, size, _TOGETHER):
                self._count(np.frombuffer(taken[start : start + _TOGETHER]).reshape(-1, 5).T)

    def _count(self, moments: npt.NDArray[np.float64]) -> None:
        counts = self.counts
        ended, bind_started, searched, started, entered = moments
        counts.scheduled.add_all(ended - started)
        counts.search.add_all(searched - started)
        counts.pods_bound_at_once(np.maximum(ended - counts.offset - entered, 0))
        self.binds.add_all(ended - bind_started)
