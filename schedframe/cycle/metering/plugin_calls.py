"""Calls of plugins: counted, and measured in one cycle of ten. All runs of Bind and PreBind are measured.

The gaps between measured cycles are random, so that no pattern in the order of pods hides a slow call. Where
a plugin is called for each node of the cluster, one cycle in a hundred is measured.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from threading import Lock
from time import perf_counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field
from typing_extensions import override

from ..._plugin_faults import plugin_faults
from ..._value import record
from ...framework import Status
from ...framework.hook_calls import Call
from ...framework.plan import Plan, PointRuns
from ..latency import Histogram, Histograms
from . import catalogue
from .exchanges import Exchange, exchanges
from .gaps import SAMPLED, MeasuredCycles, random_gap, random_tenth

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
_COUNTED_POINTS: Final = frozenset({"Filter", "Score"})
"""Extension points with hooks that are wrapped to count their calls."""
SUCCESS: Final = "Success"
"""Label of a status of success."""
_ERROR: Final = "Error"
_SKIP: Final = "Skip"
_SIGN: Final = "pod_signature"
_RUNS: Final = frozenset({"pre_bind", "bind"})
"""Hooks whose calls are timed in every cycle, as runs of their extension point."""
_COUNTED_HOOKS: Final = frozenset(h for h, point in POINT_OF_HOOK.items() if point in _COUNTED_POINTS)


@record(eq=False)
class RunHistogram(Histogram):
    """Durations of runs of an extension point; a tenth of them is in ``sample``, too."""

    sample: Histogram = field(kw_only=True)

    @override
    def _count_in(self, durations: npt.NDArray[np.float64]) -> None:
        super()._count_in(durations)
        tenth = durations[random_tenth()]
        if len(tenth):
            self.sample.add_all(tenth)


@record(eq=False)
class CallSeries:
    """Calls of one plugin at one extension point."""

    bounds: tuple[float, ...]
    calls: int = 0
    """Calls so far at Filter and Score."""
    loops: int = field(factory=lambda: random_gap(SAMPLED))
    """Measured cycles up to the next one in which a call for each node is measured."""
    durations: Histograms = field(init=False)
    """Of measured calls, by status."""
    runs: dict[str, RunHistogram] = field(factory=dict)
    """Of all calls, by status, where a call is a run of the extension point."""

    def __attrs_post_init__(self) -> None:
        self.durations = Histograms(self.bounds)

    def runs_with(self, status: str) -> RunHistogram:
        """Return the runs that ended with *status*."""
        found = self.runs.get(status)
        if found is None:
            new = RunHistogram(catalogue.POINT_SECONDS.bounds, sample=self.durations[status])
            found = self.runs.setdefault(status, new)  # another thread may have made it
        return found


@record(eq=False)
class CallCounts:
    """The calls of one profile by plugin and extension point."""

    bounds: tuple[float, ...]
    series: dict[tuple[str, str], CallSeries] = field(factory=dict)

    def of(self, plugin: str, point: str) -> CallSeries:
        """Return the calls of *plugin* at *point*."""
        series = self.series.get((plugin, point))
        return self.series.setdefault((plugin, point), CallSeries(self.bounds)) if series is None else series

    def fold_if_full(self) -> None:
        """Count durations that are not counted yet, where there are many. O(series)."""
        for series in list(self.series.values()):
            for durations in list(series.durations.values()):
                durations.fold_if_full()

    def runs(self) -> Iterator[tuple[tuple[str, str], Histogram]]:
        """Yield the runs of Bind and PreBind, by point and status."""
        for (_, point), series in list(self.series.items()):
            for status, durations in list(series.runs.items()):
                if status != _SKIP:
                    yield (point, status), durations


@record(eq=False)
class SampledCalls:
    """Measures and counts the calls of one profile that run in the core.

    It wraps filter, score and pod_signature, as a :class:`~schedframe.framework.hook_calls.LoopGuard`; calls
    of the other hooks are exchanged (:mod:`.exchanges`), and plans count those of pre_filter and pre_score.
    """

    counts: CallCounts
    cycles: MeasuredCycles
    _runs: dict[Plan, PointRuns] = field(factory=dict)
    """Of plans in use."""
    _ended: Counter[tuple[str, str]] = field(factory=Counter)
    """Calls of plans that are in use no more, by plugin and hook."""
    lock: Lock = field(factory=Lock, init=False)
    """Held while calls move from ``_runs`` to ``_ended``, or are read: a counter must never go back."""

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return *call*, or a function that does the same, measures some calls and counts all."""
        if hook in _COUNTED_HOOKS:
            series = self.counts.of(plugin, POINT_OF_HOOK[hook])
            return _counted(call, _measured(call, series), series, self.cycles)
        if hook in _RUNS:
            return _timed_run(call, self.counts.of(plugin, POINT_OF_HOOK[hook]))
        return _sampled(call, self.measured(call, hook, plugin), self.cycles) if hook == _SIGN else call

    def in_loops(self, call: Call, hook: str, plugin: str) -> Callable[[int], Call]:
        """Return a function of the number of nodes that *call* is called for, which counts them at once.

        It returns what to call: *call*, or in one of a hundred cycles a function that measures each call.
        """
        return _loop(call, self.counts.of(plugin, POINT_OF_HOOK[hook]), self.cycles)

    def measured(self, call: Call, hook: str, plugin: str) -> Call:
        """Return a function that does what *call* does, and measures it."""
        return _measured(call, self.counts.of(plugin, POINT_OF_HOOK[hook]))

    def add_plan(self, plan: Plan) -> tuple[Exchange, ...]:
        """Count the calls of *plan* from now on; return what to exchange while cycles are measured."""
        plan.runs = self._runs[plan] = PointRuns()
        return exchanges(plan, self.measured)

    def remove_plan(self, plan: Plan) -> None:
        """Count the calls of *plan* no more; those so far stay counted."""
        with self.lock:
            runs = self._runs.pop(plan, None)
            if runs is not None:
                self._ended += runs.calls(plan)

    def evaluations(self) -> Counter[tuple[str, str]]:
        """Return the calls so far that did not skip, by plugin and extension point. Any thread."""
        found = Counter[tuple[str, str]]()
        for (plugin, point), series in list(self.counts.series.items()):
            if point in _COUNTED_POINTS:
                found[plugin, point] += series.calls
        with self.lock:
            begun = sum((runs.calls(plan) for plan, runs in list(self._runs.items())), self._ended)
        for (plugin, hook), count in begun.items():
            found[plugin, POINT_OF_HOOK[hook]] += count
        return +found


def _measured(call: Call, series: CallSeries) -> Call:
    """Return a function that does what *call* does, and measures it."""
    durations = series.durations
    # What was answered last, and what takes the seconds of calls with that answer.
    last: tuple[Any, Callable[[float], None]] | None = None

    def measured(*arguments: Any) -> Any:
        nonlocal last
        start = perf_counter()
        try:
            answer = call(*arguments)
        except plugin_faults():
            durations[_ERROR].add(perf_counter() - start)
            raise
        seconds = perf_counter() - start
        known = last  # read once: a program may have a pod explained in another thread
        if known is not None and answer is known[0]:
            known[1](seconds)
            return answer
        add = durations[_label_of(answer)].later
        if isinstance(answer, Status | None):  # plugins answer most pods with the same one
            last = answer, add
        add(seconds)
        return answer

    return measured


def _timed_run(call: Call, series: CallSeries) -> Call:
    """Return a function that does what *call* does, off the core, and times all of it. Any thread."""

    def add(status: str, start: float) -> None:
        series.runs_with(status).add(perf_counter() - start)

    async def awaited(answer: Awaitable[Any], start: float) -> Any:
        try:
            result = await answer
        except plugin_faults():
            add(_ERROR, start)
            raise
        add(_label_of_run(result), start)
        return result

    def timed(state: Any, pod: Any, node_name: str) -> Any:
        start = perf_counter()
        try:
            answer = call(state, pod, node_name)
        except plugin_faults():
            add(_ERROR, start)
            raise
        if answer is not None and inspect.isawaitable(answer):
            return awaited(answer, start)
        add(_label_of_run(answer), start)
        return answer

    return timed


def _label_of_run(answer: Any) -> str:
    """Return the status in an answer of pre_bind or bind; what is none is a fault."""
    if answer is None:
        return SUCCESS
    return answer.code.label if isinstance(answer, Status) else _ERROR


def _sampled(call: Call, measured: Call, cycles: MeasuredCycles) -> Call:
    """Return a function of a pod that does what *call* does, and measures it in some cycles."""

    def sampled(pod: Any) -> Any:
        return measured(pod) if cycles.now else call(pod)

    return sampled


def _counted(call: Call, measured: Call, series: CallSeries, cycles: MeasuredCycles) -> Call:
    """Return a function that does what *call* does, counts it, and measures it in some cycles.

    The hooks that are counted have three arguments.
    """

    def counted(state: Any, pod: Any, about: Any) -> Any:
        series.calls += 1
        return measured(state, pod, about) if cycles.now else call(state, pod, about)

    return counted


def _loop(call: Call, series: CallSeries, cycles: MeasuredCycles) -> Callable[[int], Call]:
    each = _measured(call, series)

    def chosen(count: int) -> Call:
        series.calls += count
        if cycles.now:
            series.loops -= 1
            if not series.loops:
                series.loops = random_gap(SAMPLED)
                return each
        return call

    return chosen


@record(eq=False)
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
