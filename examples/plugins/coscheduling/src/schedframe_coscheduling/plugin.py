"""Coscheduling: no pod of a group is bound before ``min_member`` of them have a node."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import ClassVar, Final

import numpy as np
from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    Pod,
    QueuedPodInfo,
    Rows,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import NamespacedObject, whole_amounts
from schedframe.cycle import PODS_TO_ACTIVATE

from .args import CoschedulingArgs
from .groups import Members, PodGroup, group_key

NAME: Final = "Coscheduling"
_REJECTED: Final = StateKey[bool]("Coscheduling rejected the group")
NO_GROUP: Final = "the pod's group does not exist"
TOO_FEW: Final = "the pod's group has too few pods"
TOO_SMALL: Final = "the cluster has too little left for the pod's group"
BACKING_OFF: Final = "the pod's group was rejected not long ago"
NOT_TOGETHER: Final = "another pod of the group fits nowhere"
UNDONE: Final = "another pod of the group was rejected"

FIRST_BACKOFF: Final = 1.0
"""Seconds of backoff after the first rejection of a group, doubled with each further one."""
LONGEST_BACKOFF: Final = 10.0
"""Longest backoff of a group in seconds; both are the defaults of single pods."""
MIN_PRUNED: Final = 64
"""Groups with attempts up to which deleted ones are not looked for."""

_NO_GROUP = Status.unschedulable(NO_GROUP)
_TOO_FEW = Status.unresolvable(TOO_FEW)
_TOO_SMALL = Status.unresolvable(TOO_SMALL)
_BACKING_OFF = Status.unresolvable(BACKING_OFF)


@define(eq=False)
class GroupAttempts:
    """Attempts to schedule a group; times are those of the clock."""

    checked_until: float = -inf
    """Time until which pre_filter need not check the group again."""
    backoff_until: float = -inf
    rejected_at: float | None = None
    """Time of the last rejection: the group queues as if created then, so that it does not block others."""
    rejections: int = 0
    """Rejections since the group was last complete."""


@define(eq=False)
class Coscheduling:
    """Sort the pods of a group together, hold them at permit until enough have a node, reject them together.

    Use it as the profile's queueSort plugin and as its last postFilter plugin. Pods without the label are not
    affected.
    """

    args: CoschedulingArgs
    handle: Handle
    members: Members = field(init=False)
    _attempts: dict[str, GroupAttempts] = field(factory=dict, init=False)
    """By group; groups that were deleted are dropped when the number has doubled."""
    _prune_at: int = field(default=MIN_PRUNED, init=False)
    _waiting: set[str] = field(factory=set, init=False)
    """Uids of pods that wait at permit or are being bound."""

    kinds: ClassVar[tuple[type[NamespacedObject], ...]] = (PodGroup,)

    def __attrs_post_init__(self) -> None:
        self.members = Members(self.handle)

    # ---- the queue ---------------------------------------------------------------------------------------

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, float, str, float]:
        """Sort by priority, then by age of the group (or of a pod without one), pods of a group together."""
        pod = pod_info.pod
        key = group_key(pod)
        group = self._group(key)
        first = pod_info.timestamp if pod_info.initial_attempt is None else pod_info.initial_attempt
        if key is None or group is None:
            return -pod.priority, first, pod.key, pod_info.timestamp
        created = group.metadata.creation_timestamp
        since = first if created is None else created
        attempts = self._attempts.get(key)
        if attempts is not None and attempts.rejected_at is not None:
            since = attempts.rejected_at
        return -pod.priority, since, key, pod_info.timestamp

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register the group, its members and, for groups with ``min_resources``, freed capacity."""
        group = ClusterEvent(PodGroup.KIND, Action.ALL)
        own = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL)
        member = ClusterEvent(EventResource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL)
        deleted = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
        node = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        return (
            EventRegistration(group, lambda pod, old, new: (new or old).key == group_key(pod)),
            EventRegistration(own),
            EventRegistration(member, lambda pod, old, new: group_key(new) == group_key(pod)),
            EventRegistration(deleted, self._has_min_resources),
            EventRegistration(node, self._has_min_resources),
        )

    # ---- feasibility of the group ------------------------------------------------------------------------

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Reject the pod if its group has too few pods or needs more than the free capacity of the cluster.

        O(pending pods + nodes × resources) once per group and timeout, else O(rows that changed).
        """
        key = group_key(pod)
        group = self._group(key)
        if key is None or group is None:
            return None  # permit rejects pods whose group does not exist
        now, attempts = self.handle.clock(), self._attempts_of(key)
        if attempts.backoff_until > now:
            state.write(_REJECTED, True)
            return _BACKING_OFF
        if attempts.checked_until > now:
            return None
        placed = self.members.placed(key)
        rejection = None
        if len(placed) + len(self.members.waiting_for_a_node(key)) < group.spec.min_member:
            rejection = _TOO_FEW
        elif group.spec.min_resources and not self._has_capacity(group, placed, nodes):
            rejection = _TOO_SMALL
        if rejection is not None:
            state.write(_REJECTED, True)
            return rejection
        attempts.checked_until = now + self._timeout(group)
        return None

    def _has_capacity(self, group: PodGroup, placed: Mapping[str, Pod], nodes: Rows) -> bool:
        """Return whether the free capacity of all nodes, and what the group has, suffices for the group."""
        for resource, required in whole_amounts(group.spec.min_resources).items():
            table = nodes.table
            requested = table.pod_count if resource == "pods" else table.requested(resource)
            free = nodes.take(table.allocatable(resource)) - nodes.take(requested)
            own = sum(1 if resource == "pods" else pod.requests.get(resource, 0) for pod in placed.values())
            if int(np.maximum(free, 0).sum()) + own < required:
                return False
        return True

    # ---- rejection of the group -------------------------------------------------------------------------

    @hookimpl
    def post_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Reject the group unless it is complete without this pod, or nearly complete."""
        key = group_key(pod)
        group = self._group(key)
        if key is None or group is None or state.get(_REJECTED):
            return None  # rejected by pre_filter: it is unknown whether the pod fits somewhere
        required, placed = group.spec.min_member, len(self.members.placed(key))
        missing = required - placed
        if missing <= 0 or 100 * missing <= self.args.pod_group_reject_percentage * required:
            return None
        existing = placed + len(self.members.waiting_for_a_node(key))
        backoff = self.args.pod_group_backoff_seconds if existing >= required else 0
        # Deferred, because an evaluation that schedules nothing must not reject the group.
        self.handle.call_later(0, lambda: self._reject_group(key, NOT_TOGETHER, backoff))
        return Status.unschedulable(f"group {key} is rejected because {pod.name} fits nowhere")

    # ---- permit ------------------------------------------------------------------------------------------

    @hookimpl
    def permit(self, state: CycleState, pod: Pod) -> Status | None:
        """Wait until ``min_member`` pods have a node, then allow all of them; O(waiting pods)."""
        key = group_key(pod)
        if key is None:
            return None
        group = self._group(key)
        if group is None:
            return _NO_GROUP
        placed = len(self.members.placed(key))
        if placed < group.spec.min_member:
            if placed == 1:
                # The others may have been rejected while there was no capacity for the group.
                pods: dict[str, Pod] = state.get(PODS_TO_ACTIVATE) or {}
                pods |= {other.uid: other for other in self.members.waiting_for_a_node(key)}
                state.write(PODS_TO_ACTIVATE, pods)
            self._waiting.add(pod.uid)
            return Status.wait(self._timeout(group))
        attempts = self._attempts_of(key)
        attempts.backoff_until, attempts.rejected_at, attempts.rejections = -inf, None, 0
        for waiting in self.handle.waiting_pods:
            if group_key(waiting.pod) == key:
                waiting.allow(NAME)
        return None

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        """Reject the pods that wait for this one, whatever the reason of its rejection."""
        key = group_key(pod)
        waited = pod.uid in self._waiting
        self._waiting.discard(pod.uid)
        if key is not None and (waited or any(group_key(w.pod) == key for w in self.handle.waiting_pods)):
            self.handle.call_later(0, lambda: self._reject_group(key, UNDONE))

    @hookimpl
    def post_bind(self, pod: Pod) -> None:
        """End the wait of the pod."""
        self._waiting.discard(pod.uid)

    def _reject_group(self, key: str, reason: str, backoff: float = 0.0) -> None:
        """Reject the waiting pods, and start the backoff of the group.

        Without backoff, the capacity that one rejected pod frees would requeue the others at once, although
        it does not suffice for them.
        """
        for waiting in self.handle.waiting_pods:
            if group_key(waiting.pod) == key:
                waiting.reject(NAME, reason)
        now, attempts = self.handle.clock(), self._attempts_of(key)
        if attempts.backoff_until > now:
            return
        wait = max(backoff, min(FIRST_BACKOFF * 2**attempts.rejections, LONGEST_BACKOFF))
        attempts.rejections += 1
        attempts.checked_until = -inf
        attempts.rejected_at = now
        attempts.backoff_until = now + wait
        self.handle.call_later(wait, lambda: self._activate(key))

    def _activate(self, key: str) -> None:
        self.handle.activate(self.members.waiting_for_a_node(key))

    # ---- helpers -----------------------------------------------------------------------------------------

    def _attempts_of(self, key: str) -> GroupAttempts:
        attempts = self._attempts.get(key)
        if attempts is None:
            if len(self._attempts) >= self._prune_at:
                present = {name: each for name, each in self._attempts.items() if self._group(name)}
                self._attempts, self._prune_at = present, max(MIN_PRUNED, 2 * len(present))
            attempts = self._attempts[key] = GroupAttempts()
        return attempts

    def _group(self, key: str | None) -> PodGroup | None:
        group = None if key is None else self.handle.objects.get(PodGroup.KIND, key)
        return group if isinstance(group, PodGroup) else None

    def _timeout(self, group: PodGroup) -> float:
        return group.spec.schedule_timeout_seconds or self.args.permit_waiting_time_seconds

    def _has_min_resources(self, pod: Pod, old: object, new: object) -> bool:
        group = self._group(group_key(pod))
        return group is not None and bool(group.spec.min_resources)
