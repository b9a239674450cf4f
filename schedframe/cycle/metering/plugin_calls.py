"""Calls of plugins: about one in ten is measured, all are counted.

The gaps between measured calls are random, so that no pattern in the order of pods hides a slow call.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from time import perf_counter
from typing import Any, Final

from attrs import define, field

from ...framework import Status
from ...framework.plan import Call, Entry, Plan
from ..latency import Histogram
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
_POINTS_BY_CALL: Final = frozenset({BIND, "pre_bind"})
"""Hooks whose calls are the runs of their extension point."""


@define(eq=False)
class CallSeries:
    """Calls of one plugin at one extension point."""

    bounds: tuple[float, ...]
    gap: Callable[[], int] = random_gap
    left: int = 0
    """Calls up to the next one that is measured, that one included."""
    counted: int = 0
    """Calls up to and with that one."""
    durations: defaultdict[str, Histogram] = field(init=False)
    """Of measured calls, by status."""

    def __attrs_post_init__(self) -> None:
        self.durations = defaultdict(partial(Histogram, self.bounds))
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


@define(eq=False)
class SampledCalls:
    """Wraps the hooks of one profile, bind left out: a :class:`~schedframe.framework.plan.Guard`."""

    counts: CallCounts
    points: MutableMapping[tuple[str, str], Histogram]
    """Runs of extension points by point and status."""

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
        point = POINT_OF_HOOK[hook]
        series = self.counts.of(plugin, point)

        def ended(answer: Any, start: float, label: str | None = None) -> None:
            seconds = perf_counter() - start
            label = label or _label_of(answer)
            series.durations[label].add(seconds)
            if hook in _POINTS_BY_CALL and label != "Skip":
                self.points[point, label].add(seconds)

        def measure(*arguments: Any) -> Any:
            start = perf_counter()
            try:
                answer = call(*arguments)
            except Exception:
                ended(None, start, "Error")
                raise
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
class SampledBinds:
    """Measures bind for about one pod in ten, by exchanging the calls of the plan: others cost nothing.

    All binds between two attempts that ended are measured, or none.
    """

    calls: SampledCalls
    left: int = 1
    """Attempts up to the next :meth:`turn`."""
    _plan: Plan | None = None
    _other: tuple[Entry, ...] = ()
    """The calls that the plan does not have at present."""
    _measuring: bool = True

    def begin(self, plan: Plan) -> None:
        """Measure the binds of *plan*, the first one included."""
        plain = plan.bind
        plan.bind = tuple(Entry(each.name, self.calls.measured(each.call, BIND, each.name)) for each in plain)
        self._plan, self._other = plan, plain

    def turn(self) -> None:
        """Begin to measure, or end it."""
        plan = self._plan
        assert plan is not None
        plan.bind, self._other = self._other, plan.bind
        self._measuring = not self._measuring
        self.left = 1 if self._measuring else random_gap() - 1


@define(eq=False)
class EveryCall:
    """Durations of all calls of one profile; an :class:`~schedframe.framework.Observer`."""

    durations: defaultdict[tuple[str, str], Histogram] = field(factory=lambda: defaultdict(Histogram))
    """By hook and plugin."""

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        """Count a call."""
        self.durations[point, plugin].add(seconds)


def _label_of(answer: Any) -> str:
    """Return the status in the answer of a hook; answers that are none are successes."""
    if isinstance(answer, tuple) and answer:
        answer = answer[-1]
    return answer.code.label if isinstance(answer, Status) else "Success"
