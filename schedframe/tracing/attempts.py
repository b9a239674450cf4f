"""Spans of attempts: what happened is noted in plain values, and written as spans at the end."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from time import perf_counter, perf_counter_ns, time_ns
from typing import Any, Final

from attrs import field
from opentelemetry.context import Context
from opentelemetry.trace import Span, StatusCode, Tracer, set_span_in_context
from typing_extensions import override

from .._base.value import record
from ..api import Pod
from ..cycle.binding.attempt import Attempt
from ..cycle.observer import SchedulerObserver
from ..cycle.outcomes import AttemptOutcome, AttemptResult
from ..cycle.search.decision import Decision
from ..framework import Code, Status
from ..framework.hook_calls import Call
from ..queue import QueuedPodInfo

_SEARCH: Final = {
    "pre_filter": "pre_filter",
    "filter": "filter",
    "filter_rows": "filter",
    "filter_groups": "filter",
    "pre_score": "pre_score",
    "score": "score",
    "score_rows": "score",
    "score_groups": "score",
    "normalize_scores": "score",
}
"""Hook → span that all of its calls in a search have together."""
_POST_FILTER: Final = "post_filter"
_CYCLE: Final = frozenset({_POST_FILTER, "reserve", "permit"})
"""Hooks that run once for each plugin after the search, with one span for all plugins."""
_BINDING: Final = frozenset({"pre_bind", "bind", "post_bind"})
"""Hooks with a span for each call, which may run in any thread."""
_Outcome = Status | BaseException | None
"""What a plugin returned or raised; ``None`` is success."""


@record(eq=False)
class Step:
    """One child span. Times in seconds of ``perf_counter``."""

    name: str
    start: float
    end: float
    outcome: _Outcome = None
    plugin: str = ""
    """The plugin that was called; of several, the one with the outcome."""
    calls: int = 0
    """Calls of plugins, where one span stands for several."""


@record(eq=False)
class AttemptSpan:
    """The span of one attempt that is sampled."""

    tracer: Tracer
    uid: str
    span: Span
    started: float
    offset: int
    """Nanoseconds since the epoch at 0 of ``perf_counter``."""
    searched: float | None = None
    points: dict[str, Step] = field(factory=dict)
    """Extension points of the core, by name."""
    steps: list[Step] = field(factory=list)
    """The others; appended to in the core and in threads of the executor."""
    in_post_filter: bool = False
    """Whether post_filter is being called: the filters that it runs are part of it."""

    def takes(self, hook: str) -> bool:
        """Return whether a call of *hook* in the core belongs to a span of its own."""
        return not self.in_post_filter and (self.searched is None or hook in _CYCLE)

    def point_called(self, hook: str, plugin: str, start: float, answer: Any) -> None:
        """Note a call of a plugin in the core."""
        end, name = perf_counter(), _SEARCH.get(hook, hook)
        step = self.points.get(name)
        if step is None:
            step = self.points[name] = Step(name, start, end)
        step.end = end
        step.calls += 1
        outcome = _outcome_of(answer)
        # That one node is rejected says nothing about the search.
        if outcome is not None and (name != "filter" or _is_fault(outcome)):
            step.outcome, step.plugin = outcome, plugin

    def binding_called(self, hook: str, plugin: str, start: float, answer: Any) -> None:
        """Note a call of a plugin that binds. Any thread."""
        self.steps.append(Step(hook, start, perf_counter(), _outcome_of(answer), plugin))

    def permit_ended(self, status: Status | None) -> None:
        """Note the end of the wait in permit."""
        end, permit = perf_counter(), self.points.get("permit")
        plugin = "" if status is None else status.plugin
        since = end if permit is None else permit.end
        self.steps.append(Step("wait_on_permit", since, end, status, plugin))

    def write(self, outcome: AttemptOutcome, node_name: str) -> None:
        """Write everything that was noted, and end the span."""
        now = perf_counter()
        try:
            self._write_steps(now if self.searched is None else self.searched)
            self._write_end(outcome, node_name)
        finally:
            self.span.end(self._time_of(now))

    def _write_steps(self, searched: float) -> None:
        context = set_span_in_context(self.span)
        search = self._begin(Step("search", self.started, searched), context)
        in_search = set_span_in_context(search)
        for step in sorted([*self.points.values(), *self.steps], key=lambda step: step.start):
            is_search = step.name in _SEARCH
            span = self._begin(step, in_search if is_search else context)
            if step.plugin:
                span.set_attribute("schedframe.plugin", step.plugin)
            if step.calls:
                span.set_attribute("schedframe.calls", step.calls)
            _write_outcome(span, step.outcome)
            span.end(self._time_of(step.end))
        search.end(self._time_of(searched))

    def _begin(self, step: Step, context: Context) -> Span:
        return self.tracer.start_span(step.name, context, start_time=self._time_of(step.start))

    def _write_end(self, outcome: AttemptOutcome, node_name: str) -> None:
        span, message = self.span, outcome.message
        span.set_attribute("schedframe.result", outcome.result.value)
        if node_name:
            span.set_attribute("k8s.node.name", node_name)
        if outcome.plugins:
            span.set_attribute("schedframe.rejected_by", outcome.rejected_by)
        if message:
            span.set_attribute("schedframe.message", message)
        if outcome.result is AttemptResult.ERROR:
            _write_error(span, message, outcome.error)

    def _time_of(self, seconds: float) -> int:
        return self.offset + round(seconds * 1e9)


_CLOSED: Final = AttemptOutcome(
    AttemptResult.ERROR, status=Status.from_error("the scheduler was closed before the attempt ended")
)


@record(eq=False)
class SpanTracer(SchedulerObserver):
    """Traces the attempts of one scheduler that the sampler of *tracer* takes; guards its calls."""

    tracer: Tracer
    current: AttemptSpan | None = None
    """Of the pod whose scheduling cycle runs."""
    _open: dict[str, AttemptSpan] = field(factory=dict)
    """Attempts that have not ended, by uid."""

    @override
    def guard_of(self, profile: str) -> SpanTracer:
        return self

    @override
    def attempt_began(self, profile: str, info: QueuedPodInfo, started: float) -> None:
        pod, offset = info.pod, time_ns() - perf_counter_ns()
        self.current = None
        attributes: dict[str, str | int] = {
            "k8s.namespace.name": pod.namespace,
            "k8s.pod.name": pod.name,
            "k8s.pod.uid": pod.uid,
            "schedframe.profile": profile,
            "schedframe.attempt": info.attempts,
        }
        start = offset + round(started * 1e9)
        span = self.tracer.start_span("schedule_pod", attributes=attributes, start_time=start)
        if span.is_recording():
            self.current = self._open[pod.uid] = AttemptSpan(self.tracer, pod.uid, span, started, offset)

    @override
    def decided(self, profile: str, info: QueuedPodInfo, decision: Decision) -> None:
        trace = self._open.get(info.uid)
        if trace is not None:
            trace.searched = perf_counter()

    @override
    def cycle_ended(self, attempt: Attempt) -> None:
        self.current = None

    @override
    def permit_ended(self, attempt: Attempt, status: Status | None, seconds: float) -> None:
        trace = self._open.get(attempt.info.uid)
        if trace is not None:
            trace.permit_ended(status)

    @override
    def attempt_ended(self, attempt: Attempt, outcome: AttemptOutcome) -> None:
        trace = self._open.pop(attempt.info.uid, None)
        if trace is None:
            return
        if self.current is trace:
            self.current = None
        if trace.searched is None:  # of a member of a group, whose search was that of the group
            trace.searched = attempt.searched
        trace.write(outcome, attempt.node_name)

    @override
    def closed(self) -> None:
        for trace in list(self._open.values()):
            trace.write(_CLOSED, "")
        self._open.clear()

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return *call*, traced."""
        if hook in _BINDING:
            return self._traced_binding(call, hook, plugin)
        return self._traced_point(call, hook, plugin) if hook in _SEARCH or hook in _CYCLE else call

    def _traced_point(self, call: Call, hook: str, plugin: str) -> Call:
        is_post_filter = hook == _POST_FILTER

        def traced(*arguments: Any) -> Any:
            trace = self.current
            if trace is None or not trace.takes(hook):
                return call(*arguments)
            trace.in_post_filter = is_post_filter
            start = perf_counter()
            try:
                answer = call(*arguments)
            except Exception as error:
                trace.point_called(hook, plugin, start, error)
                raise
            finally:
                trace.in_post_filter = False
            trace.point_called(hook, plugin, start, answer)
            return answer

        return traced

    def _traced_binding(self, call: Call, hook: str, plugin: str) -> Call:
        open_traces = self._open

        def traced(state: Any, pod: Pod, *arguments: Any) -> Any:
            trace = open_traces.get(pod.uid) if open_traces else None
            if trace is None:
                return call(state, pod, *arguments)
            start = perf_counter()
            try:
                answer = call(state, pod, *arguments)
            except Exception as error:
                trace.binding_called(hook, plugin, start, error)
                raise
            if inspect.isawaitable(answer):
                return awaited(trace, start, answer)
            trace.binding_called(hook, plugin, start, answer)
            return answer

        async def awaited(trace: AttemptSpan, start: float, answer: Awaitable[Any]) -> Any:
            try:
                result = await answer
            except BaseException as error:  # cancellation included
                trace.binding_called(hook, plugin, start, error)
                raise
            trace.binding_called(hook, plugin, start, result)
            return result

        return traced


def _outcome_of(answer: Any) -> _Outcome:
    """Return the status in the answer of a hook, or what it raised; other answers are successes."""
    if isinstance(answer, tuple) and answer:
        answer = answer[-1]
    return answer if isinstance(answer, Status | BaseException) else None


def _is_fault(outcome: _Outcome) -> bool:
    return outcome.code is Code.ERROR if isinstance(outcome, Status) else outcome is not None


def _write_outcome(span: Span, outcome: _Outcome) -> None:
    if isinstance(outcome, Status):
        span.set_attribute("schedframe.status", outcome.code.label)
        if _is_fault(outcome):
            _write_error(span, outcome.message, outcome.error)
    elif outcome is not None:
        _write_error(span, str(outcome), outcome)


def _write_error(span: Span, text: str, error: BaseException | None) -> None:
    span.set_status(StatusCode.ERROR, text)
    if error is not None:
        span.record_exception(error)
