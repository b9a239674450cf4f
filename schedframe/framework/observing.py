"""A framework that times its extension points, made only for observers that ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

from attrs import field
from typing_extensions import override

from .._base.value import record
from ..api import Pod
from ..config import EffectiveProfile
from ..state import NodeInfo, Rows
from .cycle_state import CycleState
from .filtering import PreFilterOutcome
from .framework import Framework
from .handle import Handle
from .hook_calls import Guard, Observer
from .registry import Registry
from .results import PermitOutcome, PostFilterResult
from .scoring import ScoreTable
from .status import Status
from .verdicts import Diagnosis, Verdicts


@runtime_checkable
class PointObserver(Observer, Protocol):
    """Receives every plugin call of one profile, and every run of an extension point.

    Called in the core, ``plugin_called`` of pre_bind and bind in threads of the executor.
    """

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """All plugins at *point* (as profiles name it) took *seconds*; ``None`` is success.

        Answers from the equivalence cache run no plugin and no point. Timed are the points in the core from
        preFilter to permit, and postBind; preBind and bind are seen as plugin calls.
        """
        ...


class PointTimer(Protocol):
    """Receives every run of an extension point."""

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """As in :class:`PointObserver`."""
        ...


@record(frozen=True)
class PointTimers:
    """Several timers as one."""

    timers: Sequence[PointTimer]

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """Pass the run on."""
        for timer in self.timers:
            timer.point_ended(point, seconds, status)


@record(frozen=True)
class Observers:
    """Several observers as one."""

    plugin_observers: Sequence[Observer]
    point_observers: Sequence[PointObserver] = field(init=False)

    def __attrs_post_init__(self) -> None:
        points = tuple(each for each in self.plugin_observers if isinstance(each, PointObserver))
        object.__setattr__(self, "point_observers", points)

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        """Pass the call on."""
        for observer in self.plugin_observers:
            observer.plugin_called(point, plugin, seconds, result)

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """Pass the run on."""
        for observer in self.point_observers:
            observer.point_ended(point, seconds, status)


@record(eq=False, repr=False)
class ObservedFramework(Framework):
    """A framework whose extension points are timed; decides as any other."""

    timer: PointTimer = field(kw_only=True)

    @override
    def run_pre_filter(self, state: CycleState, pod: Pod, nodes: Rows | None = None) -> PreFilterOutcome:
        start = perf_counter()
        outcome = super().run_pre_filter(state, pod, nodes)
        self.timer.point_ended("preFilter", perf_counter() - start, outcome.status)
        return outcome

    @override
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> Verdicts:
        start = perf_counter()
        verdicts = super().filter_rows(state, pod, rows)
        self.timer.point_ended("filter", perf_counter() - start, None)
        return verdicts

    @override
    def filter_nominated(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        start = perf_counter()
        status = super().filter_nominated(state, pod, info)
        self.timer.point_ended("filter", perf_counter() - start, status)
        return status

    @override
    def filter_in_order(self, state: CycleState, pod: Pod, rows: Rows, wanted: int) -> tuple[Verdicts, int]:
        start = perf_counter()
        verdicts, end = super().filter_in_order(state, pod, rows, wanted)
        self.timer.point_ended("filter", perf_counter() - start, None)
        return verdicts, end

    @override
    def run_post_filter(
        self, state: CycleState, pod: Pod, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        start = perf_counter()
        result, status = super().run_post_filter(state, pod, diagnosis)
        self.timer.point_ended("postFilter", perf_counter() - start, status)
        return result, status

    @override
    def run_pre_score(self, state: CycleState, pod: Pod, rows: Rows) -> Status | None:
        start = perf_counter()
        status = super().run_pre_score(state, pod, rows)
        self.timer.point_ended("preScore", perf_counter() - start, status)
        return status

    @override
    def run_scores(self, state: CycleState, pod: Pod, rows: Rows) -> ScoreTable | Status:
        start = perf_counter()
        scores = super().run_scores(state, pod, rows)
        error = scores if isinstance(scores, Status) else None
        self.timer.point_ended("score", perf_counter() - start, error)
        return scores

    @override
    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        start = perf_counter()
        status = super().run_reserve(state, pod, node_name)
        self.timer.point_ended("reserve", perf_counter() - start, status)
        return status

    @override
    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> PermitOutcome:
        start = perf_counter()
        outcome = super().run_permit(state, pod, node_name)
        self.timer.point_ended("permit", perf_counter() - start, outcome.status)
        return outcome

    @override
    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> list[Status]:
        start = perf_counter()
        faults = super().run_post_bind(state, pod, node_name)
        self.timer.point_ended("postBind", perf_counter() - start, faults[0] if faults else None)
        return faults


def build_framework(
    profile: EffectiveProfile,
    registry: Registry,
    handle: Handle,
    observer: Observer | None,
    guards: Sequence[Guard] = (),
    timer: PointTimer | None = None,
) -> Framework:
    """As :meth:`Framework.build`, with timed extension points for *timer*, or a :class:`PointObserver`."""
    framework = Framework.build(profile, registry, handle, observer, guards)
    observing = observer if isinstance(observer, PointObserver) else None
    timers = [each for each in (observing, timer) if each is not None]
    if not timers:
        return framework
    timed = timers[0] if len(timers) == 1 else PointTimers(timers)
    return ObservedFramework(profile, framework.plan, handle, timer=timed)
