"""Calls of plugins: about one in ten is measured, all are counted.

The gaps between measured calls are random, so that no pattern in the order of pods hides a slow call.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from time import perf_counter
from typing import Any, Final

from attrs import define, field

from ...framework import Status
from ...framework.plan import Call
from ..latency import Histogram, Histograms
from .gaps import random_gap

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
BIND: Final = "bind"
SUCCESS: Final = "Success"
"""Label of a status of success."""
_SKIP: Final = "Skip"
_POINTS_BY_CALL: Final = frozenset({"Bind", "PreBind"})
"""Extension points whose runs are the calls of their plugins."""


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

    def __attrs_post_init__(self) -> None:
        self.durations = Histograms(self.bounds)
        self.next_gap()

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
        return self.series.setdefault((plugin, point), CallSeries(self.bounds))

    def runs(self) -> Iterator[tuple[tuple[str, str], Histogram]]:
        """Yield the measured calls that are the run of an extension point, by point and status."""
        for (_, point), series in list(self.series.items()):
            if point in _POINTS_BY_CALL:
                for label, durations in list(series.durations.items()):
                    if label != _SKIP:
                        yield (point, label), durations


@define(eq=False)
class SampledCalls:
    """Wraps the hooks of one profile, bind left out: a :class:`~schedframe.framework.plan.Guard`."""

    counts: CallCounts

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return *call*, or a function that does the same and measures some calls."""
        if hook not in POINT_OF_HOOK or hook == BIND:
            return call
        series = self.counts.of(plugin, POINT_OF_HOOK[hook])
        measure = self.measured(call, hook, plugin)

        def sampled(*arguments: Any) -> Any:
            series.left -= 1
            if series.left > 0:
                return call(*arguments)
            series.next_gap()
            return measure(*arguments)

        return sampled

    def measured(self, call: Call, hook: str, plugin: str) -> Call:
        """Return a function that does what *call* does, and measures it."""
        durations = self.counts.of(plugin, POINT_OF_HOOK[hook]).durations

        def ended(answer: Any, start: float, label: str | None = None) -> None:
            seconds = perf_counter() - start
            durations[label or _label_of(answer)].add(seconds)

        def measure(*arguments: Any) -> Any:
            start = perf_counter()
            try:
                answer = call(*arguments)
            except Exception:
                ended(None, start, "Error")
                raise
            if answer is None:  # the usual case, for which asking whether it is awaitable takes too long
                durations[SUCCESS].add(perf_counter() - start)
                return None
            if inspect.isawaitable(answer):
                return awaited(answer, start)
            ended(answer, start)
            return answer

        async def awaited(answer: Awaitable[Any], start: float) -> Any:
            try:
                result = await answer
            except Exception:
                ended(None, start, "Error")
                raise
            ended(result, start)
            return result

        return measure


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
