"""From the chosen node to devices that are ready: reserve, pre_bind, unreserve; idle claims given back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    ClusterPort,
    EventOf,
    EventResource,
    Handle,
    NotFound,
    OutcomeUnknown,
    PluginError,
    Pod,
    ResourceClaim,
    Status,
)
from schedframe.api import AllocationResult

from .claims.extended_resources import IN_MEMORY, claim_in_memory
from .claims.lookup import has_binding_conditions, is_idle_but_for, is_overdue, is_ready, is_reserved_for
from .claims.tracker import ClaimTracker, Written, with_status
from .claims.writes import (
    allocating,
    change_claim,
    create_claim,
    deallocating,
    delete_claim,
    leaving,
    note_in_pod,
    reread,
)
from .cycle_state import PodClaims

logger = logging.getLogger("schedframe")

ERR_NO_ALLOCATION: Final = "claim allocation not found for node"
ERR_BINDING_TIMEOUT: Final = "device binding timeout"
STILL_NOT_SCHEDULABLE: Final = "still not schedulable"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"
SECONDS_UNTIL_ASKED_AGAIN: Final = 1.0
"""How long to wait before finding out what became of a write that had no answer."""

_NO_ALLOCATION = Status.from_error(ERR_NO_ALLOCATION)
_STILL_NOT_SCHEDULABLE = Status.unschedulable(STILL_NOT_SCHEDULABLE)
_DEALLOCATED = Status.unschedulable(DEALLOCATED)
_DELETED = Status.unschedulable(DELETED)
_CLAIM_CHANGED = ClusterEvent(EventResource.RESOURCE_CLAIM, Action.ALL)


@define(eq=False)
class Binding:
    """Writes what filter found. Everything here belongs to the core but ``pre_bind``, which touches nothing
    but the cluster, the cycle's claims, and the tracker's letter box.
    """

    _handle: Handle
    _tracker: ClaimTracker
    _timeout: float
    """Seconds that devices have to get ready."""
    _asking: set[str] = field(factory=set)
    """Uids of claims about which the cluster is being asked."""

    # ---- reserve and back --------------------------------------------------------------------------------

    def reserve(self, found: PodClaims, node_name: str) -> Status | None:
        """From now on the devices are taken; O(devices)."""
        indices = found.to_allocate()
        if not indices:
            return None
        allocation = found.chosen
        if allocation is None:
            only_extended = found.extended and indices == [len(found.claims) - 1]
            return None if only_extended else _NO_ALLOCATION
        results = allocation.results(node_name)
        for index, demand, result in zip(indices, allocation.demands, results, strict=False):
            found.reserved[index] = result
            self._tracker.start(with_status(demand.claim, allocation=result))
        return None

    def unreserve(self, found: PodClaims, pod: Pod) -> None:
        """Idempotent. What was written is undone off the core."""
        self._tracker.sync()
        for index in found.reserved:
            uid = _uid_in_flight(found, index, pod)
            if uid in found.doubtful:
                self._tracker.doubt(uid, found.claims[index])
                self._ask(found.claims[index], uid)
            else:
                self._tracker.settle(uid)
        found.reserved.clear()
        cluster = self._handle.cluster
        for index, claim in enumerate(found.claims):
            if found.extended and index == len(found.claims) - 1:
                if claim.name != IN_MEMORY:
                    self._off_core(partial(delete_claim, cluster, claim), claim)
            elif is_reserved_for(claim, pod):
                self._off_core(partial(change_claim, cluster, claim, leaving(pod), again=True), claim)

    def _ask(self, claim: ResourceClaim, uid: str) -> None:
        """Find out what became of a write without an answer. Until then its devices stay taken."""
        if uid in self._asking:
            return
        self._asking.add(uid)
        cluster, tracker = self._handle.cluster, self._tracker

        def ask() -> Any:
            try:
                return reread(cluster, claim)
            except NotFound:
                return None
            except Exception as error:  # noqa: BLE001 - not answering is an answer here
                return error

        def answered(answer: Any) -> None:
            self._asking.discard(uid)
            if isinstance(answer, Exception):
                logger.warning("cannot find out whether claim %s was allocated: %s", claim.key, answer)
                return
            if answer is not None:
                tracker.assume(answer)
            tracker.settle(uid)

        self._handle.off_core(ask, answered)

    def ask_again(self) -> None:
        """Somebody needs devices: look once more into writes of which nobody knows what became of them."""
        for uid, claim in self._tracker.doubtful:
            self._ask(claim, uid)

    # ---- giving back -------------------------------------------------------------------------------------

    def deallocate(self, found: PodClaims, kept_away: Iterable[int], pod: Pod) -> Status:
        """Give one claim back that kept the pod from some node (by index) and that nobody else uses.

        The write goes off the core; its event brings the pod back.
        """
        cluster = self._handle.cluster
        for index in sorted(kept_away):
            claim = found.claims[index]
            if found.extended and index == len(found.claims) - 1:
                continue
            if is_idle_but_for(claim, pod):
                self._off_core(partial(change_claim, cluster, claim, deallocating(pod)), claim)
                return _DEALLOCATED
        if found.is_left_over:
            claim = found.claims[-1]
            # Nobody registers the deletion of claims: the pod would wait for nothing.
            self._off_core(partial(delete_claim, cluster, claim), claim, lambda: self._handle.activate([pod]))
            return _DELETED
        return _STILL_NOT_SCHEDULABLE

    def _off_core(
        self, work: Callable[[], object], claim: ResourceClaim, then: Callable[[], None] | None = None
    ) -> None:
        def attempt() -> Exception | None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever the cluster raises is reported in the core
                return error
            return None

        def done(error: Exception | None) -> None:
            if error is None:
                if then is not None:
                    then()
            elif not isinstance(error, NotFound):
                logger.warning("cannot change claim %s: %s", claim.key, error)

        self._handle.off_core(attempt, done)

    # ---- off the core ------------------------------------------------------------------------------------

    def pre_bind(self, found: PodClaims, pod: Pod, node_name: str) -> Status | None:
        """Write what is not written yet, then wait for the devices. Called again after each wait."""
        cluster = self._handle.cluster
        for index, claim in enumerate(found.claims):
            if is_reserved_for(claim, pod):
                continue
            try:
                self._write(cluster, found, index, pod, node_name)
            except OutcomeUnknown as error:
                found.doubtful.add(_uid_in_flight(found, index, pod))
                return self._wait(found, [found.claims[index]], SECONDS_UNTIL_ASKED_AGAIN, error)
        return self._wait_for_devices(cluster, found, pod)

    def _write(self, cluster: ClusterPort, found: PodClaims, index: int, pod: Pod, node_name: str) -> None:
        result = found.reserved.get(index)
        if result is not None:
            result = AllocationResult(result.devices, result.node_selector, self._handle.clock())
        uid = _uid_in_flight(found, index, pod)
        again = uid in found.doubtful
        claim = found.claims[index]
        mappings = None
        if found.extended and index == len(found.claims) - 1:
            stand_in = found.chosen.asked.substitute if found.chosen is not None else None
            if stand_in is None or result is None:
                return
            mappings = stand_in.mappings
            if claim.name == IN_MEMORY:
                claim = found.claims[index] = create_claim(cluster, stand_in.claim(pod), again=again)
        written = change_claim(cluster, claim, allocating(pod, result), again=again)
        self._tracker.report(Written(written, uid))
        found.doubtful.discard(uid)
        found.claims[index] = written
        if mappings is not None:
            note_in_pod(cluster, pod, written, mappings)

    def _wait_for_devices(self, cluster: ClusterPort, found: PodClaims, pod: Pod) -> Status | None:
        if not any(has_binding_conditions(claim) for claim in found.claims):
            return None
        now = self._handle.clock()
        for index, known in enumerate(found.claims):
            if known.status.allocation is None:
                continue
            claim = found.claims[index] = reread(cluster, known)
            if is_ready(claim):
                continue
            if is_overdue(claim, self._timeout, now):
                raise PluginError(f"claim {claim.name} binding timeout")
            if found.waiting_since is None:
                cluster.record_event(
                    pod, "Normal", "BindingConditionsPending", f"waiting for devices of claim {claim.name}"
                )
            slow = [each for each in found.claims if has_binding_conditions(each)]
            return self._wait(found, slow, self._timeout, PluginError(ERR_BINDING_TIMEOUT))
        return None

    def _wait(
        self, found: PodClaims, claims: Iterable[ResourceClaim], seconds: float, error: Exception
    ) -> Status:
        """Wait until one of *claims* changes, *seconds* at most; *error* if the time for binding is over."""
        now = self._handle.clock()
        if found.waiting_since is None:
            found.waiting_since = now
        left = found.waiting_since + self._timeout - now
        if left <= 0:
            raise error
        events = [
            # A claim that is being made has no name yet that its events would tell.
            _CLAIM_CHANGED if claim.name == IN_MEMORY else EventOf(_CLAIM_CHANGED, claim.key)
            for claim in claims
        ]
        return Status.wait(min(seconds, left), events=events)


def _uid_in_flight(found: PodClaims, index: int, pod: Pod) -> str:
    """Under which the tracker knows the allocation of that claim while it is written."""
    if found.extended and index == len(found.claims) - 1:
        return claim_in_memory(pod).uid
    return found.claims[index].uid
