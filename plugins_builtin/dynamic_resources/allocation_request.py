"""Claims to allocate on a node: those of the pod, and the one for extended resources that the node lacks."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from schedframe.api import AllocationResult, ResourceClaim

from .allocation_memo import AllocationMemo
from .allocation_results import allocation_of
from .claims.extended_resources import SubstituteRequests
from .search.demand import ClassOf, Demand, demand_of
from .search.device_search import Pick


@define(eq=False)
class AllocationRequest:
    """Claims that are allocated together."""

    claims: tuple[ResourceClaim, ...]
    """The claim for extended resources is the last one."""
    memo: AllocationMemo
    substitute: SubstituteRequests | None = None
    """The requests of the last claim, if it is for extended resources."""
    _demands: tuple[Demand, ...] | None = field(default=None, init=False)

    def demands(self, class_of: ClassOf) -> tuple[Demand, ...]:
        """Return the claims in the form of the search; :class:`AllocationError` for invalid ones."""
        if self._demands is None:
            self._demands = tuple(demand_of(claim, class_of) for claim in self.claims)
        return self._demands


@define(eq=False)
class NodeAllocation:
    """The picks for each claim on one node."""

    request: AllocationRequest
    demands: Sequence[Demand]
    picks: Sequence[Sequence[Pick]]

    def results(self, node_name: str) -> list[AllocationResult]:
        """Return the allocations in the form of the API."""
        pairs = zip(self.demands, self.picks, strict=True)
        return [allocation_of(demand, picks, node_name) for demand, picks in pairs]
