"""Queueing hints: which events may make a pod schedulable that its claims rejected."""

from __future__ import annotations

from attrs import define

from schedframe import Action, ClusterEvent, EventRegistration, EventResource, Pod
from schedframe.api import UNREADABLE, ResourceClaim

from .claims.lookup import ClaimProblem, claims_of
from .claims.tracker import ClaimTracker


@define(eq=False)
class ClaimHints:
    """Queueing hints of DynamicResources."""

    _tracker: ClaimTracker

    def registrations(self) -> tuple[EventRegistration, ...]:
        """Return the events: nodes, claims, classes and slices added or changed; claims made for the pod."""
        nodes = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL
        changes = Action.ADD | Action.UPDATE
        made = Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return (
            EventRegistration(ClusterEvent(EventResource.NODE, nodes)),
            EventRegistration(ClusterEvent(EventResource.RESOURCE_CLAIM, changes), self.claim_changed),
            EventRegistration(ClusterEvent(EventResource.POD, made), self.claims_made),
            EventRegistration(ClusterEvent(EventResource.DEVICE_CLASS, changes)),
            EventRegistration(ClusterEvent(EventResource.RESOURCE_SLICE, changes)),
        )

    def claim_changed(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim) -> bool:
        """Queue the pod if a claim was deallocated, or one of its own was added, changed its status, or
        can be read again.

        Never while a claim of the pod does not exist.
        """
        uids = self._uids(pod)
        if uids is None:
            return False
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return True
        if new.uid not in uids:
            return False
        return old is None or old.status != new.status or UNREADABLE in old.metadata.annotations

    def claims_made(self, pod: Pod, old: Pod, new: Pod) -> bool:
        """Queue the pod if all its claims exist now."""
        return pod.uid == new.uid and self._uids(new) is not None

    def _uids(self, pod: Pod) -> set[str] | None:
        self._tracker.sync()
        try:
            return {claim.uid for claim in claims_of(pod, self._tracker)}
        except ClaimProblem:
            return None
