"""From the cluster's events to cache, queue and objects: the beginning and the end of a pod's path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field

from ..api import Node, Pod
from ..cluster import WatchEvent
from ..framework import Status
from ..queue import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    Action,
    ClusterEvent,
    derive_events,
    resource_of,
)
from .binding import finish_binding, resume
from .core import Core
from .failure import handle_failure
from .reserve import take_back

STORED_KINDS = (
    "Namespace",
    "PriorityClass",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "DeviceClass",
)
"""Kinds that are kept for the plugins as they are; a kind joins by standing here."""

NODE_ADD = ClusterEvent("Node", Action.ADD)
NODE_DELETE = ClusterEvent("Node", Action.DELETE)
GONE = Status.from_error("the pod is gone")

Handler = Callable[[Any, Any], None]


@define(eq=False)
class EventHandlers:
    """Told of every change, in order: ``(old, new)``, one of them ``None`` for an addition or a deletion."""

    core: Core
    _by_kind: dict[str, Handler] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._by_kind = dict.fromkeys(STORED_KINDS, self._stored)
        self._by_kind |= {"Pod": self._pod, "Node": self._node}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds to watch."""
        return tuple(self._by_kind)

    def on_event(self, event: WatchEvent) -> None:
        """One event of the watch."""
        self._by_kind[event.kind](event.old, event.new)

    def _emit(self, event: ClusterEvent, old: Any, new: Any, max_priority: int | None = None) -> None:
        """Let the pods know that wait for something like this."""
        self.core.queue.move_all(event, old, new, max_priority=max_priority)
        for parked in self.core.parked.concerned(event):
            resume(self.core, parked)

    # ---- pods --------------------------------------------------------------------------------------------

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and old.uid != new.uid:
            # Deleted and created again under the same name: two pods that have nothing to do with each other.
            self._pod(old, None)
            self._pod(None, new)
            return
        if old is not None and old.is_terminated:
            old = None
        if new is not None and new.is_terminated:
            new = None
        if new is None:
            if old is not None:
                self._pod_gone(old)
        elif not new.spec.node_name:
            self._pod_pending(old, new)
        elif old is None or not old.spec.node_name:
            self._pod_placed(old, new)
        else:
            self._assigned_changed(old, new)

    def _pod_gone(self, old: Pod) -> None:
        core = self.core
        if core.pending.get(old.key) is not None and core.pending[old.key].uid == old.uid:
            del core.pending[old.key]
        core.queue.delete(old)
        freed = self._abandon(old)
        if core.cache.remove_pod(old.uid) or freed:
            self._emit(ASSIGNED_POD_DELETE, old, None)
        elif old.status.nominated_node_name:
            # The room that was kept for it is free for those that had to respect it.
            self._emit(ASSIGNED_POD_DELETE, old, None, old.priority)

    def _abandon(self, pod: Pod) -> bool:
        """Give up an attempt for a pod that is gone or placed by others; whether it held room."""
        core = self.core
        attempt = core.binding.get(pod.uid)
        if attempt is None:
            return False
        attempt.gone = True
        if core.waiting.leave(pod.uid) is None and core.parked.leave(pod.uid) is None:
            # Being bound this very moment; the outcome will find the mark.
            return False
        take_back(core, attempt)
        handle_failure(core, attempt, GONE)
        return True

    def _pod_pending(self, old: Pod | None, new: Pod) -> None:
        core = self.core
        if new.spec.scheduler_name not in core.frameworks:
            return
        if old is not None and old.spec.node_name:
            self._pod_gone(old)
            old = None
        core.pending[new.key] = new
        if old is None:
            core.queue.add(new)
            return
        if core.cache.is_assumed(new.uid) or _same_version(old, new):
            return
        core.queue.update(old, new)
        before = old.status.nominated_node_name
        if before and before != new.status.nominated_node_name:
            self._emit(ASSIGNED_POD_DELETE, old, None, old.priority)

    def _pod_placed(self, old: Pod | None, new: Pod) -> None:
        """The pod got its node: by our bind, by somebody else's, or before we looked."""
        core = self.core
        pending = core.pending.pop(new.key, None)
        if core.binding:
            self._settle(new)
        if old is not None or pending is not None:
            core.queue.delete(old or pending)
        core.cache.add_pod(new)
        self._emit(ASSIGNED_POD_ADD, None, new)

    def _settle(self, new: Pod) -> None:
        """An attempt is under way for a pod that turns out to be placed."""
        core = self.core
        attempt = core.binding.get(new.uid)
        if attempt is None:
            return
        if new.spec.node_name != attempt.node_name or core.waiting.get(new.uid) is not None:
            self._abandon(new)
            return
        parked = core.parked.get(new.uid)
        if parked is not None and parked.verify:
            core.parked.leave(new.uid)
            finish_binding(core, attempt, None)

    def _assigned_changed(self, old: Pod, new: Pod) -> None:
        core = self.core
        core.cache.update_pod(new)
        for event in derive_events(old, new):
            self._emit(event, old, new)

    def expired(self, pod: Pod) -> None:
        """The assumption that *pod* runs on its node was not confirmed in time."""
        self._emit(ASSIGNED_POD_DELETE, pod, None)

    # ---- nodes and everything else -----------------------------------------------------------------------

    def _node(self, old: Node | None, new: Node | None) -> None:
        cache = self.core.cache
        if new is None:
            assert old is not None
            cache.remove_node(old.name)
            self._emit(NODE_DELETE, old, None)
        elif old is None:
            cache.set_node(new)
            self._emit(NODE_ADD, None, new)
        else:
            cache.set_node(new)
            for event in derive_events(old, new):
                self._emit(event, old, new)

    def _stored(self, old: Any, new: Any) -> None:
        objects = self.core.objects
        if new is None:
            objects.remove(old.KIND, old.key)
            action = Action.DELETE
        else:
            objects.set(new)
            action = Action.ADD if old is None else Action.UPDATE
        self._emit(ClusterEvent(resource_of((new or old).KIND), action), old, new)


def _same_version(old: Pod, new: Pod) -> bool:
    version = new.metadata.resource_version
    return bool(version) and version == old.metadata.resource_version
