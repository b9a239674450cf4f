"""Reserve, unreserve and pre_bind of claims, and the deallocation of idle ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from attrs import define, field, frozen

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventResource,
    Handle,
    NotFound,
    OutcomeUnknown,
    PluginError,
    Pod,
    Status,
)
from schedframe.api import AllocationResult, ResourceClaim
from schedframe.framework import Report
from schedframe.queue import EventOf

from .claims.extended_resources import IN_MEMORY, claim_in_memory
from .claims.lookup import has_binding_conditions, is_idle_but_for, is_overdue, is_ready, is_reserved_for
from .claims.tracker import ClaimTracker, with_status
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
from .cycle_state import POD_CLAIMS, PodClaims

logger = logging.getLogger("schedframe")

ERR_NO_ALLOCATION: Final = "claim allocation not found for node"
ERR_BINDING_TIMEOUT: Final = "device binding timeout"
STILL_NOT_SCHEDULABLE: Final = "still not schedulable"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"
SECONDS_UNTIL_REREAD: Final = 1.0
"""Delay before a claim is read again after a write whose outcome is unknown."""

_NO_ALLOCATION = Status.from_error(ERR_NO_ALLOCATION)
_STILL_NOT_SCHEDULABLE = Status.unschedulable(STILL_NOT_SCHEDULABLE)
_DEALLOCATED = Status.unschedulable(DEALLOCATED)
_DELETED = Status.unschedulable(DELETED)
_CLAIM_CHANGED = ClusterEvent(EventResource.RESOURCE_CLAIM, Action.ALL)


@frozen(eq=False)
class ClaimNews:
    """Finding of pre_bind about a claim of its pod, for the core."""

    index: int
    """Of the claim, in the order of the pod."""
    uid: str
    """Uid under which the allocation is in flight; not that of the claim if the write created it."""
    claim: ResourceClaim | None
    """Its newest version; ``None``: the outcome of the write is unknown."""
    is_written: bool = False
    """Whether it has the allocation now, and the pod's reservation."""


@define(eq=False)
class ClaimBinding:
    """Writes the allocations that filter found.

    All methods run on the core except ``pre_bind``. That one uses the cluster and reads the claims of the
    cycle; what it learns reaches the core by reports, which :meth:`learn` takes in.
    """

    _handle: Handle
    _tracker: ClaimTracker
    _timeout: float
    """Seconds within which devices must get ready."""
    _rereading: set[str] = field(factory=set)
    """Uids of claims about which the cluster is being asked."""
    _report: Report[ClaimNews] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._report = self._handle.reporter("DynamicResources", self.learn)

    def learn(self, state: CycleState | None, news: ClaimNews) -> None:
        """Take in what pre_bind learnt."""
        pod_claims = None if state is None else state.get(POD_CLAIMS)
        if news.claim is None:
            if pod_claims is not None:
                pod_claims.unconfirmed.add(news.uid)
            return
        if pod_claims is not None:
            pod_claims.claims[news.index] = news.claim
        if news.is_written:
            self._tracker.assume(news.claim)
            self._tracker.settle(news.uid)
            if pod_claims is not None:
                pod_claims.unconfirmed.discard(news.uid)

    # ---- reserve and back --------------------------------------------------------------------------------

    def reserve(self, pod_claims: PodClaims, node_name: str) -> Status | None:
        """Mark the devices of the chosen node as in use; O(devices)."""
        indices = pod_claims.to_allocate()
        if not indices:
            return None
        allocation = pod_claims.chosen
        if allocation is None:
            only_extended = pod_claims.extended and indices == [len(pod_claims.claims) - 1]
            return None if only_extended else _NO_ALLOCATION
        results = allocation.results(node_name)
        for index, demand, result in zip(indices, allocation.demands, results, strict=False):
            pod_claims.reserved[index] = result
            self._tracker.start(with_status(demand.claim, allocation=result))
        return None

    def unreserve(self, pod_claims: PodClaims, pod: Pod) -> None:
        """Release the devices. Idempotent; writes are undone off the core."""
        self._tracker.sync()
        for index in pod_claims.reserved:
            uid = _uid_in_flight(pod_claims, pod_claims.claims, index, pod)
            if uid in pod_claims.unconfirmed:
                self._tracker.mark_unconfirmed(uid, pod_claims.claims[index])
                self._reread(pod_claims.claims[index], uid)
            else:
                self._tracker.settle(uid)
        pod_claims.reserved.clear()
        cluster = self._handle.cluster
        for index, claim in enumerate(pod_claims.claims):
            if pod_claims.extended and index == len(pod_claims.claims) - 1:
                if claim.name != IN_MEMORY:
                    self._off_core(partial(delete_claim, cluster, claim), claim)
            elif is_reserved_for(claim, pod):
                self._off_core(partial(change_claim, cluster, claim, leaving(pod), again=True), claim)

    def _reread(self, claim: ResourceClaim, uid: str) -> None:
        """Read a claim again after a write whose outcome is unknown; its devices stay in use until then."""
        if uid in self._rereading:
            return
        self._rereading.add(uid)
        cluster, tracker = self._handle.cluster, self._tracker

        def read() -> Any:
            try:
                return reread(cluster, claim)
            except NotFound:
                return None
            except Exception as error:  # noqa: BLE001 - handled on the core
                return error

        def on_result(result: Any) -> None:
            self._rereading.discard(uid)
            if isinstance(result, Exception):
                logger.warning("cannot find out whether claim %s was allocated: %s", claim.key, result)
                return
            if result is not None:
                tracker.assume(result)
            tracker.settle(uid)

        self._handle.off_core(read, on_result)

    def reread_unconfirmed(self) -> None:
        """Read the claims with unconfirmed writes again: a pod needs devices, and theirs may be free."""
        for uid, claim in self._tracker.unconfirmed:
            self._reread(claim, uid)

    # ---- deallocating ------------------------------------------------------------------------------------

    def deallocate(self, pod_claims: PodClaims, blocking_claims: Iterable[int], pod: Pod) -> Status:
        """Deallocate one of the *blocking_claims* (by index) that no other pod uses.

        The write runs off the core; its event makes the pod active again.
        """
        cluster = self._handle.cluster
        for index in sorted(blocking_claims):
            claim = pod_claims.claims[index]
            if pod_claims.extended and index == len(pod_claims.claims) - 1:
                continue
            if is_idle_but_for(claim, pod):
                self._off_core(partial(change_claim, cluster, claim, deallocating(pod)), claim)
                return _DEALLOCATED
        if pod_claims.is_left_over:
            claim = pod_claims.claims[-1]
            # No plugin registers the deletion of claims, so no event makes the pod active.
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

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Write what is not written yet, then wait for the devices. Called again after each wait."""
        pod_claims = state.read(POD_CLAIMS)
        claims = list(pod_claims.claims)  # the core has them by reports
        for index, claim in enumerate(pod_claims.claims):
            if is_reserved_for(claim, pod):
                continue
            uid = _uid_in_flight(pod_claims, claims, index, pod)
            try:
                self._write(_Write(state, pod, claims, index, uid))
            except OutcomeUnknown as error:
                self._report(state, pod, ClaimNews(index, uid, None))
                return self._wait(pod_claims, [claims[index]], SECONDS_UNTIL_REREAD, error)
        return self._wait_for_devices(state, claims, pod)

    def _write(self, write: _Write) -> None:
        state, pod, claims, index, uid = write.state, write.pod, write.claims, write.index, write.uid
        cluster, pod_claims = self._handle.cluster, state.read(POD_CLAIMS)
        result = pod_claims.reserved.get(index)
        if result is not None:
            result = AllocationResult(result.devices, result.node_selector, self._handle.clock())
        again = uid in pod_claims.unconfirmed
        mappings = None
        if pod_claims.extended and index == len(claims) - 1:
            substitute = pod_claims.chosen.request.substitute if pod_claims.chosen is not None else None
            if substitute is None or result is None:
                return
            mappings = substitute.mappings
            if claims[index].name == IN_MEMORY:
                claims[index] = create_claim(cluster, substitute.claim(pod), again=again)
                self._report(state, pod, ClaimNews(index, uid, claims[index]))
        claims[index] = change_claim(cluster, claims[index], allocating(pod, result), again=again)
        self._report(state, pod, ClaimNews(index, uid, claims[index], is_written=True))
        if mappings is not None:
            note_in_pod(cluster, pod, claims[index], mappings)

    def _wait_for_devices(self, state: CycleState, claims: list[ResourceClaim], pod: Pod) -> Status | None:
        if not any(has_binding_conditions(claim) for claim in claims):
            return None
        cluster, now, pod_claims = self._handle.cluster, self._handle.clock(), state.read(POD_CLAIMS)
        for index, known in enumerate(claims):
            if known.status.allocation is None:
                continue
            claim = claims[index] = reread(cluster, known)
            if claim is not known:
                uid = _uid_in_flight(pod_claims, claims, index, pod)
                self._report(state, pod, ClaimNews(index, uid, claim))
            if is_ready(claim):
                continue
            if is_overdue(claim, self._timeout, now):
                raise PluginError(f"claim {claim.name} binding timeout")
            if pod_claims.waiting_since is None:
                cluster.record_event(
                    pod, "Normal", "BindingConditionsPending", f"waiting for devices of claim {claim.name}"
                )
            slow = [each for each in claims if has_binding_conditions(each)]
            return self._wait(pod_claims, slow, self._timeout, PluginError(ERR_BINDING_TIMEOUT))
        return None

    def _wait(
        self, pod_claims: PodClaims, claims: Iterable[ResourceClaim], seconds: float, error: Exception
    ) -> Status:
        """Wait until a claim changes, *seconds* at most; raise *error* once the binding timeout is over."""
        now = self._handle.clock()
        if pod_claims.waiting_since is None:
            pod_claims.waiting_since = now
        left = pod_claims.waiting_since + self._timeout - now
        if left <= 0:
            raise error
        events = [
            # A claim that is being created has no name yet by which its events could be found.
            _CLAIM_CHANGED if claim.name == IN_MEMORY else EventOf(_CLAIM_CHANGED, claim.key)
            for claim in claims
        ]
        return Status.wait(min(seconds, left), events=events)


@frozen(eq=False)
class _Write:
    """The write of one claim."""

    state: CycleState
    pod: Pod
    claims: list[ResourceClaim]
    """As pre_bind knows them; gets the new version."""
    index: int
    uid: str
    """Under which the allocation is in flight."""


def _uid_in_flight(pod_claims: PodClaims, claims: list[ResourceClaim], index: int, pod: Pod) -> str:
    """Return the uid under which the tracker has the allocation of that claim while it is written."""
    if pod_claims.extended and index == len(claims) - 1:
        return claim_in_memory(pod).uid
    return claims[index].uid
