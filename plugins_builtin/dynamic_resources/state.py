"""What one scheduling cycle knows of a pod's claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from attrs import define, field

from schedframe import (
    AllocationResult,
    CompiledNodeSelector,
    Pod,
    ResourceClaim,
    StateKey,
    compile_node_selector,
)

from .allocator import Pick
from .extended import IN_MEMORY, Substitute
from .requests import Demand
from .results import allocation_of, score_of
from .shapes import Shape


@define(eq=False)
class NodeAllocation:
    """What the pod's claims would get on one node, claim by claim."""

    demands: Sequence[Demand] = ()
    picks: Sequence[Sequence[Pick]] = ()
    substitute: Substitute | None = None
    """For the claim that is made for extended resources."""

    def score(self) -> int:
        """Of the claims that would be allocated."""
        pairs = zip(self.demands, self.picks, strict=True)
        return sum(score_of(demand.claim, {pick.wanted.name for pick in picks}) for demand, picks in pairs)

    def results(self, node_name: str) -> list[AllocationResult]:
        """In the form in which claims have them."""
        pairs = zip(self.demands, self.picks, strict=True)
        return [allocation_of(demand, picks, node_name) for demand, picks in pairs]


@define(eq=False)
class PodClaims:
    """The pod's claims as pre_filter found them, and what later steps added. Shared by dry runs: what filter
    adds for a node does not depend on the pods there.
    """

    pod: Pod | None = None
    claims: list[ResourceClaim] = field(factory=list)
    """In the order of the pod; the one for extended resources last. Replaced as they are written."""
    extended: tuple[str, ...] = ()
    """Extended resources that the last claim is for; empty if there is no such claim."""
    demands: tuple[Demand, ...] | None = None
    """The pod's own claims that have to be allocated, once filter has looked at them."""
    allocations: dict[str, NodeAllocation] = field(factory=dict)
    """Node → what the claims would get there; only of nodes that passed, and if there is something to get."""
    unavailable: set[int] = field(factory=set)
    """Claims (by index) that kept the pod from some node."""
    reserved: dict[int, AllocationResult] = field(factory=dict)
    """Claim (by index) → what is to be written."""
    substitutes: dict[tuple[str, ...], tuple[Substitute, Demand]] = field(factory=dict)
    """Missing extended resources → what stands in for them."""
    shapes: dict[object, Shape] = field(factory=dict)
    """What stands in for extended resources (or ``None``) → what is known of claims that ask for the same."""
    doubtful: set[str] = field(factory=set)
    """Uids of claims of which a write had no answer."""
    waiting_since: float | None = None
    """When pre_bind began to wait, epoch seconds."""

    @property
    def own(self) -> list[ResourceClaim]:
        """Claims that the pod names."""
        return self.claims[:-1] if self.extended else self.claims

    @property
    def extended_claim(self) -> ResourceClaim | None:
        """The claim for extended resources."""
        return self.claims[-1] if self.extended else None

    @property
    def is_left_over(self) -> bool:
        """Whether the claim for extended resources was written by an earlier attempt."""
        return self.extended_claim is not None and self.claims[-1].name != IN_MEMORY

    def to_allocate(self) -> list[int]:
        """Indices of the claims that nobody has allocated yet."""
        return [i for i, claim in enumerate(self.claims) if claim.status.allocation is None]

    def selector_of(self, index: int) -> CompiledNodeSelector | None:
        """From which nodes an allocated claim can be used; ``None`` is all."""
        allocation = self.claims[index].status.allocation
        if allocation is None or allocation.node_selector is None:
            return None
        return compile_node_selector(allocation.node_selector)

    def score(self, node_name: str) -> int:
        """How early the alternatives stand that the claims have or would get on that node."""
        found = self.allocations.get(node_name)
        if found is None:
            return 0
        allocated = (
            score_of(claim, {result.request for result in claim.status.allocation.devices.results})
            for claim in self.claims
            if claim.status.allocation is not None
        )
        return found.score() + sum(allocated)

    def record(self, nodes: Sequence[str]) -> dict[str, Any]:
        """Node → claim → devices that would be allocated there."""
        return {name: record for name in nodes if (record := dict(self._record(name)))}

    def _record(self, node_name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        found = self.allocations.get(node_name)
        if found is not None:
            for demand, picks in zip(found.demands, found.picks, strict=True):
                yield demand.claim.name, [_record_of(pick) for pick in picks]


def _record_of(pick: Pick) -> dict[str, Any]:
    driver, pool, device = pick.offered.id
    record: dict[str, Any] = {"request": pick.wanted.name, "driver": driver, "pool": pool, "device": device}
    if pick.wanted.admin:
        record["adminAccess"] = True
    if pick.offered.shared:
        record["shared"] = True
    if pick.consumed:
        record["consumedCapacity"] = {name: str(amount) for name, amount in pick.consumed.items()}
    return record


Record = Callable[[Sequence[str]], Any]

POD_CLAIMS: Final = StateKey[PodClaims]("DynamicResources")
NO_CLAIMS: Final = PodClaims()
"""Of every pod that has none; nobody changes it."""
