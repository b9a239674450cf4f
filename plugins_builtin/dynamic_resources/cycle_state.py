"""What one scheduling cycle knows of a pod's claims."""

from __future__ import annotations

from typing import Any, Final

from attrs import define, field

from schedframe import Pod, ResourceClaim, StateKey
from schedframe.api import AllocationResult, CompiledNodeSelector, compile_node_selector

from .allocation_request import Asked, NodeAllocation
from .allocation_results import score_of
from .claims.extended_resources import IN_MEMORY
from .search.device_search import Pick


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
    asked: dict[tuple[str, ...], Asked] = field(factory=dict)
    """Extended resources that a node lacks → what has to be allocated there."""
    chosen: NodeAllocation | None = None
    """What they get on the node that was chosen."""
    reserved: dict[int, AllocationResult] = field(factory=dict)
    """Claim (by index) → what is to be written."""
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

    @property
    def has_choices(self) -> bool:
        """Whether some claim names alternatives, so that nodes differ in score."""
        return any(request.first_available for claim in self.own for request in claim.spec.devices.requests)

    def allocated_score(self) -> int:
        """How early the alternatives stand that allocated claims have."""
        return sum(
            score_of(claim, {result.request for result in claim.status.allocation.devices.results})
            for claim in self.claims
            if claim.status.allocation is not None
        )


def record_of(allocation: NodeAllocation) -> dict[str, list[dict[str, Any]]]:
    """Claim → devices that would be allocated."""
    pairs = zip(allocation.demands, allocation.picks, strict=True)
    return {demand.claim.name: [_record_of(pick) for pick in picks] for demand, picks in pairs}


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


POD_CLAIMS: Final = StateKey[PodClaims]("DynamicResources")
NO_CLAIMS: Final = PodClaims()
"""Of every pod that has none; nobody changes it."""
