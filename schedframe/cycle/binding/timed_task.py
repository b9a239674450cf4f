"""What runs off the core for one attempt, timed for metrics: each call of pre_bind and bind."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, ClassVar

from attrs import define
from typing_extensions import override

from ..._plugin_faults import plugin_faults
from ...framework import Status
from ...framework.faults import from_exception
from ..metering.meter import Meter
from .attempt import Attempt
from .bind_task import BindingTask, Steps, drive


@define(eq=False)
class TimedBindingTask(BindingTask):
    """Does what :class:`BindingTask` does.

    The end of the call of the only bind plugin of a pod without pre_bind is the end of the attempt, and one
    reading of the clock serves both. All other calls are counted by themselves.
    """

    meter: ClassVar[Meter]

    @override
    def run(self) -> Any:
        attempt = self.attempt
        binders = attempt.framework.plan.bind
        if len(binders) != 1 or attempt.pre_binders or attempt.binders:
            return drive(self._steps())
        start = perf_counter()
        try:
            answer = binders[0].call(attempt.state, attempt.assumed, attempt.node_name)
        except plugin_faults() as error:
            status = from_exception(binders[0].name, "bind", error)
            self._ended("bind", binders[0].name, start, status)
            return self._outcome(status)
        if answer is None:
            self._bound(attempt, start, perf_counter())
            return None
        return drive(self._answered_since(start, binders[0].name, answer))

    def _bound(self, attempt: Attempt, bind_started: float, ended: float) -> None:
        """Leave the moments in the attempt, which the core counts."""
        attempt.bind_started, attempt.ended = bind_started, ended

    def _answered_since(self, start: float, name: str, answer: Any) -> Steps:
        status = yield from self._awaited_status(name, "bind", answer)
        self._ended("bind", name, start, status)
        return self._outcome_of_only(status)

    @override
    async def _call_on_loop(self, name: str, point: str, call: Callable[..., Any]) -> Status | None:
        start = perf_counter()
        status = await super()._call_on_loop(name, point, call)
        self._ended(point, name, start, status)
        return status

    @override
    def _call(self, name: str, point: str, call: Callable[..., Any]) -> Steps:
        start = perf_counter()
        status = yield from super()._call(name, point, call)
        self._ended(point, name, start, status)
        return status

    def _ended(self, hook: str, plugin: str, start: float, status: Status | None) -> None:
        ended = perf_counter()
        if status is None and hook == "bind":
            self.attempt.ended = ended
        self.meter.binding_call_ended(self.attempt.framework, hook, plugin, ended - start, status)


def timing_with(meter: Meter, *, at_once: bool) -> type[BindingTask]:
    """Return the class of tasks that are counted by *meter*.

    *at_once*: the attempt is counted where its bind ends, and the core finds nothing left to count. The meter
    is an attribute of the class, since one of each task would be set for every pod.
    """
    own: dict[str, Any] = {"__slots__": (), "meter": meter}
    if at_once:
        own["_bound"] = meter.record  # a method that calls it would be another call for each pod
    return type("TimedBindingTask", (TimedBindingTask,), own)
