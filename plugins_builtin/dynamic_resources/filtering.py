"""Which claims a pod has, and on which nodes they can be used or allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import define, field

from schedframe import (
    DeviceClass,
    Handle,
    Node,
    NodeInfo,
    ObjectStore,
    PluginError,
    Pod,
    ResourceClaim,
    Status,
)
from schedframe.api import DeviceRequest

from ..node_resources.device_classes import DEVICE_CLASS
from .allocation_memo import CANNOT_ALLOCATE, INVALID_POOLS, STATUSES, TIMED_OUT, UNKNOWN, Found, Shapes
from .allocation_request import Asked, NodeAllocation
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
from .inventory.node_device_state import DeviceStates, View
from .search.device_search import InvalidPools, OutOfTime, Search

ERR_NOT_AVAILABLE: Final = "resourceclaim not available on the node"
ERR_LEFT_OVER: Final = "cannot schedule extended resource claim"
ERR_CANNOT_FIT: Final = "cannot fit resource"

NOT_AVAILABLE: Final = Status.unresolvable(ERR_NOT_AVAILABLE)
LEFT_OVER: Final = Status.unresolvable(ERR_LEFT_OVER)
CANNOT_FIT: Final = Status.unresolvable(ERR_CANNOT_FIT)
_NOTHING_MISSING: Final[tuple[str, ...]] = ()


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
    states: DeviceStates = field(init=False)
    _objects: ObjectStore = field(init=False)
    _shapes: Shapes = field(factory=Shapes, init=False)

    def __attrs_post_init__(self) -> None:
        self._objects = self._handle.objects
        self.tracker = tracker_of(self._objects)
        self.states = self.tracker.states_of(self._handle.table)
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
        """Can the pod's claims be had on that node?"""
        missing = _NOTHING_MISSING
        if found.extended:
            lacking = self.lacking(found, info)
            if isinstance(lacking, Status):
                return lacking
            if not lacking and not found.own:
                return None
            missing = lacking
        if found.to_allocate():
            try:
                refusal = self._outcome(self.asked(found, missing), info)
            except PluginError as error:
                return Status.from_error(error)
            if refusal is not None:
                return refusal
        return NOT_AVAILABLE if self.unavailable(found, info) else None

    def lacking(self, found: PodClaims, info: NodeInfo) -> tuple[str, ...] | Status:
        """The extended resources for which something must stand in on that node."""
        if found.claims[-1].spec.devices.requests:
            return LEFT_OVER
        missing = missing_resources(found.extended, info, self.classes)
        return CANNOT_FIT if missing is None else tuple(missing)

    def asked(self, found: PodClaims, missing: tuple[str, ...]) -> Asked:
        """What has to be allocated where these extended resources are *missing*; looked up once a pod."""
        asked = found.asked.get(missing)
        if asked is None:
            claims = [claim for claim in found.own if claim.status.allocation is None]
            instead = None
            if missing:
                assert found.pod is not None
                instead = substitute(found.pod, missing, self.classes)
                claims.append(instead.claim(found.pod))
            wanted = tuple(claim.spec.devices for claim in claims)
            shape = self._shapes.of(wanted, self._objects.version(DEVICE_CLASS))
            shape.try_again()
            asked = found.asked[missing] = Asked(tuple(claims), shape, instead)
        return asked

    def unavailable(self, found: PodClaims, info: NodeInfo) -> set[int]:
        """Allocated claims that cannot be used from the node, or whose devices do not get ready."""
        unavailable = set()
        for index, claim in enumerate(found.claims):
            if claim.status.allocation is None:
                continue
            selector = found.selector_of(index)
            within = selector is None or (info.node is not None and selector.matches(info.node))
            if not within or self.is_late(claim):
                unavailable.add(index)
        return unavailable

    def kept_away(self, found: PodClaims, statuses: Mapping[str, Status]) -> set[int]:
        """Claims (by index) because of which some node was rejected; O(nodes) if any claim is allocated."""
        table = self._handle.table
        kept: set[int] = set()
        if len(found.to_allocate()) == len(found.claims):
            return kept
        for name, status in statuses.items():
            row = table.live_row(name) if status.reasons == NOT_AVAILABLE.reasons else None
            if row is not None:
                kept |= self.unavailable(found, table.info(row))
        return kept

    def is_late(self, claim: ResourceClaim) -> bool:
        """Whether the devices of an allocated claim do not get ready, or not in time."""
        try:
            return not is_ready(claim) and is_overdue(claim, self._binding_timeout, self._handle.clock())
        except BindingFailed:
            return True

    # ---- searching ---------------------------------------------------------------------------------------

    def _outcome(self, asked: Asked, info: NodeInfo) -> Status | None:
        row = self.row_of(info)
        if row is None:
            assert info.node is not None
            view = View(-1, self.tracker.pools.of_node(info.node))
            outcome = self._search(asked, info.node, view)
            return outcome if isinstance(outcome, Status) else None
        self.states.sync()
        code = self.code(asked, row)
        return STATUSES[code - 1] if code else None

    def row_of(self, info: NodeInfo) -> int | None:
        """The row of the very node, ``None`` for one that is made up."""
        table = self._handle.table
        row = table.live_row(info.name)
        return row if row is not None and table.node_at(row) is info.node else None

    def code(self, asked: Asked, row: int) -> int:
        """What becomes of the claims on a row, see :class:`.shapes.Shape`; searched if need be.

        :class:`PluginError` for claims, classes or slices that make no sense, which is never remembered.
        """
        states, shape = self.states, asked.shape
        state = states.of_row(row)
        shape.fit(states.epoch, states.count)
        code = int(shape.codes[state])
        if code != UNKNOWN:
            return code
        node = states.table.node_at(row)
        assert node is not None
        outcome = self._search(asked, node, states.view(row))
        score = outcome.score(asked.claims) if isinstance(outcome, Found) else 0
        shape.keep(state, outcome, score)
        return int(shape.codes[state])

    def _search(self, asked: Asked, node: Node, view: View) -> Found | Status:
        demands = asked.demands(self._class_of)
        if view.problem:
            raise PluginError(view.problem)
        search = Search(demands, node, view.pools, self.tracker.usage, self._alarm())
        try:
            picks = search.run()
        except InvalidPools:
            return INVALID_POOLS
        except OutOfTime:
            return TIMED_OUT
        return CANNOT_ALLOCATE if picks is None else Found.of(demands, picks, view.pools)

    def allocation(self, found: PodClaims, node_name: str) -> NodeAllocation | None:
        """What the claims get on a node that passed, nothing having changed since; ``None`` if nothing.

        O(devices of the claims).
        """
        table = self.states.table
        row = table.live_row(node_name)
        if row is None or not found.to_allocate():
            return None
        missing = _NOTHING_MISSING
        if found.extended:
            lacking = self.lacking(found, table.info(row))
            if isinstance(lacking, Status) or not (lacking or found.own):
                return None
            missing = lacking
        asked = found.asked.get(missing)
        place = asked.shape.found.get(self.states.of_row(row)) if asked is not None else None
        if asked is None or place is None:
            return None
        demands = asked.demands(self._class_of)
        return NodeAllocation(asked, demands, place.picks(demands, self.states.view(row).pools))

    def score(self, found: PodClaims, node_name: str) -> int:
        """How early the alternatives stand that the claims would get on the node, or have."""
        allocation = self.allocation(found, node_name)
        if allocation is None:
            return 0
        score = sum(
            score_of(demand.claim, {pick.wanted.name for pick in picks})
            for demand, picks in zip(allocation.demands, allocation.picks, strict=True)
        )
        return score + found.allocated_score()

    def record(self, found: PodClaims, nodes: Sequence[str]) -> dict[str, Any]:
        """Node → claim → devices that would be allocated there."""
        there = {name: self.allocation(found, name) for name in nodes}
        records = {name: record_of(found) for name, found in there.items() if found is not None}
        return {name: record for name, record in records.items() if record}

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
