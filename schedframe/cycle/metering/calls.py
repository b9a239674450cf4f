"""Calls of plugins: all are counted, those of one scheduling cycle in ten are measured.

A wrapper of each call counts and measures; plans without metrics have none. Which cycles are measured is
drawn at random, so that no pattern in the order of pods hides a slow call.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from random import Random
from time import perf_counter
from typing import Any, Final

from attrs import field

from ..._base.plugin_faults import plugin_faults
from ..._base.value import record
from ...framework import Code, Status
from ...framework.hook_calls import Call, ForNodes
from ..latency import Histograms
from . import catalogue

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
_EVALUATED: Final = frozenset({"PreFilter", "Filter", "PreScore", "Score"})
"""Extension points whose calls are counted."""
_RUNS: Final = frozenset({"pre_bind", "bind"})
"""Hooks off the core, each of whose calls is a run of its extension point."""
SUCCESS: Final = "Success"
"""Label of a status of success."""
_ERROR: Final = "Error"
_SKIP: Final = "Skip"
SAMPLED: Final = 10
"""Cycles, and events, for each one that is measured, on the average; cycles as in kube-scheduler."""
FOLDED: Final = 100
"""Measured cycles for each look at all series, which takes 20 µs, as long as a pod of ``basic`` does."""
_draw: Final = Random().random
"""Apart from the scheduler's generator, whose draws are the same with and without metrics."""


def random_gap(mean: int) -> int:
    """Return a number from 1 to 2 * *mean* - 1."""
    return 1 + int(_draw() * (2 * mean - 1))


@record(eq=False)
class MeasuredCycles:
    """Sampling of scheduling cycles. The core's thread writes, others may read."""

    now: bool = False
    """Whether the cycle under way, or the last one, is measured."""
    _left: int = field(factory=lambda: random_gap(SAMPLED))
    """Cycles up to the next one that is measured; at least 1 between cycles."""
    fold: Callable[[], None] = lambda: None
    """Counts the durations that wait for it; called in one of :data:`FOLDED` measured cycles."""
    _until_fold: int = 1

    def begin(self) -> None:
        """Choose whether the cycle that begins is measured."""
        self._left -= 1
        self.now = not self._left
        if self.now:
            self._left = random_gap(SAMPLED)
            self._until_fold -= 1
            if not self._until_fold:
                self._until_fold = FOLDED
                self.fold()


@record(eq=False)
class CallSeries:
    """Calls of one plugin at one extension point."""

    evaluations: int = 0
    """Calls so far that did not skip the pod."""
    durations: Histograms = field(factory=lambda: Histograms(catalogue.CALL_SECONDS.bounds))
    """Of measured calls, by status."""


@record(eq=False)
class PluginCalls:
    """The calls of one profile; a :class:`~schedframe.framework.hook_calls.LoopGuard`."""

    cycles: MeasuredCycles
    points: Histograms
    """Runs by extension point and status: those of pre_bind and bind are added here."""
    series: dict[tuple[str, str], CallSeries] = field(factory=dict)
    """By plugin and extension point."""

    def of(self, plugin: str, point: str) -> CallSeries:
        """Return the calls of *plugin* at *point*."""
        return self.series.setdefault((plugin, point), CallSeries())

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return a function that does what *call* does, counts it and measures some calls."""
        point = POINT_OF_HOOK.get(hook)
        if point is None:
            return call
        series = self.of(plugin, point)
        if hook in _RUNS:
            return self._timed(call, series, point)
        measured = _measured(call, series)
        if point in _EVALUATED:
            return _counted(call, measured, series, self.cycles)
        return _sampled(call, measured, self.cycles)

    def in_loops(self, call: Call, hook: str, plugin: str) -> ForNodes:
        """Return a function from the number of nodes in a loop to what the loop calls for each of them.

        It counts the calls at once, and measures each of them in one cycle of a hundred: with the wrapper of
        :meth:`guarded` a pod whose plugins are called node by node takes 1.6 times as long.
        """
        series, cycles = self.of(plugin, POINT_OF_HOOK[hook]), self.cycles
        measured = _measured(call, series)

        def chosen(count: int) -> Call:
            series.evaluations += count
            return measured if cycles.now and _draw() * SAMPLED < 1 else call

        return chosen

    def evaluations(self) -> dict[tuple[str, str], int]:
        """Return the calls so far that did not skip, by plugin and extension point. Any thread."""
        return {labels: each.evaluations for labels, each in list(self.series.items()) if each.evaluations}

    def _timed(self, call: Call, series: CallSeries, point: str) -> Call:
        """Return a function that does what *call* does off the core, and times all calls. Any thread."""
        cycles = self.cycles
        success, measured = self.points[point, SUCCESS], series.durations[SUCCESS]

        def ended(start: float, status: str) -> None:
            seconds = perf_counter() - start
            if status != _SKIP:
                self.points[point, status].add(seconds)
            if cycles.now:  # of the cycle under way: as good a draw as that of the pod's own
                series.durations[status].add(seconds)

        async def awaited(answer: Awaitable[Any], start: float) -> Any:
            try:
                result = await answer
            except plugin_faults():
                ended(start, _ERROR)
                raise
            ended(start, _label_of_run(result))
            return result

        def timed(state: Any, pod: Any, node_name: str) -> Any:
            start = perf_counter()
            try:
                answer = call(state, pod, node_name)
            except plugin_faults():
                ended(start, _ERROR)
                raise
            if answer is None:
                seconds = perf_counter() - start
                success.append(seconds)
                if cycles.now:
                    measured.append(seconds)
                return None
            if inspect.isawaitable(answer):
                return awaited(answer, start)
            ended(start, _label_of_run(answer))
            return answer

        return timed


def _measured(call: Call, series: CallSeries) -> Call:
    """Return a function that does what *call* does, and measures it."""
    durations = series.durations

    def measured(*arguments: Any) -> Any:
        start = perf_counter()
        try:
            answer = call(*arguments)
        except plugin_faults():
            durations[_ERROR].add(perf_counter() - start)
            raise
        durations[_label_of(answer)].add(perf_counter() - start)
        return answer

    return measured


def _sampled(call: Call, measured: Call, cycles: MeasuredCycles) -> Call:
    """Return a function that does what *call* does, and measures it in some cycles."""

    def sampled(*arguments: Any) -> Any:
        return measured(*arguments) if cycles.now else call(*arguments)

    return sampled


def _counted(call: Call, measured: Call, series: CallSeries, cycles: MeasuredCycles) -> Call:
    """Return a function that does what *call* does, counts it, and measures it in some cycles.

    The hooks that are counted have three arguments.
    """

    def counted(state: Any, pod: Any, about: Any) -> Any:
        try:
            answer = (measured if cycles.now else call)(state, pod, about)
        except plugin_faults():
            series.evaluations += 1
            raise
        if not (isinstance(answer, Status) and answer.code is Code.SKIP):
            series.evaluations += 1
        return answer

    return counted


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


def _label_of_run(answer: Any) -> str:
    """Return the status in an answer of pre_bind or bind; an answer that is none is a fault."""
    if answer is None:
        return SUCCESS
    return answer.code.label if isinstance(answer, Status) else _ERROR
