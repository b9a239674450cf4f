"""What is counted of one profile. Any thread may read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Final

from attrs import field

from ..._value import record
from ...framework import Code, Status
from ..latency import Histogram, Histograms
from . import catalogue
from .gaps import MeasuredCycles
from .plugin_calls import SUCCESS, CallCounts, SampledCalls

LAST_LABEL: Final = "15+"
"""Label of pods with that number of attempts or more, as in kube-scheduler."""
_SUCCESS: Final = Code.SUCCESS  # read for each run; as a member of the class it takes longer
_MOST_ATTEMPTS: Final = int(LAST_LABEL[:-1])


def point_label(point: str) -> str:
    """Return an extension point as metrics name it: ``PreFilter`` for ``preFilter``."""
    return point[0].upper() + point[1:]


def _attempt_histogram() -> Histogram:
    return Histogram(catalogue.ATTEMPT_SECONDS.bounds)


@record(eq=False)
class ProfileMeter:
    """Counts of one profile."""

    cycles: MeasuredCycles
    """In which the calls of plugins are measured; of all profiles."""
    calls: SampledCalls = field(init=False)
    scheduled: Histogram = field(factory=_attempt_histogram)
    unschedulable: Histogram = field(factory=_attempt_histogram)
    failed: Histogram = field(factory=_attempt_histogram)
    search: Histogram = field(factory=lambda: Histogram(catalogue.SEARCH_SECONDS.bounds))
    pod_seconds: Histograms = field(factory=lambda: Histograms(catalogue.POD_SECONDS.bounds))
    """By label of the number of attempts."""
    attempts: Counter[int] = field(factory=Counter)
    """Number of attempts → pods that were bound with as many."""
    rejections: Counter[str] = field(factory=Counter)
    """Plugin → attempts that it rejected."""
    after_flush: int = 0
    points: Histograms = field(factory=lambda: Histograms(catalogue.POINT_SECONDS.bounds))
    """By extension point and status."""
    searched: Callable[[float], None] = field(init=False)
    """Takes the seconds of a search of an attempt that failed."""
    rejected: Callable[[float], None] = field(init=False)
    """Takes the seconds of an attempt that ended with a rejection."""
    _ended: dict[Code, dict[str, Callable[[float], None]]] = field(factory=lambda: defaultdict(dict))
    """By status, and by extension point as profiles name it: what takes the seconds of a run."""
    lock: Lock = field(factory=Lock, init=False)
    """Held while ``attempts`` and ``after_flush`` change or are copied."""

    def __attrs_post_init__(self) -> None:
        self.calls = SampledCalls(CallCounts(catalogue.CALL_SECONDS.bounds), self.cycles)
        self.searched, self.rejected = self.search.later, self.unschedulable.later

    def runs(self) -> Iterator[tuple[tuple[str, str], Histogram]]:
        """Yield the measured runs of extension points by point and status, which may come more than once."""
        yield from list(self.points.items())
        yield from self.calls.counts.runs()

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """Count a run of an extension point."""
        code = _SUCCESS if status is None else status.code
        ended = self._ended[code].get(point)
        if ended is None:
            ended = self._ended[code][point] = self.points[point_label(point), code.label].later
        ended(seconds)

    def successes(self, point: str) -> Callable[[float], None]:
        """Return what takes the seconds of runs of *point* that succeed."""
        return self.points[point_label(point), SUCCESS].later

    def fold_if_full(self) -> None:
        """Count durations that are not counted yet, where there are many. O(series)."""
        for durations in (self.search, self.unschedulable, *self.points.values()):
            durations.fold_if_full()
        self.calls.counts.fold_if_full()

    def pod_bound(self, age: float, attempts: int, flushed: bool) -> None:
        """Count a pod that was bound *age* seconds after it came, and whether the timeout caused that."""
        self.pod_seconds[str(attempts) if attempts < _MOST_ATTEMPTS else LAST_LABEL].add(age)
        with self.lock:
            self.attempts[attempts] += 1
            self.after_flush += flushed

    def attempts_so_far(self) -> Counter[int]:
        """Return a copy of ``attempts``, to which other threads may be adding."""
        with self.lock:
            return self.attempts.copy()
