"""From the cluster's events to cache, queue and objects: the beginning and the end of a pod's path."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, ClassVar

from attrs import field

from .._base.value import record
from ..api import Node, Pod
from ..cluster import RemoteCluster, WatchEvent
from ..framework import Framework, Status
from ..framework.declarations import declared
from ..queue import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, derive_object_events, identity
from .binding.abort import leave_node
from .binding.attempt import Attempt
from .binding.bind import emit, finish_binding, roll_back
from .binding.failure import handle_failure
from .binding.pod_status import is_own_update
from .core import Core

STORED_KINDS = (
    "Namespace",
    "PriorityClass",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "PodDisruptionBudget",
    "DeviceClass",
    "ResourceClaim",
    "ResourceSlice",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
)
"""Kinds that are stored for the plugins as they are."""

GONE = Status.from_error("the pod is gone")

Handler = Callable[[Any, Any], None]


@record(eq=False)
class EventHandlers:
    """Handle changes of the cluster in order: ``(old, new)``, ``None`` for what did not or does not exist."""

    ALWAYS: ClassVar[tuple[str, ...]] = ("Pod", "Node")
    """Kinds that are watched whatever the plugins read."""

    core: Core
    _by_kind: dict[str, Handler] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.follow_profiles()

    def follow_profiles(self) -> None:
        """Handle the kinds of the present profiles."""
        self._by_kind = dict.fromkeys(STORED_KINDS, self._stored)
        for framework in self.core.frameworks.values():
            self._by_kind |= dict.fromkeys(framework.kinds(), self._stored)
        self._by_kind |= {"Pod": self._pod, "Node": self._node}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds to watch: of a remote cluster, only those that enabled plugins read."""
        if not isinstance(self.core.cluster, RemoteCluster):
            return tuple(self._by_kind)
        read = {kind for each in self.core.frameworks.values() for kind in kinds_read(each)}
        return tuple(kind for kind in self._by_kind if kind in read or kind in self.ALWAYS)

    def profiles_changed(self, before: Set[str]) -> None:
        """Forget the pods of profiles that are gone, and let the inbox bring those of new ones.

        O(pods) if there are any.

        An attempt under way for a forgotten pod goes on; if it fails, the pod is not queued again.
        """
        core = self.core
        self.follow_profiles()
        after = core.frameworks.keys()
        if before - after:
            for pod in [each for each in core.pending.values() if each.spec.scheduler_name not in after]:
                self._no_longer_pending(pod)
                core.queue.delete(pod)
        added = after - before
        if added:
            # Before the events that wait in the inbox, of which some may be later than the list.
            for pod in reversed(core.cluster.list("Pod")):
                if not pod.spec.node_name and pod.spec.scheduler_name in added:
                    core.inbox.put_first(WatchEvent("ADDED", "Pod", None, pod))

    def on_event(self, event: WatchEvent) -> None:
        """Handle one event of the watch."""
        self._by_kind[event.kind](event.old, event.new)

    def _emit(self, old: Any, new: Any) -> None:
        for happened in derive_object_events(old, new):
            emit(self.core, happened.event, happened.old, happened.new)

    # ---- pods --------------------------------------------------------------------------------------------

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None:
            if (old.uid != new.uid or not old.uid) and identity(old) != identity(new):
                # Deleted and created again under one name: two pods that have nothing to do with each other.
                self._pod(old, None)
                self._pod(None, new)
                return
            if not old.spec.node_name and new.spec.node_name and self._is_relevant(new):
                self._pod_placed(old, new)
                return
        before = old if old is not None and self._is_relevant(old) else None
        if new is None or not self._is_relevant(new):
            event_pod = old if new is None else new
            if before is None and event_pod is not None and self._is_known(event_pod):
                # It ended, and the event that said so never came.
                before = event_pod
            if before is not None:
                self._pod_gone(before)
        elif new.spec.node_name:
            if before is None:
                self._pod_placed(None, new)
            else:
                self._assigned_changed(before, new)
        elif before is not None and before.spec.node_name:
            # Taken off its node, which only a watch that missed events shows.
            self._pod_gone(before)
            self._pod_pending(None, new)
        else:
            self._pod_pending(before, new)

    def _is_relevant(self, pod: Pod) -> bool:
        """Return whether *pod* takes room on a node, or waits for one of our profiles."""
        spec = pod.spec
        if not spec.node_name and spec.scheduler_name not in self.core.frameworks:
            return False
        return not pod.status.phase or not pod.is_terminated

    def _is_known(self, pod: Pod) -> bool:
        """Return whether that very pod waits here, or counts on a node."""
        pending = self.core.pending.get(pod.key)
        return (pending is not None and pending.uid == pod.uid) or self.core.cache.get_pod(
            pod.uid
        ) is not None

    def _pod_gone(self, old: Pod) -> None:
        core = self.core
        self._no_longer_pending(old)
        nominated = old.status.nominated_node_name or core.queue.nominator.node_of(old)
        core.queue.delete(old)
        counted = core.cache.get_pod(old.uid)
        freed = self._abandon(old)
        if core.cache.remove_pod(old.uid) or freed:
            # If it was only assumed, the cluster never showed it with the node whose room is free now.
            emit(core, ASSIGNED_POD_DELETE, old if old.spec.node_name else counted, None)
        elif nominated and not old.spec.node_name:
            # The room that was kept for it is free for those that had to respect it.
            emit(core, ASSIGNED_POD_DELETE, old, None, max_priority=old.priority)

    def _no_longer_pending(self, pod: Pod) -> Pod | None:
        """Forget that *pod* waits; return the version that waited, ``None`` if there is none."""
        core = self.core
        known = core.pending.get(pod.key)
        if known is None or known.uid != pod.uid:
            return None
        del core.pending[pod.key]
        if core.written:
            core.written.pop(pod.uid, None)
        if core.expected:
            core.expected.discard(pod.uid)
        return known

    def _pod_pending(self, old: Pod | None, new: Pod) -> None:
        core = self.core
        core.pending[new.key] = new
        echo = bool(core.written) and is_own_update(core, old, new)
        attempt = core.binding.get(new.uid) if core.binding else None
        if attempt is not None:
            self._changed_while_binding(attempt, old, new, echo)
        elif old is None:
            core.queue.add(new)
        elif not _same_version(old, new) and not core.cache.is_assumed(new.uid):
            core.queue.update(old, new, echo=echo)
            before = old.status.nominated_node_name
            if before and before != new.status.nominated_node_name:
                # For those that counted with it there, which the pod itself did not.
                # The room of a rolled-back attempt was free again, for our own pods, when it was rolled back.
                rolled_back = core.queue.scheduling_cycle if new.uid in core.expected else None
                core.expected.discard(new.uid)
                emit(
                    core,
                    ASSIGNED_POD_DELETE,
                    old,
                    None,
                    max_priority=old.priority,
                    except_uid=new.uid,
                    rolled_back=rolled_back,
                )

    def _changed_while_binding(self, attempt: Attempt, old: Pod | None, new: Pod, echo: bool) -> None:
        """Handle a change of a pod that waits in permit or is being bound, so it is not in the queue."""
        core = self.core
        if new.is_terminating:
            if not attempt.deleted and self._abandon(new):
                emit(core, ASSIGNED_POD_DELETE, attempt.assumed, None)
        elif attempt.deleted:
            # Reported gone, and here again; the executor may bind it any moment.
            attempt.deleted = False
            if core.cache.get_pod(new.uid) is None:
                assert attempt.assumed is not None
                core.cache.assume_pod(attempt.assumed)
        elif old is not None and attempt.info.uid in core.queue.in_flight:
            core.queue.update(old, new, echo=echo)

    def _pod_placed(self, old: Pod | None, new: Pod) -> None:
        """Handle a pod that got its node: by our bind, by another scheduler's, or before the watch began."""
        core = self.core
        pending = self._no_longer_pending(new)
        before = pending
        if before is None and old is not None and self._is_relevant(old):
            before = old
        if core.binding:
            counted = core.cache.get_pod(new.uid)
            self._settle(new)
            core.cache.add_pod(new)
        else:
            counted = core.cache.add_pod(new)
        if before is not None and (counted is None or core.binding):
            # One that is assumed, and not being bound any more, is not in the queue.
            core.queue.delete(before)
        emit(core, ASSIGNED_POD_ADD, None, new)
        if counted is not None and counted.spec.node_name != new.spec.node_name:
            emit(core, ASSIGNED_POD_DELETE, counted, None)
        elif before is not None and before.status.nominated_node_name not in ("", new.spec.node_name):
            emit(core, ASSIGNED_POD_DELETE, before, None, max_priority=before.priority)

    def _settle(self, new: Pod) -> None:
        """End an attempt that may be under way for a pod that turns out to be placed."""
        core = self.core
        attempt = core.binding.get(new.uid)
        if attempt is None:
            return
        waits = core.waiting.get(new.uid) is not None
        paused = core.paused.get(new.uid)
        if paused is not None and paused.verify and new.spec.node_name == attempt.node_name:
            core.paused.leave(new.uid)
            finish_binding(core, attempt, None)
        elif paused is not None or waits or new.spec.node_name != attempt.node_name:
            self._abandon(new)

    def _abandon(self, pod: Pod) -> bool:
        """Give up the attempt for a pod that is gone or placed by others; whether it held room."""
        core = self.core
        attempt = core.binding.get(pod.uid) if core.binding else None
        if attempt is None:
            return False
        assert attempt.assumed is not None
        attempt.deleted = True
        if core.waiting.leave(pod.uid) is None and core.paused.leave(pod.uid) is None:
            # Being bound at this moment: the outcome will be handled by the mark.
            return core.cache.forget_pod(attempt.assumed)
        freed = roll_back(core, attempt)
        handle_failure(core, attempt, GONE)
        return freed

    def _assigned_changed(self, old: Pod, new: Pod) -> None:
        core = self.core
        core.cache.update_pod(new)
        if old.spec.node_name == new.spec.node_name:
            self._emit(old, new)
        else:
            emit(core, ASSIGNED_POD_DELETE, old, None)
            emit(core, ASSIGNED_POD_ADD, None, new)

    def expired(self, pod: Pod) -> None:
        """Handle the end of an assumption that no event confirmed in time."""
        core = self.core
        known = core.pending.get(pod.key)
        if known is not None and known.uid == pod.uid:
            # The bind plugin reported success, and yet no event shows the pod on a node.
            core.queue.add(known)
        emit(core, ASSIGNED_POD_DELETE, pod, None)

    # ---- nodes and everything else -----------------------------------------------------------------------

    def _node(self, old: Node | None, new: Node | None) -> None:
        core, cache = self.core, self.core.cache
        if old is not None and (new is None or _is_another(old, new)):
            if core.binding:
                leave_node(core, old.name)
            cache.remove_node(old.name)
        if new is not None:
            cache.set_node(new)
        self._emit(old, new)

    def _stored(self, old: Any, new: Any) -> None:
        objects = self.core.objects
        if new is None:
            objects.remove(old.KIND, old.key)
        else:
            objects.set(new)
        self._emit(old, new)


def kinds_read(framework: Framework) -> set[str]:
    """Return the kinds that the plugins of a profile read.

    Those of their events, those that they declare in ``reads``, and their own ``kinds``.
    """
    kinds = {*framework.kinds()}
    for registered in framework.events().values():
        kinds.update(each.event.resource.rpartition("/")[2] for each in registered or ())
    for plugin in framework.plan.plugins.values():
        kinds.update(declared(plugin, "reads"))
    return kinds


def _same_version(old: Pod, new: Pod) -> bool:
    version = new.metadata.resource_version
    return bool(version) and version == old.metadata.resource_version


def _is_another(old: Any, new: Any) -> bool:
    return bool(old.uid and new.uid and old.uid != new.uid)
