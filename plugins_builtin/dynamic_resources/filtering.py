"""Nodes on which the claims of a pod can be used or allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import define, field

from schedframe import Handle, Node, NodeInfo, ObjectStore, PluginError, Pod, Status
from schedframe.api import DeviceClass, DeviceRequest, ResourceClaim

from ..node_resources.device_classes import DEVICE_CLASS
from .allocation_memo import (
    CANNOT_ALLOCATE,
    INVALID_POOLS,
    STATUSES,
    TIMED_OUT,
    UNKNOWN,
    AllocationMemos,
    MemoizedPicks,
)
from .allocation_request import AllocationRequest, NodeAllocation
from .allocation_results import score_of
from .claims.extended_resources import (
    BackingClasses,
    claim_in_memory,
    extended_requests,
    missing_resources,
    substitute,
)
from .claims.lookup import BindingFailed, ClaimProblem, claims_of, is_overdue, is_ready
from .claims.tracker import ClaimTracker, tracker_of
from .cycle_state import PodClaims, record_of
from .inventory.node_device_state import NodeDeviceStates, NodeView
from .search.device_search import DeviceSearch, InvalidPools, SearchTimeout

ERR_NOT_AVAILABLE: Final = "resourceclaim not available on the node"
ERR_LEFT_OVER: Final = "cannot schedule extended resource claim"
ERR_CANNOT_FIT: Final = "cannot fit resource"

NOT_AVAILABLE: Final = Status.unresolvable(ERR_NOT_AVAILABLE)
LEFT_OVER: Final = Status.unresolvable(ERR_LEFT_OVER)
CANNOT_FIT: Final = Status.unresolvable(ERR_CANNOT_FIT)
_NOTHING_MISSING: Final[tuple[str, ...]] = ()


def err_in_flight(claim: ResourceClaim) -> str:
    """Return the reason when another pod's attempt is allocating the claim."""
    return f"resource claim {claim.key} is in the process of being allocated"


def err_no_class(request: str, device_class: str) -> str:
    """Return the reason when a request names a class that does not exist."""
    return f"request {request}: device class {device_class} does not exist"


@define(eq=False)
class ClaimFilter:
    """Filters nodes by claims, classes and slices; results are kept in the cycle's :class:`PodClaims`."""

    _handle: Handle
    _filter_timeout: float
    """Seconds that the search on one node may take; 0 for no limit."""
    _binding_timeout: float
    tracker: ClaimTracker = field(init=False)
    classes: BackingClasses = field(init=False)
    states: NodeDeviceStates = field(init=False)
    _objects: ObjectStore = field(init=False)
    _memos: AllocationMemos = field(factory=AllocationMemos, init=False)

    def __attrs_post_init__(self) -> None:
        self._objects = self._handle.objects
        self.tracker = tracker_of(self._objects)
        self.states = self.tracker.states_of(self._handle.table)
        self.classes = BackingClasses(self._objects)

    # ---- the pod -----------------------------------------------------------------------------------------

    def read(self, pod: Pod) -> PodClaims | Status | None:
        """Return the pod's claims, ``None`` if it has none; a status if they reject it on all nodes."""
        self.tracker.sync()
        try:
            own = list(claims_of(pod, self.tracker))
        except ClaimProblem as problem:
            return problem.status
        extended = extended_requests(pod)
        if extended and not self.classes.any_of(extended):
            extended = ()
        if not own and not extended:
            return None
        for claim in own:
            refusal = self._refusal_of(claim)
            if refusal is not None:
                return refusal
        claims = own
        if extended:
            claims = [*own, self.tracker.extended_claim_of(pod) or claim_in_memory(pod)]
            if claims[-1].status.allocation is None and self.tracker.is_in_flight(claims[-1]):
                return Status.unresolvable(err_in_flight(claims[-1]))
        return PodClaims(pod, claims, extended)

    def _refusal_of(self, claim: ResourceClaim) -> Status | None:
        if claim.status.allocation is not None:
            return None
        if self.tracker.is_in_flight(claim):
            return Status.unresolvable(err_in_flight(claim))
        for request in claim.spec.devices.requests:
            for name, device_class in _classes_of(request):
                if self._objects.get(DEVICE_CLASS, device_class) is None:
                    return Status.unresolvable(err_no_class(name, device_class))
        return None

    # ---- one node ----------------------------------------------------------------------------------------

    def filter(self, pod_claims: PodClaims, info: NodeInfo) -> Status | None:
        """Return why the claims cannot be used or allocated on that node, ``None`` if they can."""
        missing = _NOTHING_MISSING
        if pod_claims.extended:
            lacking = self.missing_on(pod_claims, info)
            if isinstance(lacking, Status):
                return lacking
            if not lacking and not pod_claims.own:
                return None
            missing = lacking
        if pod_claims.to_allocate():
            try:
                refusal = self._outcome(self.request_for(pod_claims, missing), info)
            except PluginError as error:
                return Status.from_error(str(error))
            if refusal is not None:
                return refusal
        return NOT_AVAILABLE if self.unavailable(pod_claims, info) else None

    def missing_on(self, pod_claims: PodClaims, info: NodeInfo) -> tuple[str, ...] | Status:
        """Return the extended resources that the node lacks, or the status that rejects it."""
        if pod_claims.claims[-1].spec.devices.requests:
            return LEFT_OVER
        missing = missing_resources(pod_claims.extended, info, self.classes)
        return CANNOT_FIT if missing is None else tuple(missing)

    def request_for(self, pod_claims: PodClaims, missing: tuple[str, ...]) -> AllocationRequest:
        """Return what to allocate on nodes that lack the extended resources *missing*; made once per pod."""
        request = pod_claims.requests.get(missing)
        if request is None:
            claims = [claim for claim in pod_claims.own if claim.status.allocation is None]
            substitutes = None
            if missing:
                assert pod_claims.pod is not None
                substitutes = substitute(pod_claims.pod, missing, self.classes)
                claims.append(substitutes.claim(pod_claims.pod))
            device_claims = tuple(claim.spec.devices for claim in claims)
            memo = self._memos.of(device_claims, self._objects.version(DEVICE_CLASS))
            memo.forget_timeouts()
            request = pod_claims.requests[missing] = AllocationRequest(tuple(claims), memo, substitutes)
        return request

    def unavailable(self, pod_claims: PodClaims, info: NodeInfo) -> set[int]:
        """Return the allocated claims (by index) that the node cannot use, or whose devices are overdue."""
        unavailable = set()
        for index, claim in enumerate(pod_claims.claims):
            if claim.status.allocation is None:
                continue
            selector = pod_claims.selector_of(index)
            is_reachable = selector is None or (info.has_node and selector.matches(info.node))
            if not is_reachable or self.is_late(claim):
                unavailable.add(index)
        return unavailable

    def blocking_claims(self, pod_claims: PodClaims, statuses: Mapping[str, Status]) -> set[int]:
        """Return the claims (by index) that rejected some node; O(nodes) if any claim is allocated."""
        table = self._handle.table
        blocking: set[int] = set()
        if len(pod_claims.to_allocate()) == len(pod_claims.claims):
            return blocking
        for name, status in statuses.items():
            row = table.live_row(name) if status.reasons == NOT_AVAILABLE.reasons else None
            if row is not None:
                blocking |= self.unavailable(pod_claims, table.info(row))
        return blocking

    def is_late(self, claim: ResourceClaim) -> bool:
        """Return whether the devices of an allocated claim failed to get ready, or took too long."""
        try:
            return not is_ready(claim) and is_overdue(claim, self._binding_timeout, self._handle.clock())
        except BindingFailed:
            return True

    # ---- searching ---------------------------------------------------------------------------------------

    def _outcome(self, request: AllocationRequest, info: NodeInfo) -> Status | None:
        row = self.row_of(info)
        if row is None:
            view = NodeView(-1, self.tracker.pools.of_node(info.node))
            outcome = self._search(request, info.node, view)
            return outcome if isinstance(outcome, Status) else None
        self.states.sync()
        code = self.code(request, row)
        return STATUSES[code - 1] if code else None

    def row_of(self, info: NodeInfo) -> int | None:
        """Return the row of the node, ``None`` for a node that is not the one in the table."""
        table = self._handle.table
        row = table.live_row(info.name)
        return row if row is not None and table.node_at(row) is info.node else None

    def code(self, request: AllocationRequest, row: int) -> int:
        """Return the code of a row, see :class:`.AllocationMemo`; an unknown state is searched.

        Raises :class:`PluginError` for invalid claims, classes or slices, which are not kept in the memo.
        """
        states, memo = self.states, request.memo
        state = states.of_row(row)
        memo.fit(states.epoch, states.count)
        code = int(memo.codes[state])
        if code != UNKNOWN:
            return code
        node = states.table.node_at(row)
        assert node is not None
        outcome = self._search(request, node, states.view(row))
        score = outcome.score(request.claims) if isinstance(outcome, MemoizedPicks) else 0
        memo.record(state, outcome, score)
        return int(memo.codes[state])

    def _search(self, request: AllocationRequest, node: Node, view: NodeView) -> MemoizedPicks | Status:
        demands = request.demands(self._class_of)
        if view.problem:
            raise PluginError(view.problem)
        search = DeviceSearch(demands, node, view.pools, self.tracker.usage, self._deadline())
        try:
            picks = search.run()
        except InvalidPools:
            return INVALID_POOLS
        except SearchTimeout:
            return TIMED_OUT
        return CANNOT_ALLOCATE if picks is None else MemoizedPicks.of(demands, picks, view.pools)

    def allocation(self, pod_claims: PodClaims, node_name: str) -> NodeAllocation | None:
        """Return the allocation on a node that passed in this cycle, ``None`` if nothing is allocated.

        O(devices of the claims).
        """
        table = self.states.table
        row = table.live_row(node_name)
        if row is None or not pod_claims.to_allocate():
            return None
        missing = _NOTHING_MISSING
        if pod_claims.extended:
            lacking = self.missing_on(pod_claims, table.info(row))
            if isinstance(lacking, Status) or not (lacking or pod_claims.own):
                return None
            missing = lacking
        request = pod_claims.requests.get(missing)
        picks = request.memo.picks.get(self.states.of_row(row)) if request is not None else None
        if request is None or picks is None:
            return None
        demands = request.demands(self._class_of)
        return NodeAllocation(request, demands, picks.picks(demands, self.states.view(row).pools))

    def score(self, pod_claims: PodClaims, node_name: str) -> int:
        """Return the score of the alternatives that the claims would get on the node, or have."""
        allocation = self.allocation(pod_claims, node_name)
        if allocation is None:
            return 0
        score = sum(
            score_of(demand.claim, {pick.query.name for pick in picks})
            for demand, picks in zip(allocation.demands, allocation.picks, strict=True)
        )
        return score + pod_claims.allocated_score()

    def record(self, pod_claims: PodClaims, nodes: Sequence[str]) -> dict[str, Any]:
        """Return node → claim → devices that would be allocated there."""
        allocations = {name: self.allocation(pod_claims, name) for name in nodes}
        records = {name: record_of(each) for name, each in allocations.items() if each is not None}
        return {name: record for name, record in records.items() if record}

    def _class_of(self, name: str) -> DeviceClass | None:
        device_class: DeviceClass | None = self._objects.get(DEVICE_CLASS, name)
        return device_class

    def _deadline(self) -> Callable[[], bool]:
        if not self._filter_timeout:
            return _never
        return self._handle.deadline(self._filter_timeout)


def _classes_of(request: DeviceRequest) -> list[tuple[str, str]]:
    """Return (name in messages, device class) of a request or each of its alternatives."""
    if request.exactly is not None:
        return [(request.name, request.exactly.device_class_name)]
    return [(f"{request.name}/{part.name}", part.device_class_name) for part in request.first_available]


def _never() -> bool:
    return False
