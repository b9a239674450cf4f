"""Durations in bounded memory: a histogram with logarithmic buckets, and its percentiles."""

from __future__ import annotations

import threading
from collections import Counter
from math import ceil
from typing import Final

import numpy as np
from attrs import define, field, frozen

from .._brief import brief_repr

BUCKETS_PER_DOUBLING: Final = 16
"""Buckets between a duration and twice that duration: a percentile is at most 2.2 % off."""
BATCH: Final = 512
"""Durations that are counted together: 4 KiB for each histogram."""
_SHORTEST: Final = 1e-9
"""Seconds; shorter durations count as this."""


@brief_repr
@frozen
class Latency:
    """Durations in seconds. Percentiles are at most 2.2 % off, the other figures are exact."""

    count: int
    """Number of durations."""
    total: float
    """Their sum."""
    p50: float
    """The median."""
    p90: float
    """What 90 % do not exceed."""
    p99: float
    """What 99 % do not exceed."""
    max: float
    """The longest."""

    @property
    def mean(self) -> float:
        """The average."""
        return self.total / self.count


@define(eq=False)
class Histogram:
    """Counts durations; a bucket for each duration that differs by more than 4.4 %.

    Any thread may add. Durations are kept as they are until there are :data:`BATCH` of them: counting them
    together costs a tenth of counting them one by one.
    """

    _count: int = 0
    _total: float = 0.0
    _longest: float = 0.0
    _buckets: Counter[int] = field(factory=Counter)
    _new: list[float] = field(factory=list)
    """Durations that are not counted yet."""
    _lock: threading.Lock = field(factory=threading.Lock)
    """Held while durations are counted."""

    def add(self, seconds: float) -> None:
        """Take in one duration; amortised O(1)."""
        new = self._new
        new.append(seconds)
        if len(new) >= BATCH:
            with self._lock:
                self._fold()

    def __bool__(self) -> bool:
        return bool(self._count or self._new)

    def latency(self) -> Latency:
        """Return the figures so far; there must be a duration. O(buckets)."""
        with self._lock:
            self._fold()
            p50, p90, p99 = (self._quantile(share) for share in (0.5, 0.9, 0.99))
            return Latency(self._count, self._total, p50, p90, p99, self._longest)

    def _fold(self) -> None:
        count = len(self._new)  # other threads may append at the end
        if not count:
            return
        durations = np.array(self._new[:count])
        del self._new[:count]
        self._count += count
        self._total += float(durations.sum())
        self._longest = max(self._longest, float(durations.max()))
        buckets = np.log2(np.maximum(durations, _SHORTEST) / _SHORTEST) * BUCKETS_PER_DOUBLING
        numbers, counts = np.unique(buckets.astype(np.int64), return_counts=True)
        self._buckets.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    def _quantile(self, share: float) -> float:
        left = ceil(share * self._count)
        for bucket in sorted(self._buckets):
            left -= self._buckets[bucket]
            if left <= 0:
                break
        middle: float = _SHORTEST * 2.0 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING)
        return min(middle, self._longest)
