"""The plugin: claims to devices, allocated while a node is looked for and written before the pod is bound."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import (
    Code,
    CycleState,
    EventRegistration,
    Handle,
    NodeInfo,
    Normalization,
    PluginError,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.framework import RECORDED

from ..args import DynamicResourcesArgs
from ..node_resources.device_classes import DEVICE_CLASS
from .binding import Binding
from .claims.extended_resources import extended_requests
from .claims.lookup import ClaimProblem, claims_of
from .cycle_state import NO_CLAIMS, POD_CLAIMS
from .explain import explain_node
from .filtering import ClaimFilter
from .hints import ClaimHints
from .rows import judge_rows, score_rows

ERR_NO_STATE: Final = "not found"
NOTHING_TO_DEALLOCATE: Final = "no new claims to deallocate"

_SKIP = Status.skip()
_NO_STATE = Status(
    Code.ERROR,
    (ERR_NO_STATE,),
    error=PluginError(
        "another plugin rejected the pod at pre_filter, before DynamicResources looked up its claims; "
        "kube-scheduler reports the same error"
    ),
)
_NOTHING_TO_DEALLOCATE = Status.unschedulable(NOTHING_TO_DEALLOCATE)
_NO_SIGNATURE_NEEDED: Final = ()
_PLAIN: Final = object()
"""Key under which a pod's spec remembers that it has nothing to do with devices."""


@define(eq=False)
class DynamicResources:
    """Pods without claims pass at once; no class of pods with claims is remembered."""

    args: DynamicResourcesArgs
    handle: Handle
    _filter: ClaimFilter = field(init=False)
    _binding: Binding = field(init=False)

    row_local: ClassVar[bool] = True
    node_only: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = (DEVICE_CLASS,)
    normalization: ClassVar[Normalization] = Normalization.BY_MAX

    def __attrs_post_init__(self) -> None:
        binding_timeout = self.args.binding_timeout.seconds
        self._filter = ClaimFilter(self.handle, self.args.filter_timeout.seconds, binding_timeout)
        self._binding = Binding(self.handle, self._filter.tracker, binding_timeout)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Nothing of a pod without claims is read."""
        if _PLAIN in pod.spec.memo:
            return _NO_SIGNATURE_NEEDED
        if pod.spec.resource_claims:
            return None
        extended = extended_requests(pod)
        return None if extended and self._filter.classes.any_of(extended) else _NO_SIGNATURE_NEEDED

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """A pod without claims, and without what a device could stand for, is none of ours."""
        return () if _PLAIN in pod.spec.memo else None

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Wait until the pod's claims exist."""
        if not pod.spec.resource_claims:
            return None
        tracker = self._filter.tracker
        tracker.sync()
        try:
            for _ in claims_of(pod, tracker):
                pass
        except ClaimProblem as problem:
            return Status.unresolvable(str(problem))
        return None

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Look the claims up; Skip if there are none."""
        memo = pod.spec.memo
        if _PLAIN in memo:
            state.write(POD_CLAIMS, NO_CLAIMS)
            return _SKIP
        if not pod.spec.resource_claims and not extended_requests(pod):
            memo[_PLAIN] = True
        found = self._filter.read(pod)
        self._binding.ask_again()
        if found is None or isinstance(found, Status):
            state.write(POD_CLAIMS, NO_CLAIMS)
            return _SKIP if found is None else found
        state.write(POD_CLAIMS, found)
        recorded = state.get(RECORDED)
        record: Callable[[Sequence[str]], Any] = partial(self._filter.record, found)
        state.write(RECORDED, {**(recorded or {}), "allocations": record})
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Can the claims be used on the node, and those that are not allocated be allocated there?"""
        found = state.read(POD_CLAIMS)
        return self._filter.judge(found, node_info) if found.claims else None

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; nodes with alike devices in alike use share one answer."""
        found = state.read(POD_CLAIMS)
        return judge_rows(self._filter, found, rows) if found.claims else None

    @hookimpl
    def explain(self, state: CycleState, node_info: NodeInfo) -> str | None:
        """The claims that are elsewhere, or how many devices are taken."""
        return explain_node(self._filter, state.read(POD_CLAIMS), node_info)

    @hookimpl
    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]) -> Status:
        """Give an idle claim back that is allocated where the pod cannot use it."""
        found = state.get(POD_CLAIMS)
        if found is None:
            return _NO_STATE
        if not found.claims:
            return _NOTHING_TO_DEALLOCATE
        return self._binding.deallocate(found, self._filter.kept_away(found, statuses), pod)

    @hookimpl
    def score(self, state: CycleState, node_info: NodeInfo) -> int:
        """The earlier the alternatives stand that the claims get, the better."""
        found = state.read(POD_CLAIMS)
        return self._filter.score(found, node_info.name) if found.has_choices else 0

    @hookimpl
    def score_rows(self, state: CycleState, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`."""
        return score_rows(self._filter, state.read(POD_CLAIMS), rows)

    @hookimpl
    def reserve(self, state: CycleState, node_name: str) -> Status | None:
        """The devices on the chosen node are taken from now on."""
        found = state.read(POD_CLAIMS)
        if not found.claims:
            return None
        found.chosen = self._filter.allocation(found, node_name)
        return self._binding.reserve(found, node_name)

    @hookimpl
    def unreserve(self, state: CycleState, pod: Pod) -> None:
        """Give the devices back, and the pod's place among those that may use the claims."""
        found = state.get(POD_CLAIMS)
        if found is not None and found.claims:
            self._binding.unreserve(found, pod)

    @hookimpl
    def pre_bind_pre_flight(self, state: CycleState) -> Status | None:
        """Skip for a pod without claims."""
        return None if state.read(POD_CLAIMS).claims else _SKIP

    @hookimpl
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        """Write allocations and reservations, then wait until the devices are ready."""
        found = state.read(POD_CLAIMS)
        return self._binding.pre_bind(found, pod, node_name) if found.claims else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Claims, classes, slices and nodes that come or change; claims made for the pod."""
        return ClaimHints(self._filter.tracker).registrations()
