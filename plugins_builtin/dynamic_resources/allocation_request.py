"""What has to be allocated on a node: claims of the pod, and what stands in for extended resources there."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from schedframe import ResourceClaim
from schedframe.api import AllocationResult

from .allocation_memo import Shape
from .allocation_results import allocation_of
from .claims.extended_resources import Substitute
from .search.demand import ClassOf, Demand, demand_of
from .search.device_search import Pick


@define(eq=False)
class Asked:
    """Claims that are to be allocated together."""

    claims: tuple[ResourceClaim, ...]
    """The one that stands in for extended resources is last."""
    shape: Shape
    substitute: Substitute | None = None
    """What the last claim was made of, if it stands in for extended resources."""
    _demands: tuple[Demand, ...] | None = field(default=None, init=False)

    def demands(self, class_of: ClassOf) -> tuple[Demand, ...]:
        """The claims as the search wants them; :class:`AllocationError` for what nobody can allocate."""
        if self._demands is None:
            self._demands = tuple(demand_of(claim, class_of) for claim in self.claims)
        return self._demands


@define(eq=False)
class NodeAllocation:
    """What the claims get on one node, claim by claim."""

    asked: Asked
    demands: Sequence[Demand]
    picks: Sequence[Sequence[Pick]]

    def results(self, node_name: str) -> list[AllocationResult]:
        """In the form in which claims have them."""
        pairs = zip(self.demands, self.picks, strict=True)
        return [allocation_of(demand, picks, node_name) for demand, picks in pairs]
