"""GangScheduling: the pods of a gang are bound only if enough of them can run."""

from __future__ import annotations

from typing import ClassVar, Final

from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Handle,
    HintReads,
    Pod,
    Status,
    hookimpl,
)
from schedframe.api import PodGroup, group_of

PERMIT_SECONDS: Final = 300.0
"""Longest wait of a member for the others, as in kube-scheduler."""
_TOO_FEW: Final = Status.unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
_WAIT: Final = Status.wait(PERMIT_SECONDS, "waiting for minCount pods from a gang to be scheduled")


@define(eq=False)
class GangScheduling:
    """Keep the pods of a gang out of the queue until there are enough, and unbound until enough fit."""

    # What it says of a pod without a group never changes, and pods with one do not wait together.
    admits_for_good: ClassVar = True
    admits_by_group: ClassVar = True
    """pre_enqueue reads nothing of a pod but the group that it names, and of others only its members."""
    reads_no_nodes_of_members: ClassVar = True

    handle: Handle

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Reject a member whose PodGroup is missing, and one of a gang that has too few members."""
        key = group_of(pod)
        if not key:
            return None
        group = self.handle.objects.get(PodGroup.KIND, key)
        if group is None:
            name = key.partition("/")[2]
            return Status.unresolvable(
                f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
            )
        return _TOO_FEW if self.handle.pod_groups.all_count(key) < group.spec.min_count else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register new pods of the group, and the group itself."""
        pods = ClusterEvent(EventResource.POD, Action.ADD)
        groups = ClusterEvent(EventResource.POD_GROUP, Action.ADD)
        return (
            EventRegistration(pods, _is_of_the_group, HintReads.CLASS),
            EventRegistration(groups, _is_the_group, HintReads.CLASS),
        )

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        """Let a member wait until enough of its gang have a node; the one that completes it lets all go."""
        key = group_of(pod)
        if not key:
            return None
        group = self.handle.objects.get(PodGroup.KIND, key)
        if group is None:
            name = key.partition("/")[2]
            missing = f'podgroup.scheduling.k8s.io "{name}" not found'
            return Status.from_error(f"failed to get podGroup {key}: {missing}")
        min_count = group.spec.min_count
        if not min_count:
            return None
        if self.handle.pod_groups.scheduled_count(key) < min_count:
            return _WAIT
        for waiting in self.handle.waiting_pods:
            if group_of(waiting.pod) == key:
                waiting.allow(type(self).__name__)
        return None


def _is_of_the_group(pod: Pod, old: Pod | None, new: Pod) -> bool:
    """Hint: another member appeared."""
    return bool(key := group_of(new)) and key == group_of(pod)


def _is_the_group(pod: Pod, old: PodGroup | None, new: PodGroup) -> bool:
    """Hint: the group of the pod appeared."""
    return new.key == group_of(pod)
