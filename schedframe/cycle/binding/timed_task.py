"""What runs off the core for one attempt, timed for metrics: each call of pre_bind and bind."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, ClassVar

from typing_extensions import override

from ..._plugin_faults import plugin_faults
from ..._value import record
from ...framework import Status
from ..metering.bound_pods import packed
from ..metering.meter import Meter
from .bind_task import BindingTask, Steps, drive


@record(eq=False)
class TimedBindingTask(BindingTask):
    """A :class:`BindingTask` that times each call of pre_bind and bind; the core counts the attempt."""

    meter: ClassVar[Meter]

    @override
    def run(self) -> Any:
        return drive(self._steps())

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


@record(eq=False)
class CountingBindingTask(TimedBindingTask):
    """A :class:`TimedBindingTask` that also counts the attempt, so that the core has nothing left to count.

    Only if it is the pod's first and binding is one call of the only bind plugin: one reading of the clock
    then ends both. It sets ``attempt.started`` to 0, the sign for the core; with that left as it is the pod
    would count twice.
    """

    @override
    def run(self) -> Any:
        # One function with what is counted: each call of a function more takes 0.2 % of the time of a pod.
        attempt = self.attempt
        framework, info = attempt.framework, attempt.info
        binders = framework.plan.bind
        if len(binders) != 1 or attempt.pre_binders or attempt.binders:
            return drive(self._steps())
        call = binders[0].call
        start = perf_counter()
        try:
            answer = call(attempt.state, attempt.assumed, attempt.node_name)
        except plugin_faults() as error:
            return self._raised(start, binders[0].name, error)
        if answer is not None:
            return drive(self._answered_since(start, binders[0].name, answer))
        if info.attempts > 1:
            self._ended("bind", binders[0].name, start, None)
            return None
        kept = framework.bound_figures
        kept += packed(perf_counter(), start, attempt.searched, attempt.started, info.initial_attempt)
        attempt.started = 0.0
        return None

    def _raised(self, start: float, plugin: str, error: BaseException) -> Any:
        """Return what follows from *error* of the only bind plugin."""
        status = self.fault(plugin, "bind", error)
        self._ended("bind", plugin, start, status)
        return self._outcome(status)

    def _answered_since(self, start: float, name: str, answer: Any) -> Steps:
        status = yield from self._awaited_status(name, "bind", answer)
        self._ended("bind", name, start, status)
        return self._outcome_of_only(status)


def timing_with(meter: Meter, *, at_once: bool) -> type[BindingTask]:
    """Return the class of tasks that are counted by *meter*, *at_once* where that can be.

    The meter is an attribute of the class, since one of each task would be set for every pod.
    """
    task = CountingBindingTask if at_once else TimedBindingTask
    return type(task.__name__, (task,), {"__slots__": (), "meter": meter})
