"""Durations in bounded memory: a histogram whose buckets widen with the duration, and its percentiles."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from math import ceil
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record

BUCKETS_PER_DOUBLING: Final = 32
"""Buckets of equal width between a duration and twice that duration: a percentile is at most 1.6 % off."""
BATCH: Final = 2048
"""Durations that are counted together, 16 KiB: with 512, metrics take 0.5 µs more of a pod (``basic``)."""
_SHORTEST: Final = 2.0**-30
"""Seconds, about a nanosecond; shorter durations count as this."""
_LONGEST: Final = float(np.nextafter(2.0**25, 0))
"""Seconds, about a year; longer durations count as this."""
_SHIFT: Final = 52 - (BUCKETS_PER_DOUBLING.bit_length() - 1)
"""Bits of a float below those that tell its bucket: the exponent and the first bits of the fraction do."""
_FIRST: Final = int(np.float64(_SHORTEST).view(np.int64)) >> _SHIFT
_BUCKETS: Final = (int(np.float64(_LONGEST).view(np.int64)) >> _SHIFT) - _FIRST + 1
"""Buckets of a histogram, 14 KiB."""


@record(frozen=True)
class Latency:
    """Durations in seconds. Percentiles are at most 1.6 % off, the other figures are exact."""

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


@record(frozen=True)
class Distribution:
    """Values counted in buckets with given bounds, as Prometheus has them."""

    bounds: tuple[float, ...]
    """Upper bounds, included in their bucket."""
    counts: tuple[int, ...]
    """Values in each bucket; the last one has no bound."""
    total: float
    """Their sum."""

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(self.counts)

    def cumulative(self) -> list[tuple[str, int]]:
        """Return each bound as Go writes it, infinity last, with the number of values up to it."""
        names = [*(repr(bound).removesuffix(".0") for bound in self.bounds), "+Inf"]
        return list(zip(names, accumulate(self.counts), strict=True))

    @classmethod
    def of(cls, bounds: tuple[float, ...], values: Mapping[int, int]) -> Distribution:
        """Return the distribution of *values*: value → how often it occurs."""
        counts = [0] * (len(bounds) + 1)
        for value, count in values.items():
            counts[bisect_left(bounds, value)] += count
        return cls(bounds, tuple(counts), float(sum(value * count for value, count in values.items())))

    def __add__(self, other: Distribution) -> Distribution:
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return Distribution(self.bounds, counts, self.total + other.total)


def _bucket_numbers(durations: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the bucket of each duration: bits of the float, because a logarithm takes ten times as long."""
    numbers = durations.view(np.int64) >> _SHIFT
    numbers -= _FIRST
    # Bits of floats from 0 on are in the order of the floats, and those of negative ones are below.
    if numbers.size and (numbers.min() < 0 or numbers.max() >= _BUCKETS):
        np.clip(numbers, 0, _BUCKETS - 1, out=numbers)
    return numbers


@record(eq=False)
class Histogram:
    """Counts durations; a bucket for each duration that differs by more than 3.2 %.

    Any thread may add. Durations are kept as they are until there are :data:`BATCH` of them: counting them
    together costs a tenth of counting them one by one.
    """

    bounds: tuple[float, ...] = ()
    """Bounds of :meth:`distribution`."""
    append: Callable[[float], None] = field(init=False)
    """Takes in one duration at a third of the price of :meth:`add`, for what happens to each pod.

    The caller has to call :meth:`fold_if_full` now and then, or memory grows by 8 bytes for each duration.
    """
    _count: int = 0
    _total: float = 0.0
    _longest: float = 0.0
    _buckets: npt.NDArray[np.int64] = field(factory=lambda: np.zeros(_BUCKETS, np.int64))
    """Number of durations by bucket."""
    _by_bound: npt.NDArray[np.int64] = field(init=False)
    """Number of durations up to each of ``bounds``, the one below excluded; then of those above all."""
    _new: array[float] = field(factory=lambda: array("d"), init=False)
    """Durations that are not counted yet."""
    _lock: threading.Lock = field(factory=threading.Lock)
    """Held while durations are counted."""

    def __attrs_post_init__(self) -> None:
        self._by_bound = np.zeros(len(self.bounds) + 1, np.int64)
        self.append = self._new.append

    def add(self, seconds: float) -> None:
        """Take in one duration; amortised O(1)."""
        self._new.append(seconds)
        self.fold_if_full()

    def fold_if_full(self) -> None:
        """Count the durations that are not counted yet if there are many. O(1) amortised."""
        if len(self._new) >= BATCH:
            with self._lock:
                self._fold()

    def distribution(self) -> Distribution:
        """Return the durations so far by ``bounds``. O(bounds)."""
        with self._lock:
            self._fold()
            return Distribution(self.bounds, tuple(self._by_bound.tolist()), self._total)

    @property
    def count(self) -> int:
        """Number of durations so far."""
        with self._lock:
            return self._count + len(self._new)

    def __bool__(self) -> bool:
        return bool(self._count or self._new)

    def latency(self) -> Latency:
        """Return the figures so far; there must be a duration. O(buckets)."""
        with self._lock:
            self._fold()
            p50, p90, p99 = (self._quantile(share) for share in (0.5, 0.9, 0.99))
            return Latency(self._count, self._total, p50, p90, p99, self._longest)

    @classmethod
    def total(cls, histograms: Iterable[Histogram]) -> Histogram:
        """Return the durations of several histograms as one, without bounds. O(buckets)."""
        whole = cls()
        for each in histograms:
            with each._lock:
                each._fold()
                whole._count += each._count
                whole._total += each._total
                whole._longest = max(whole._longest, each._longest)
                whole._buckets += each._buckets
        return whole

    def _fold(self) -> None:
        count = len(self._new)  # other threads may append at the end
        if not count:
            return
        durations = np.frombuffer(self._new[:count])
        del self._new[:count]
        self._count += count
        self._total += float(durations.sum())
        self._longest = max(self._longest, float(durations.max()))
        numbers = _bucket_numbers(durations)
        first = int(numbers.min())
        counts = np.bincount(numbers - first)
        self._buckets[first : first + len(counts)] += counts
        place = np.searchsorted(self.bounds, durations)
        self._by_bound += np.bincount(place, minlength=len(self._by_bound))

    def _quantile(self, share: float) -> float:
        bucket = int(np.searchsorted(self._buckets.cumsum(), ceil(share * self._count)))
        doublings, step = divmod(bucket, BUCKETS_PER_DOUBLING)
        middle = _SHORTEST * 2.0**doublings * (1 + (step + 0.5) / BUCKETS_PER_DOUBLING)
        return min(middle, self._longest)


class Histograms(dict[Any, Histogram]):
    """Histograms by labels, each made when it is first read. Any thread."""

    def __init__(self, bounds: tuple[float, ...] = ()) -> None:
        super().__init__()
        self.bounds = bounds

    def __missing__(self, labels: Any) -> Histogram:
        # Another thread may have made it in the meantime, and counted something there already.
        return self.setdefault(labels, Histogram(self.bounds))
