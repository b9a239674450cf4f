"""A framework that times its extension points, made only for observers that take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

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
from .hook_calls import Guard
from .registry import Registry
from .results import PermitOutcome, PostFilterResult
from .scoring import ScoreTable
from .status import Status
from .verdicts import Diagnosis, Verdicts

PointTimer = Callable[[str, float, Status | None], None]
"""``timer(point, seconds, status)`` gets every run of an extension point, named as in profiles."""


@record(eq=False, repr=False)
class ObservedFramework(Framework):
    """A framework whose extension points are timed; decides as any other."""

    timer: PointTimer = field(kw_only=True)

    @override
    def run_pre_filter(self, state: CycleState, pod: Pod, nodes: Rows | None = None) -> PreFilterOutcome:
        start = perf_counter()
        outcome = super().run_pre_filter(state, pod, nodes)
        self.timer("preFilter", perf_counter() - start, outcome.status)
        return outcome

    @override
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> Verdicts:
        start = perf_counter()
        verdicts = super().filter_rows(state, pod, rows)
        self.timer("filter", perf_counter() - start, None)
        return verdicts

    @override
    def filter_nominated(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        start = perf_counter()
        status = super().filter_nominated(state, pod, info)
        self.timer("filter", perf_counter() - start, status)
        return status

    @override
    def filter_in_order(self, state: CycleState, pod: Pod, rows: Rows, wanted: int) -> tuple[Verdicts, int]:
        start = perf_counter()
        verdicts, end = super().filter_in_order(state, pod, rows, wanted)
        self.timer("filter", perf_counter() - start, None)
        return verdicts, end

    @override
    def run_post_filter(
        self, state: CycleState, pod: Pod, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        start = perf_counter()
        result, status = super().run_post_filter(state, pod, diagnosis)
        self.timer("postFilter", perf_counter() - start, status)
        return result, status

    @override
    def run_pre_score(self, state: CycleState, pod: Pod, rows: Rows) -> Status | None:
        start = perf_counter()
        status = super().run_pre_score(state, pod, rows)
        self.timer("preScore", perf_counter() - start, status)
        return status

    @override
    def run_scores(self, state: CycleState, pod: Pod, rows: Rows) -> ScoreTable | Status:
        start = perf_counter()
        scores = super().run_scores(state, pod, rows)
        error = scores if isinstance(scores, Status) else None
        self.timer("score", perf_counter() - start, error)
        return scores

    @override
    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        start = perf_counter()
        status = super().run_reserve(state, pod, node_name)
        self.timer("reserve", perf_counter() - start, status)
        return status

    @override
    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> PermitOutcome:
        start = perf_counter()
        outcome = super().run_permit(state, pod, node_name)
        self.timer("permit", perf_counter() - start, outcome.status)
        return outcome

    @override
    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> list[Status]:
        start = perf_counter()
        faults = super().run_post_bind(state, pod, node_name)
        self.timer("postBind", perf_counter() - start, faults[0] if faults else None)
        return faults


def build_framework(
    profile: EffectiveProfile,
    registry: Registry,
    handle: Handle,
    guards: Sequence[Guard] = (),
    timer: PointTimer | None = None,
) -> Framework:
    """As :meth:`Framework.build`, with timed extension points if there is a *timer*."""
    framework = Framework.build(profile, registry, handle, guards)
    if timer is None:
        return framework
    return ObservedFramework(profile, framework.plan, handle, timer=timer)
