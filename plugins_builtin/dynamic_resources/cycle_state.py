"""The claims of a pod in one scheduling cycle: what pre_filter looked up, and what later steps added."""

from __future__ import annotations

from typing import Any, Final

from attrs import define, field

from schedframe import Pod, StateKey
from schedframe.api import AllocationResult, CompiledNodeSelector, ResourceClaim, compile_node_selector

from .allocation_request import AllocationRequest, NodeAllocation
from .allocation_results import score_of
from .claims.extended_resources import IN_MEMORY
from .search.device_search import Pick


@define(eq=False)
class PodClaims:
    """The state of one cycle. Dry runs share it: what filter adds does not depend on the pods of a node."""

    pod: Pod | None = None
    claims: list[ResourceClaim] = field(factory=list)
    """In the order of the pod, the claim for extended resources last. Replaced when they are written."""
    extended: tuple[str, ...] = ()
    """Extended resources of the last claim; empty if there is no such claim."""
    requests: dict[tuple[str, ...], AllocationRequest] = field(factory=dict)
    """Extended resources that a node lacks → what to allocate there."""
    chosen: NodeAllocation | None = None
    """The allocation on the chosen node."""
    reserved: dict[int, AllocationResult] = field(factory=dict)
    """Claim (by index) → allocation to write."""
    unconfirmed: set[str] = field(factory=set)
    """Uids of claims with a write whose outcome is unknown."""
    waiting_since: float | None = None
    """When pre_bind began to wait, epoch seconds."""

    @property
    def own(self) -> list[ResourceClaim]:
        """Return the claims that the pod names."""
        return self.claims[:-1] if self.extended else self.claims

    @property
    def extended_claim(self) -> ResourceClaim | None:
        """Return the claim for extended resources."""
        return self.claims[-1] if self.extended else None

    @property
    def is_left_over(self) -> bool:
        """Return whether an earlier attempt wrote the claim for extended resources."""
        return self.extended_claim is not None and self.claims[-1].name != IN_MEMORY

    def to_allocate(self) -> list[int]:
        """Return the indices of the claims without an allocation."""
        return [i for i, claim in enumerate(self.claims) if claim.status.allocation is None]

    def selector_of(self, index: int) -> CompiledNodeSelector | None:
        """Return the selector of the nodes that can use an allocated claim; ``None`` for all nodes."""
        allocation = self.claims[index].status.allocation
        if allocation is None or allocation.node_selector is None:
            return None
        return compile_node_selector(allocation.node_selector)

    @property
    def has_choices(self) -> bool:
        """Return whether some claim has alternatives, so that nodes differ in score."""
        return any(request.first_available for claim in self.own for request in claim.spec.devices.requests)

    def allocated_score(self) -> int:
        """Return the score of the alternatives that allocated claims have."""
        return sum(
            score_of(claim, {result.request for result in claim.status.allocation.devices.results})
            for claim in self.claims
            if claim.status.allocation is not None
        )


def record_of(allocation: NodeAllocation) -> dict[str, list[dict[str, Any]]]:
    """Return claim → devices of the allocation, for decision records."""
    pairs = zip(allocation.demands, allocation.picks, strict=True)
    return {demand.claim.name: [_record_of(pick) for pick in picks] for demand, picks in pairs}


def _record_of(pick: Pick) -> dict[str, Any]:
    driver, pool, device = pick.offered.id
    record: dict[str, Any] = {"request": pick.query.name, "driver": driver, "pool": pool, "device": device}
    if pick.query.admin:
        record["adminAccess"] = True
    if pick.offered.shared:
        record["shared"] = True
    if pick.consumed:
        record["consumedCapacity"] = {name: str(amount) for name, amount in pick.consumed.items()}
    return record


POD_CLAIMS: Final = StateKey[PodClaims]("DynamicResources")
NO_CLAIMS: Final = PodClaims()
"""State of all pods without claims; it must not be changed."""
