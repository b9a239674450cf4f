"""The plugin: devices are allocated while nodes are filtered; claims are written before the pod is bound."""

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
    Depends,
    EventRegistration,
    Handle,
    InputError,
    NodeInfo,
    Normalization,
    PluginError,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.api import ClusterObject, Device
from schedframe.framework import RECORDED

from ..args import DynamicResourcesArgs
from ..node_resources.device_classes import DEVICE_CLASS
from .binding import ClaimBinding
from .cel.selector import CelDevice, CelMissingError, compile_selector
from .claims.extended_resources import extended_requests
from .claims.lookup import ClaimProblem, claims_of
from .claims.tracker import EXTENDED_RESOURCE_ANNOTATION
from .cycle_state import NO_CLAIMS, POD_CLAIMS
from .explain import explain_node
from .filtering import ClaimFilter
from .hints import ClaimHints
from .rows import filter_rows, score_rows

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
_EMPTY_SIGNATURE: Final = ()
_WITHOUT_DEVICES: Final = object()
"""Key in the memo of a pod's spec: the pod has no claims and no extended resources."""


@define(eq=False)
class DynamicResources:
    """The hooks. Pods without claims are skipped; pods with claims have no signature and are not cached."""

    # A pod with claims never waits with others: this plugin does not skip it.
    admits_for_good: ClassVar[bool] = True

    args: DynamicResourcesArgs
    handle: Handle
    _filter: ClaimFilter = field(init=False)
    _binding: ClaimBinding = field(init=False)

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT
    reads: ClassVar[tuple[str, ...]] = (DEVICE_CLASS,)
    writes: ClassVar[tuple[str, ...]] = (
        "create ResourceClaim",
        "patch ResourceClaim",
        "patch ResourceClaim/status",
        "patch ResourceClaim/binding",  # since v1.36: to change allocation and reservedFor in the status
        "delete ResourceClaim",
    )
    reads_annotations: ClassVar[tuple[str, ...]] = (EXTENDED_RESOURCE_ANNOTATION,)
    normalization: ClassVar[Normalization] = Normalization.BY_MAX

    @staticmethod
    def device_matches(expression: str, driver: str, device: Device) -> bool:
        """Return whether a selector holds for a device, for snapshots that hide selectors.

        Raises :class:`PluginError` if it fails for the device, :class:`InputError` without a CEL library.
        """
        shared = bool(device.allow_multiple_allocations)
        try:
            selector = compile_selector(expression)
            return selector.matches(CelDevice.of(driver, shared, device.attributes, device.capacity))
        except CelMissingError as error:
            raise InputError("", str(error)) from error

    def __attrs_post_init__(self) -> None:
        binding_timeout = self.args.binding_timeout.seconds
        self._filter = ClaimFilter(self.handle, self.args.filter_timeout.seconds, binding_timeout)
        self._binding = ClaimBinding(self.handle, self._filter.tracker, binding_timeout)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Empty for a pod without claims, ``None`` (not cacheable) for a pod with claims."""
        if _WITHOUT_DEVICES in pod.spec.memo:
            return _EMPTY_SIGNATURE
        if pod.spec.resource_claims:
            return None
        extended = extended_requests(pod)
        return None if extended and self._filter.classes.any_of(extended) else _EMPTY_SIGNATURE

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """The Skip for a pod without claims and extended resources depends on nothing."""
        return () if _WITHOUT_DEVICES in pod.spec.memo else None

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
            return problem.status
        return None

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Look up the claims; Skip if there are none."""
        memo = pod.spec.memo
        if _WITHOUT_DEVICES in memo:
            state.write(POD_CLAIMS, NO_CLAIMS)
            return _SKIP
        if not pod.spec.resource_claims and not extended_requests(pod):
            memo[_WITHOUT_DEVICES] = True
        pod_claims = self._filter.read(pod)
        self._binding.reread_unconfirmed()
        if pod_claims is None or isinstance(pod_claims, Status):
            state.write(POD_CLAIMS, NO_CLAIMS)
            return _SKIP if pod_claims is None else pod_claims
        state.write(POD_CLAIMS, pod_claims)
        recorded = state.get(RECORDED)
        record: Callable[[Sequence[str]], Any] = partial(self._filter.record, pod_claims)
        state.write(RECORDED, {**(recorded or {}), "allocations": record})
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Reject nodes where a claim cannot be used, or cannot be allocated."""
        pod_claims = state.read(POD_CLAIMS)
        return self._filter.filter(pod_claims, node_info) if pod_claims.claims else None

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; nodes of equal device state share one answer."""
        pod_claims = state.read(POD_CLAIMS)
        return filter_rows(self._filter, pod_claims, rows) if pod_claims.claims else None

    @hookimpl
    def explain(self, state: CycleState, node_info: NodeInfo) -> str | None:
        """Return the claims that are allocated elsewhere, or how many devices are in use."""
        return explain_node(self._filter, state.read(POD_CLAIMS), node_info)

    @hookimpl
    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]) -> Status:
        """Deallocate an idle claim that is allocated where the pod cannot use it."""
        pod_claims = state.get(POD_CLAIMS)
        if pod_claims is None:
            return _NO_STATE
        if not pod_claims.claims:
            return _NOTHING_TO_DEALLOCATE
        return self._binding.deallocate(pod_claims, self._filter.blocking_claims(pod_claims, statuses), pod)

    @hookimpl
    def score(self, state: CycleState, node_info: NodeInfo) -> int:
        """Score the alternatives that the claims get: an earlier alternative scores higher."""
        pod_claims = state.read(POD_CLAIMS)
        return self._filter.score(pod_claims, node_info.name) if pod_claims.has_choices else 0

    @hookimpl
    def score_rows(self, state: CycleState, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`."""
        return score_rows(self._filter, state.read(POD_CLAIMS), rows)

    @hookimpl
    def reserve(self, state: CycleState, node_name: str) -> Status | None:
        """Mark the devices on the chosen node as in use."""
        pod_claims = state.read(POD_CLAIMS)
        if not pod_claims.claims:
            return None
        pod_claims.chosen = self._filter.allocation(pod_claims, node_name)
        try:
            return self._binding.reserve(pod_claims, node_name)
        except PluginError as error:  # of a slice that cannot be used, not of this plugin
            return Status.from_error(str(error))

    def reserved_objects(self) -> Sequence[ClusterObject]:
        """Return claims with the allocations that are being written."""
        return self._filter.tracker.in_flight()

    @hookimpl
    def unreserve(self, state: CycleState, pod: Pod) -> None:
        """Release the devices, and the pod's reservation of the claims."""
        pod_claims = state.get(POD_CLAIMS)
        if pod_claims is not None and pod_claims.claims:
            self._binding.unreserve(pod_claims, pod)

    @hookimpl
    def pre_bind_pre_flight(self, state: CycleState) -> Status | None:
        """Skip for a pod without claims."""
        return None if state.read(POD_CLAIMS).claims else _SKIP

    @hookimpl
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        """Write allocations and reservations, then wait until the devices are ready."""
        if not state.read(POD_CLAIMS).claims:
            return None
        try:
            return self._binding.pre_bind(state, pod, node_name)
        except PluginError as error:  # of a claim that changed, or devices that do not get ready
            return Status.from_error(str(error))

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Claims, classes, slices and nodes that come or change; claims made for the pod."""
        return ClaimHints(self._filter.tracker).registrations()
