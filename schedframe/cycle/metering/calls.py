"""Calls of plugins: all are counted, those of sampled cycles are timed.

Plans without metrics have no wrappers.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from time import perf_counter
from typing import Any, Final

from attrs import field

from ..._base.plugin_faults import plugin_faults
from ..._base.value import record
from ...framework import Code, Status
from ...framework.hook_calls import Call, ForNodes
from ..latency import Histograms
from ..sampled_calls import SampledCycles, draw, sampled, timed
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
"""Cycles for each one that is sampled, on the average, as in kube-scheduler."""


@record(eq=False)
class CallSeries:
    """Calls of one plugin at one extension point."""

    evaluations: int = 0
    """Calls so far that did not skip the pod."""
    durations: Histograms = field(factory=lambda: Histograms(catalogue.CALL_SECONDS.bounds))
    """Of timed calls, by status."""

    def ended(self, seconds: float, answer: Any) -> None:
        """Count the time of a call; *answer* is what it returned or raised."""
        self.durations[_label_of(answer)].add(seconds)


@record(eq=False)
class PluginCalls:
    """The calls of one profile; a :class:`~schedframe.framework.hook_calls.LoopGuard`."""

    cycles: SampledCycles
    points: Histograms
    """Runs by extension point and status: those of pre_bind and bind are added here."""
    series: dict[tuple[str, str], CallSeries] = field(factory=dict)
    """By plugin and extension point."""

    def of(self, plugin: str, point: str) -> CallSeries:
        """Return the calls of *plugin* at *point*."""
        return self.series.setdefault((plugin, point), CallSeries())

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return a function that does what *call* does, counts it and times some calls."""
        point = POINT_OF_HOOK.get(hook)
        if point is None:
            return call
        series = self.of(plugin, point)
        if hook in _RUNS:
            return self._timed(call, series, point)
        in_sample = timed(call, series.ended)
        if point in _EVALUATED:
            return _counted(call, in_sample, series, self.cycles)
        return sampled(call, in_sample, self.cycles)

    def in_loops(self, call: Call, hook: str, plugin: str) -> ForNodes:
        """Return a function from the number of nodes in a loop to what the loop calls for each of them.

        It counts the calls at once, and times each of them in one sampled cycle of as many: with the wrapper
        of :meth:`guarded` a pod whose plugins are called node by node takes 1.6 times as long.
        """
        series, cycles = self.of(plugin, POINT_OF_HOOK[hook]), self.cycles
        in_sample, mean = timed(call, series.ended), cycles.mean

        def chosen(count: int) -> Call:
            series.evaluations += count
            return in_sample if cycles.now and draw() * mean < 1 else call

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


def _counted(call: Call, in_sample: Call, series: CallSeries, cycles: SampledCycles) -> Call:
    """Return a function that does what *call* does, counts it, and times it in some cycles.

    The hooks that are counted have three arguments.
    """

    def counted(state: Any, pod: Any, about: Any) -> Any:
        try:
            answer = (in_sample if cycles.now else call)(state, pod, about)
        except plugin_faults():
            series.evaluations += 1
            raise
        if not (isinstance(answer, Status) and answer.code is Code.SKIP):
            series.evaluations += 1
        return answer

    return counted


def _label_of(answer: Any) -> str:
    """Return the status in the answer of a hook, or for what it raised; other answers are successes."""
    if isinstance(answer, tuple) and answer:
        answer = answer[-1]
    if isinstance(answer, Status):
        return answer.code.label
    return _ERROR if isinstance(answer, BaseException) else SUCCESS


def _label_of_run(answer: Any) -> str:
    """Return the status in an answer of pre_bind or bind; an answer that is none is a fault."""
    if answer is None:
        return SUCCESS
    return answer.code.label if isinstance(answer, Status) else _ERROR
