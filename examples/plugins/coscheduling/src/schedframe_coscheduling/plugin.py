"""Coscheduling: no pod of a group is bound before enough of them have found a node."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import ClassVar, Final

import numpy as np
from attrs import define, field

from schedframe import (
    PODS_TO_ACTIVATE,
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    NamespacedObject,
    Pod,
    QueuedPodInfo,
    Rows,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import whole_amounts

from .args import CoschedulingArgs
from .groups import Members, PodGroup, group_key

NAME: Final = "Coscheduling"
_REFUSED: Final = StateKey[bool]("Coscheduling refused the group")
NO_GROUP: Final = "the pod's group does not exist"
TOO_FEW: Final = "the pod's group has too few pods"
TOO_SMALL: Final = "the cluster has too little left for the pod's group"
BACKING_OFF: Final = "the pod's group was rejected not long ago"
NOT_TOGETHER: Final = "another pod of the group fits nowhere"
UNDONE: Final = "another pod of the group was turned down"

FIRST_BACKOFF: Final = 1.0
LONGEST_BACKOFF: Final = 10.0
"""Seconds for which a group that was given up is left alone, doubled each time: those of single pods."""

_NO_GROUP = Status.unschedulable(NO_GROUP)
_TOO_FEW = Status.unresolvable(TOO_FEW)
_TOO_SMALL = Status.unresolvable(TOO_SMALL)
_BACKING_OFF = Status.unresolvable(BACKING_OFF)


@define(eq=False)
class Coscheduling:
    """Sorts groups together, holds their pods at permit until the group is complete enough, and gives all of
    them up together.

    Meant to be the profile's queueSort plugin, and the last one at postFilter. Pods without the label are
    not concerned.
    """

    args: CoschedulingArgs
    handle: Handle
    members: Members = field(init=False)
    _checked: dict[str, float] = field(factory=dict, init=False)
    """Group → until when it need not be checked again whether it can get together."""
    _backing_off: dict[str, float] = field(factory=dict, init=False)
    """Group → until when none of its pods is tried."""
    _failed: dict[str, float] = field(factory=dict, init=False)
    """Group → when it was last given up: it queues as if made then, lest it block those behind it."""
    _failures: dict[str, int] = field(factory=dict, init=False)
    """Group → how often it was given up since it last got together."""
    _waiting: set[str] = field(factory=set, init=False)
    """Uids of pods that permit let wait, until they are bound or turned down."""

    kinds: ClassVar[tuple[type[NamespacedObject], ...]] = (PodGroup,)

    def __attrs_post_init__(self) -> None:
        self.members = Members(self.handle)

    # ---- the queue ---------------------------------------------------------------------------------------

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, float, str, float]:
        """By priority, by the age of the group (or of a pod in none), pods of a group together."""
        pod = pod_info.pod
        key = group_key(pod)
        group = self._group(key)
        first = pod_info.timestamp if pod_info.initial_attempt is None else pod_info.initial_attempt
        if key is None or group is None:
            return -pod.priority, first, pod.key, pod_info.timestamp
        made = group.metadata.creation_timestamp
        since = self._failed.get(key, first if made is None else made)
        return -pod.priority, since, key, pod_info.timestamp

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """The group itself, its members, and room in the cluster for groups that say how much they need."""
        group = ClusterEvent(PodGroup.KIND, Action.ALL)
        own = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL)
        member = ClusterEvent(EventResource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL)
        gone = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
        node = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        return (
            EventRegistration(group, lambda pod, old, new: (new or old).key == group_key(pod)),
            EventRegistration(own),
            EventRegistration(member, lambda pod, old, new: group_key(new) == group_key(pod)),
            EventRegistration(gone, self._needs_room),
            EventRegistration(node, self._needs_room),
        )

    # ---- can the group get together at all? --------------------------------------------------------------

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Turn the pod down where its group has too few pods, or cannot fit into what is left of the cluster.

        O(pending pods + nodes × resources) once per group and timeout, else O(rows that changed).
        """
        key = group_key(pod)
        group = self._group(key)
        if key is None or group is None:
            return None  # permit turns down pods whose group is missing
        now = self.handle.clock()
        if self._backing_off.get(key, -inf) > now:
            state.write(_REFUSED, True)
            return _BACKING_OFF
        if self._checked.get(key, -inf) > now:
            return None
        placed = self.members.placed(key)
        refusal = None
        if len(placed) + len(self.members.waiting_for_a_node(key)) < group.spec.min_member:
            refusal = _TOO_FEW
        elif group.spec.min_resources and not self._has_room(group, placed, nodes):
            refusal = _TOO_SMALL
        if refusal is not None:
            state.write(_REFUSED, True)
            return refusal
        self._checked[key] = now + self._patience(group)
        return None

    def _has_room(self, group: PodGroup, placed: Mapping[str, Pod], nodes: Rows) -> bool:
        """Whether what is left of all nodes, and what the group has already, is enough for the group."""
        for resource, wanted in whole_amounts(group.spec.min_resources).items():
            table = nodes.table
            requested = table.pod_count if resource == "pods" else table.requested(resource)
            left = nodes.take(table.allocatable(resource)) - nodes.take(requested)
            own = sum(1 if resource == "pods" else pod.requests.get(resource, 0) for pod in placed.values())
            if int(np.maximum(left, 0).sum()) + own < wanted:
                return False
        return True

    # ---- a pod of the group fits nowhere -----------------------------------------------------------------

    @hookimpl
    def post_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Give the group up, unless it is complete without this pod, or nearly complete."""
        key = group_key(pod)
        group = self._group(key)
        if key is None or group is None or state.get(_REFUSED):
            return None  # turned down by pre_filter: nobody found out that it fits nowhere
        wanted, placed = group.spec.min_member, len(self.members.placed(key))
        missing = wanted - placed
        if missing <= 0 or 100 * missing <= self.args.pod_group_reject_percentage * wanted:
            return None
        there = placed + len(self.members.waiting_for_a_node(key))
        backoff = self.args.pod_group_backoff_seconds if there >= wanted else 0
        # Not at once: where somebody only asks what would happen to the pod, the call is never made.
        self.handle.call_later(0, lambda: self._give_up(key, NOT_TOGETHER, backoff))
        return Status.unschedulable(f"group {key} is given up because {pod.name} fits nowhere")

    # ---- waiting for the others --------------------------------------------------------------------------

    @hookimpl
    def permit(self, state: CycleState, pod: Pod) -> Status | None:
        """Wait until enough of the group have a node, then let all of them go. O(waiting pods)."""
        key = group_key(pod)
        if key is None:
            return None
        group = self._group(key)
        if group is None:
            return _NO_GROUP
        placed = len(self.members.placed(key))
        if placed < group.spec.min_member:
            if placed == 1:
                # The others may have been turned down before, when there was no room for the group.
                pods: dict[str, Pod] = state.get(PODS_TO_ACTIVATE) or {}
                pods |= {other.uid: other for other in self.members.waiting_for_a_node(key)}
                state.write(PODS_TO_ACTIVATE, pods)
            self._waiting.add(pod.uid)
            return Status.wait(self._patience(group))
        for memory in (self._failed, self._failures, self._backing_off):
            memory.pop(key, None)
        for waiting in self.handle.waiting_pods:
            if group_key(waiting.pod) == key:
                waiting.allow(NAME)
        return None

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        """Where one is turned down, whatever for, those that wait for it have waited in vain."""
        key = group_key(pod)
        waited = pod.uid in self._waiting
        self._waiting.discard(pod.uid)
        if key is not None and (waited or any(group_key(w.pod) == key for w in self.handle.waiting_pods)):
            self.handle.call_later(0, lambda: self._give_up(key, UNDONE))

    @hookimpl
    def post_bind(self, pod: Pod) -> None:
        """It waits no more."""
        self._waiting.discard(pod.uid)

    def _give_up(self, key: str, reason: str, backoff: float = 0.0) -> None:
        """Turn down those that wait, and try none of the group for a while, longer each time.

        Else the room that one gives up would bring back the others, for which it is not enough, at once.
        """
        for waiting in self.handle.waiting_pods:
            if group_key(waiting.pod) == key:
                waiting.reject(NAME, reason)
        now = self.handle.clock()
        if self._backing_off.get(key, -inf) > now:
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        wait = max(backoff, min(FIRST_BACKOFF * 2 ** (failures - 1), LONGEST_BACKOFF))
        self._checked.pop(key, None)
        self._failed[key] = now
        self._backing_off[key] = now + wait
        self.handle.call_later(wait, lambda: self._try_again(key))

    def _try_again(self, key: str) -> None:
        self.handle.activate(self.members.waiting_for_a_node(key))

    # ---- small things ------------------------------------------------------------------------------------

    def _group(self, key: str | None) -> PodGroup | None:
        found = None if key is None else self.handle.objects.get(PodGroup.KIND, key)
        return found if isinstance(found, PodGroup) else None

    def _patience(self, group: PodGroup) -> float:
        return group.spec.schedule_timeout_seconds or self.args.permit_waiting_time_seconds

    def _needs_room(self, pod: Pod, old: object, new: object) -> bool:
        group = self._group(group_key(pod))
        return group is not None and bool(group.spec.min_resources)
