"""Calls of plugins: about one in ten is measured, all are counted; all runs of Bind and PreBind are measured.

The gaps between measured calls are random, so that no pattern in the order of pods hides a slow call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field
from typing_extensions import override

from ..._plugin_faults import plugin_faults
from ...framework import Status
from ...framework.plan import Call
from ..latency import Histogram, Histograms
from . import catalogue
from .gaps import random_gap, random_tenth

POINT_OF_HOOK: Final = {
    "pod_signature": "Sign",
    "pre_filter": "PreFilter",
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "filter": "Filter",
    "filter_rows": "Filter",
    "filter_groups": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "score_rows": "Score",
    "score_groups": "Score",
    "normalize_scores": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
    "pre_bind_pre_flight": "PreBindPreFlight",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
}
"""Hook → extension point as metrics name it; calls of other hooks are not measured."""
SUCCESS: Final = "Success"
"""Label of a status of success."""
_ERROR: Final = "Error"
_SKIP: Final = "Skip"
_TIMED_BY_TASKS: Final = frozenset({"pre_bind", "bind"})
"""Hooks whose calls are the runs of their extension point: tasks time all of them."""


@define(eq=False)
class RunHistogram(Histogram):
    """Durations of runs of an extension point; a tenth of them is in ``sample``, too."""

    sample: Histogram = field(kw_only=True)

    @override
    def _count_in(self, durations: npt.NDArray[np.float64]) -> None:
        super()._count_in(durations)
        tenth = durations[random_tenth()]
        if len(tenth):
            self.sample.add_all(tenth)


@define(eq=False)
class CallSeries:
    """Calls of one plugin at one extension point."""

    bounds: tuple[float, ...]
    gap: Callable[[], int] = random_gap
    left: int = 0
    """Calls up to the next one that is measured, that one included."""
    counted: int = 0
    """Calls up to and with that one."""
    durations: Histograms = field(init=False)
    """Of measured calls, by status."""
    runs: dict[str, RunHistogram] = field(factory=dict)
    """Of all calls, by status, where a call is a run of the extension point."""

    def __attrs_post_init__(self) -> None:
        self.durations = Histograms(self.bounds)
        self.next_gap()

    def runs_with(self, status: str) -> RunHistogram:
        """Return the runs that ended with *status*."""
        found = self.runs.get(status)
        if found is None:
            new = RunHistogram(catalogue.POINT_SECONDS.bounds, sample=self.durations[status])
            found = self.runs.setdefault(status, new)  # another thread may have made it
        return found

    def next_gap(self) -> None:
        """Choose the next call to measure."""
        self.left = self.gap()
        self.counted += self.left

    @property
    def calls(self) -> int:
        """Number of calls so far."""
        return self.counted - max(self.left, 0)


@define(eq=False)
class CallCounts:
    """The calls of one profile by plugin and extension point."""

    bounds: tuple[float, ...]
    series: dict[tuple[str, str], CallSeries] = field(factory=dict)

    def of(self, plugin: str, point: str) -> CallSeries:
        """Return the calls of *plugin* at *point*."""
        series = self.series.get((plugin, point))
        return self.series.setdefault((plugin, point), CallSeries(self.bounds)) if series is None else series

    def runs(self) -> Iterator[tuple[tuple[str, str], Histogram]]:
        """Yield the runs of Bind and PreBind, by point and status."""
        for (_, point), series in list(self.series.items()):
            for status, durations in list(series.runs.items()):
                if status != _SKIP:
                    yield (point, status), durations


@define(eq=False)
class SampledCalls:
    """Wraps the hooks of one profile that run in the core: a :class:`~schedframe.framework.plan.Guard`."""

    counts: CallCounts

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return *call*, or a function that does the same and measures some calls."""
        if hook not in POINT_OF_HOOK or hook in _TIMED_BY_TASKS:
            return call
        return _sampled(call, self.counts.of(plugin, POINT_OF_HOOK[hook]))


def _sampled(call: Call, series: CallSeries) -> Call:
    """Return a function that does what *call* does, and measures about one call in ten."""
    durations = series.durations

    def sampled(*arguments: Any) -> Any:
        series.left -= 1
        if series.left > 0:
            return call(*arguments)
        series.next_gap()
        start = perf_counter()
        try:
            answer = call(*arguments)
        except plugin_faults():
            durations[_ERROR].add(perf_counter() - start)
            raise
        durations[_label_of(answer)].add(perf_counter() - start)
        return answer

    return sampled


@define(eq=False)
class EveryCall:
    """Durations of all calls of one profile; an :class:`~schedframe.framework.Observer`."""

    durations: Histograms = field(factory=Histograms)
    """By hook and plugin."""

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        """Count a call."""
        self.durations[point, plugin].add(seconds)


def _label_of(answer: Any) -> str:
    """Return the status in the answer of a hook; answers that are none are successes."""
    if isinstance(answer, tuple) and answer:
        answer = answer[-1]
    return answer.code.label if isinstance(answer, Status) else SUCCESS
