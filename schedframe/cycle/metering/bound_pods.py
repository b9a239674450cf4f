"""The pods that their first attempt bound: bytes on the path of a pod, counted together later.

To append to a ``bytearray`` is one step for all threads, so that those of an executor may do it, too.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define

from ..latency import BATCH
from .plugin_calls import RunHistogram
from .profile_meter import ProfileMeter

_MOMENTS: Final = Struct("5d")
packed: Final = _MOMENTS.pack
"""``packed(ended, bind_started, searched, started, entered)`` returns the figures of a pod that its first
attempt bound: when it was bound, passed to bind, searched for and popped, and when it came, in seconds.
"""
_KEPT: Final = 16 * BATCH * _MOMENTS.size
"""Bytes kept before they are counted, 320 KiB: the code that counts them is in no cache by then."""
_TOGETHER: Final = 4 * BATCH * _MOMENTS.size
"""Bytes that are counted together, 80 KiB: from 128 KiB on glibc maps fresh pages each time."""


@define(eq=False)
class BoundPods:
    """The pods of one framework that their first attempt bound."""

    counts: ProfileMeter
    """Of its profile."""
    binds: RunHistogram
    """Successful calls of its only bind plugin."""
    figures: bytearray
    """Of pods not counted yet, as :data:`packed` makes them. Any thread may append those of a pod at once."""

    def fold_if_full(self) -> None:
        """Count the figures that are kept if there are many. O(1) amortised."""
        if len(self.figures) >= _KEPT:
            self.fold()

    def fold(self) -> None:
        """Count the figures that are kept. O(pods bound since the last time). Any thread."""
        figures, counts = self.figures, self.counts
        with counts.lock:
            size = len(figures)  # whole pods: the figures of a pod are appended at once
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
