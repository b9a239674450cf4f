"""Pod groups: the kind, and who belongs to which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import define, field, frozen

from schedframe import Handle, NamespacedObject, ObjectMeta, Pod, Quantity, RowFollower, wire

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
"""Label of a pod: the name of its group, in its namespace."""


@frozen
class PodGroupSpec:
    """How many pods make the group worth starting, and what they need at least."""

    min_member: int = 0
    min_resources: Mapping[str, Quantity] = field(factory=dict)
    schedule_timeout_seconds: int | None = field(default=None, metadata=wire(bits=32))


@frozen
class PodGroup(NamespacedObject):
    """A ``PodGroup`` of ``scheduling.x-k8s.io``; Kubernetes has a kind of that name in another group."""

    KIND: ClassVar[str] = "scheduling.x-k8s.io/PodGroup"
    API_VERSION: ClassVar[str] = "scheduling.x-k8s.io/v1alpha1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = field(factory=ObjectMeta)
    spec: PodGroupSpec = field(factory=PodGroupSpec)


def group_key(pod: Pod) -> str | None:
    """``namespace/name`` of the pod's group, ``None`` if it is in none."""
    name = pod.labels.get(POD_GROUP_LABEL)
    return f"{pod.namespace}/{name}" if name else None


@define(eq=False)
class Members:
    """Which pods of which groups have a node, those included that wait there for the others.

    Read from the scheduler's own table, so that it is true whoever placed them.
    """

    handle: Handle
    _placed: defaultdict[str, dict[str, Pod]] = field(factory=lambda: defaultdict(dict), init=False)
    """Group → pods on nodes by uid."""
    _by_row: dict[int, list[tuple[str, str]]] = field(factory=dict, init=False)
    """Row → (group, uid) of what was counted there."""
    _follower: RowFollower | None = field(default=None, init=False)

    def placed(self, group: str) -> Mapping[str, Pod]:
        """Members on nodes, by uid. O(pods of the rows that changed since the last call)."""
        table = self.handle.table
        if self._follower is None:
            self._follower = RowFollower(table)
        changed = self._follower.changed()
        # First all that is gone, then all that is there: a pod may have moved from one row to another.
        for row in changed:
            for counted, uid in self._by_row.pop(row, ()):
                self._placed[counted].pop(uid, None)
                if not self._placed[counted]:
                    del self._placed[counted]
        for row in changed:
            found = [(key, pod) for pod in table.pods_at(row).values() if (key := group_key(pod))]
            for key, pod in found:
                self._placed[key][pod.uid] = pod
            if found:
                self._by_row[row] = [(key, pod.uid) for key, pod in found]
        return self._placed.get(group, {})

    def waiting_for_a_node(self, group: str) -> list[Pod]:
        """Members without a node; O(pending pods)."""
        placed = self.placed(group)
        pending = self.handle.pending.values()
        return [pod for pod in pending if group_key(pod) == group and pod.uid not in placed]
