"""Which claims a pod has, and on which nodes they can be used or allocated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define, field

from schedframe import DeviceClass, DeviceRequest, Handle, NodeInfo, ObjectStore, Pod, ResourceClaim, Status

from ..node_resources.device_classes import DEVICE_CLASS
from .allocator import InvalidPools, OutOfTime, Picks, Search
from .claims import BindingFailed, ClaimProblem, claims_of, is_overdue, is_ready
from .extended import (
    BackingClasses,
    Substitute,
    claim_in_memory,
    extended_requests,
    missing_resources,
    substitute,
)
from .requests import Demand, demand_of
from .shapes import Shapes
from .state import NodeAllocation, PodClaims
from .tracker import ClaimTracker, tracker_of

ERR_CANNOT_ALLOCATE: Final = "cannot allocate all claims"
ERR_NOT_AVAILABLE: Final = "resourceclaim not available on the node"
ERR_INVALID_POOLS: Final = "invalid resource pools were encountered"
ERR_TIMED_OUT: Final = "timed out trying to allocate devices"
ERR_LEFT_OVER: Final = "cannot schedule extended resource claim"
ERR_CANNOT_FIT: Final = "cannot fit resource"

_CANNOT_ALLOCATE = Status.unresolvable(ERR_CANNOT_ALLOCATE)
_NOT_AVAILABLE = Status.unresolvable(ERR_NOT_AVAILABLE)
_INVALID_POOLS = Status.unresolvable(ERR_INVALID_POOLS)
_TIMED_OUT = Status.unresolvable(ERR_TIMED_OUT)
_LEFT_OVER = Status.unresolvable(ERR_LEFT_OVER)
_CANNOT_FIT = Status.unresolvable(ERR_CANNOT_FIT)


def err_in_flight(claim: ResourceClaim) -> str:
    """The reason when another pod's attempt is allocating the claim."""
    return f"resource claim {claim.key} is in the process of being allocated"


def err_no_class(request: str, device_class: str) -> str:
    """The reason when a request names a class that does not exist."""
    return f"request {request}: device class {device_class} does not exist"


@define(eq=False)
class ClaimFilter:
    """Reads claims, classes and slices; keeps what it finds in the cycle's :class:`PodClaims`."""

    _handle: Handle
    _filter_timeout: float
    """Seconds that the search on one node may take; 0 is no limit."""
    _binding_timeout: float
    tracker: ClaimTracker = field(init=False)
    classes: BackingClasses = field(init=False)
    _objects: ObjectStore = field(init=False)
    _shapes: Shapes = field(factory=Shapes, init=False)

    def __attrs_post_init__(self) -> None:
        self._objects = self._handle.objects
        self.tracker = tracker_of(self._objects)
        self.classes = BackingClasses(self._objects)

    # ---- the pod -----------------------------------------------------------------------------------------

    def read(self, pod: Pod) -> PodClaims | Status | None:
        """The pod's claims, ``None`` if it has none; a status if it cannot be scheduled with them."""
        self.tracker.sync()
        try:
            own = list(claims_of(pod, self.tracker))
        except ClaimProblem as problem:
            return Status.unresolvable(str(problem))
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

    def judge(self, found: PodClaims, info: NodeInfo) -> Status | None:
        """Can the pod's claims be had on that node? What they would get is kept for the steps to come."""
        stand_in: tuple[Substitute, Demand] | None = None
        if found.extended:
            answer = self._stand_in(found, info)
            if isinstance(answer, Status):
                return answer
            stand_in = answer
            if stand_in is None and not found.own:
                return None
        unavailable = self.unavailable(found, info)
        allocation: NodeAllocation | None = None
        if found.to_allocate():
            outcome = self._allocate(found, info, stand_in)
            if isinstance(outcome, Status):
                return outcome
            allocation = outcome
        if unavailable:
            found.unavailable |= unavailable
            return _NOT_AVAILABLE
        if allocation is not None:
            found.allocations[info.name] = allocation
        return None

    def _stand_in(self, found: PodClaims, info: NodeInfo) -> tuple[Substitute, Demand] | Status | None:
        """What stands in for extended resources on that node, ``None`` if nothing has to."""
        assert found.pod is not None
        if found.claims[-1].spec.devices.requests:
            return _LEFT_OVER
        missing = missing_resources(found.extended, info, self.classes)
        if missing is None:
            return _CANNOT_FIT
        if not missing and not found.own:
            return None
        key = tuple(missing)
        known = found.substitutes.get(key)
        if known is None:
            made = substitute(found.pod, missing, self.classes)
            known = found.substitutes[key] = made, demand_of(made.claim(found.pod), self._class_of)
        return known

    def unavailable(self, found: PodClaims, info: NodeInfo) -> set[int]:
        """Allocated claims that cannot be used from the node, or whose devices do not get ready."""
        unavailable = set()
        for index, claim in enumerate(found.claims):
            if claim.status.allocation is None:
                continue
            selector = found.selector_of(index)
            if selector is not None and (info.node is None or not selector.matches(info.node)):
                unavailable.add(index)
                continue
            try:
                late = not is_ready(claim) and is_overdue(claim, self._binding_timeout, self._handle.clock())
            except BindingFailed:
                late = True
            if late:
                unavailable.add(index)
        return unavailable

    def _allocate(
        self, found: PodClaims, info: NodeInfo, stand_in: tuple[Substitute, Demand] | None
    ) -> NodeAllocation | Status:
        if found.demands is None:
            own = (claim for claim in found.own if claim.status.allocation is None)
            found.demands = tuple(demand_of(claim, self._class_of) for claim in own)
        demands = found.demands if stand_in is None else (*found.demands, stand_in[1])
        assert info.node is not None
        pools, usage = self.tracker.pools.of_node(info.node), self.tracker.usage
        shape = found.shapes.get(stand_in)
        if shape is None:
            shape = found.shapes[stand_in] = self._shapes.of(demands, self._objects.version(DEVICE_CLASS))
        outcome = shape.recall(info.name, pools, usage)
        if outcome is None:
            outcome = self._search(Search(demands, info.node, pools, usage, self._alarm()))
            if outcome is not _TIMED_OUT:
                shape.keep(info.name, pools, usage, outcome)
        if isinstance(outcome, Status):
            return outcome
        return NodeAllocation(demands, outcome, None if stand_in is None else stand_in[0])

    def _search(self, search: Search) -> Picks | Status:
        try:
            picks = search.run()
        except InvalidPools:
            return _INVALID_POOLS
        except OutOfTime:
            return _TIMED_OUT
        return _CANNOT_ALLOCATE if picks is None else picks

    def _class_of(self, name: str) -> DeviceClass | None:
        found: DeviceClass | None = self._objects.get(DEVICE_CLASS, name)
        return found

    def _alarm(self) -> Callable[[], bool]:
        if not self._filter_timeout:
            return _never
        clock, end = self._handle.clock, self._handle.clock() + self._filter_timeout
        return lambda: clock() > end


def _classes_of(request: DeviceRequest) -> list[tuple[str, str]]:
    """Names, as in messages, and device classes of a request or its alternatives."""
    if request.exactly is not None:
        return [(request.name, request.exactly.device_class_name)]
    return [(f"{request.name}/{part.name}", part.device_class_name) for part in request.first_available]


def _never() -> bool:
    return False
