"""The pods that were bound: bytes are appended on the path of a pod, and counted together later.

To append to a ``bytearray`` is one step for all threads, so that those of an executor may do it, too.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

import numpy as np
from attrs import define

from ..latency import BATCH
from .plugin_calls import RunHistogram
from .profile_meter import ProfileMeter

_FIGURES: Final = Struct("5d2i")
packed: Final = _FIGURES.pack
"""``packed(ended, bind_started, searched, started, entered, attempts, flushed)`` returns the figures of a pod
that was bound: when it was bound, passed to bind (0: that is counted elsewhere), searched for and popped, and
when it came, in seconds; its attempts, and whether the timeout caused the last one.
"""
_ROW: Final = np.dtype([("moments", np.float64, 5), ("attempts", np.intc), ("flushed", np.intc)])
_KEPT: Final = 4 * BATCH * _FIGURES.size
"""Bytes of figures that are counted together, 96 KiB: from 128 KiB on glibc maps fresh pages each time."""


@define(eq=False)
class BoundPods:
    """The pods that one framework bound."""

    counts: ProfileMeter
    """Of its profile."""
    binds: RunHistogram
    """Successful calls of its only bind plugin."""
    figures: bytearray
    """What is not counted yet, as :data:`packed` makes it. Any thread may append figures of a pod at once."""

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
            pods = np.frombuffer(figures[:size], _ROW)
            del figures[:size]
            ended, bind_started, searched, started, entered = pods["moments"].T
            counts.scheduled.add_all(ended - started)
            counts.search.add_all(searched - started)
            ages = np.maximum(ended - counts.offset - entered, 0)
            # Without np.unique: its first call imports numpy.ma, which takes 10 ms.
            for number in np.flatnonzero(np.bincount(pods["attempts"])).tolist():
                counts.count_ages(ages[pods["attempts"] == number], number)
            counts.after_flush += int(pods["flushed"].sum())
            timed = bind_started > 0
            if timed.any():
                self.binds.add_all((ended - bind_started)[timed])
