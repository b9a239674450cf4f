"""What the scheduler believes of all claims: as events tell, ahead of them where it wrote itself.

Shared by the plugins of all profiles. A device is free again only when nothing says that somebody has it:
neither an event, nor a write whose event is still to come, nor an allocation that is being written.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from attrs import define, field

from schedframe import InvariantError, NodeTable, ObjectStore, Pod, ResourceClaim
from schedframe.api import OwnerReference, ResourceClaimStatus

from ..inventory.device_usage import Usage, holdings_of
from ..inventory.node_device_state import DeviceStates
from ..inventory.node_pools import PoolIndex

CLAIM: Final = ResourceClaim.KIND
EXTENDED_RESOURCE_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
_MEMO: Final = object()


@define(eq=False)
class Written:
    """A claim as a write left it, reported by whoever wrote it."""

    claim: ResourceClaim
    uid: str
    """Under which the allocation is in flight; another than the claim's if the claim was made only now."""


@define(eq=False)
class ClaimTracker:
    """Claims and devices in use. Core only, but for ``report``.

    ``sync`` is O(changes); looking is O(1).
    """

    _objects: ObjectStore
    usage: Usage = field(factory=Usage)
    pools: PoolIndex = field(init=False)
    _version: int = -1
    _claims: dict[str, ResourceClaim] = field(factory=dict)
    """Key → the newest version that is known, from an event or from a write."""
    _in_flight: dict[str, ResourceClaim] = field(factory=dict)
    """Uid → the claim with the allocation that is being written."""
    _doubtful: dict[str, ResourceClaim] = field(factory=dict)
    """Of claims in flight, those of which nobody knows whether the write took effect; by uid, as written."""
    _extended: dict[str, str] = field(factory=dict)
    """Uid of a pod → key of the claim that was made for its extended resources."""
    _gone: dict[str, None] = field(factory=dict)
    """Uids of claims that were deleted last; a write may be reported after the deletion."""
    _reported: deque[Written] = field(factory=deque)
    _states: DeviceStates | None = None

    def __attrs_post_init__(self) -> None:
        self.pools = PoolIndex(self._objects)

    def states_of(self, table: NodeTable) -> DeviceStates:
        """What can be had on each row of *table*; one for all profiles."""
        if self._states is None or self._states.table is not table:
            self._states = DeviceStates(table, self.pools, self.usage)
        return self._states

    # ---- looking -----------------------------------------------------------------------------------------

    def get(self, key: str) -> ResourceClaim | None:
        """The claim of that key (``namespace/name``)."""
        return self._claims.get(key)

    def is_in_flight(self, claim: ResourceClaim) -> bool:
        """Whether an allocation of *claim* is being written."""
        return claim.uid in self._in_flight

    @property
    def doubtful(self) -> list[tuple[str, ResourceClaim]]:
        """Claims of which a write had no answer, and no event told what became of it; by uid in flight."""
        return list(self._doubtful.items()) if self._doubtful else []

    def extended_claim_of(self, pod: Pod) -> ResourceClaim | None:
        """The claim that an earlier attempt made for the pod's extended resources."""
        key = self._extended.get(pod.uid)
        claim = self._claims.get(key) if key is not None else None
        owner = _pod_behind(claim)
        return claim if owner is not None and (owner.uid, owner.name) == (pod.uid, pod.name) else None

    # ---- catching up -------------------------------------------------------------------------------------

    def report(self, written: Written) -> None:
        """Tell of a write that succeeded. Any thread; it counts from the next :meth:`sync` on."""
        self._reported.append(written)

    def sync(self) -> None:
        """Take in what events and writes brought since the last time."""
        self.pools.sync()
        while self._reported:
            written = self._reported.popleft()
            self.assume(written.claim)
            self.settle(written.uid)
        version = self._objects.version(CLAIM)
        if version == self._version:
            return
        changed = self._objects.changed_since(CLAIM, self._version) if self._version >= 0 else None
        if changed is None:
            present = (claim.key for claim in self._objects.list(CLAIM))
            changed = [*self._claims, *present]
        for key in dict.fromkeys(changed):
            self._hear(key, self._objects.get(CLAIM, key))
        self._version = version

    def assume(self, claim: ResourceClaim) -> None:
        """A write left the claim like this; events that are older will not count."""
        known = self._claims.get(claim.key)
        if known is not None and not _is_newer(claim, known):
            return
        if claim.uid not in self._gone:
            self._put(claim)

    def _hear(self, key: str, claim: ResourceClaim | None) -> None:
        known = self._claims.get(key)
        if claim is None:
            if known is not None:
                self._remove(known)
        elif claim.uid in self._gone:
            # An old event that comes late: a uid never comes back.
            return
        elif known is None or known.uid != claim.uid or _is_newer(claim, known):
            if known is not None and known.uid != claim.uid:
                self._remove(known)
            self._put(claim)
            if claim.uid in self._doubtful:
                self.settle(claim.uid)

    def _put(self, claim: ResourceClaim) -> None:
        self._claims[claim.key] = claim
        owner = _pod_behind(claim)
        if owner is not None:
            self._extended[owner.uid] = claim.key
        self._count(claim.uid, claim)

    def _remove(self, claim: ResourceClaim) -> None:
        del self._claims[claim.key]
        owner = _pod_behind(claim)
        if owner is not None and self._extended.get(owner.uid) == claim.key:
            del self._extended[owner.uid]
        self._gone[claim.uid] = None
        if len(self._gone) > _REMEMBERED_DELETIONS:
            del self._gone[next(iter(self._gone))]
        self._in_flight.pop(claim.uid, None)
        self._doubtful.pop(claim.uid, None)
        self.usage.hold(claim.uid, ())

    def _count(self, uid: str, claim: ResourceClaim | None) -> None:
        """What is in use for a claim: what it has, else what it is about to get."""
        allocation = claim.status.allocation if claim is not None else None
        if allocation is None and uid in self._in_flight:
            allocation = self._in_flight[uid].status.allocation
        self.usage.hold(uid, holdings_of(allocation))

    # ---- allocations on their way ------------------------------------------------------------------------

    def start(self, claim: ResourceClaim) -> None:
        """The allocation in *claim* is going to be written: its devices are taken from now on."""
        self._in_flight[claim.uid] = claim
        self._count(claim.uid, self._claims.get(claim.key))

    def settle(self, uid: str) -> None:
        """Nothing is being written any more: what is known of the claim counts."""
        self._doubtful.pop(uid, None)
        claim = self._in_flight.pop(uid, None)
        if claim is not None:
            known = self._claims.get(claim.key)
            self._count(uid, known if known is not None and known.uid == uid else None)

    def doubt(self, uid: str, claim: ResourceClaim) -> None:
        """A write of *claim* had no answer: its devices stay taken until the claim is seen again."""
        if uid in self._in_flight:
            self._doubtful[uid] = claim

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if devices in use are not those of the claims; O(claims)."""
        self.usage.check_invariants()
        for key, claim in self._claims.items():
            if claim.key != key:
                raise InvariantError(f"claim {claim.key} is filed under {key}")
        if not self._doubtful.keys() <= self._in_flight.keys():
            raise InvariantError("a claim is in doubt that is not in flight")


_REMEMBERED_DELETIONS: Final = 10_000


def tracker_of(objects: ObjectStore) -> ClaimTracker:
    """The tracker that the plugins of all profiles share."""
    found: ClaimTracker | None = objects.memo.get(_MEMO)
    if found is None:
        found = objects.memo[_MEMO] = ClaimTracker(objects)
    return found


def with_status(claim: ResourceClaim, **changes: Any) -> ResourceClaim:
    """*claim* with another status."""
    now = claim.status
    fields = {"allocation": now.allocation, "reserved_for": now.reserved_for, "devices": now.devices}
    # A tenth of the time that evolve takes, and every pod with claims takes it.
    return ResourceClaim(claim.metadata, claim.spec, ResourceClaimStatus(**(fields | changes)))


def _is_newer(claim: ResourceClaim, known: ResourceClaim) -> bool:
    """By resource version; where those are no numbers, whatever comes later is newer."""
    one, other = claim.metadata.resource_version, known.metadata.resource_version
    if one.isdigit() and other.isdigit():
        return int(one) > int(other)
    return True


def _pod_behind(claim: ResourceClaim | None) -> OwnerReference | None:
    """The pod for whose extended resources *claim* was made."""
    if claim is None or claim.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) != "true":
        return None
    return next((owner for owner in claim.metadata.owner_references if owner.controller), None)
