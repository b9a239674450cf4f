"""Pod groups: the kind, and the index of their members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import define, field, frozen

from schedframe import Handle, ObjectMeta, Pod, Quantity
from schedframe.api import NamespacedObject, wire
from schedframe.state import RowChangeReader

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
"""Label of a pod: the name of its group, in its namespace."""


@frozen
class PodGroupSpec:
    """Number of pods that must start together, and the resources they need at least."""

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
    """Return ``namespace/name`` of the pod's group; ``None`` if it is in none."""
    name = pod.labels.get(POD_GROUP_LABEL)
    return f"{pod.namespace}/{name}" if name else None


@define(eq=False)
class Members:
    """Index of the placed pods of each group, those waiting at permit included.

    Read from the node table, so pods that other schedulers placed count, too.
    """

    handle: Handle
    _placed: defaultdict[str, dict[str, Pod]] = field(factory=lambda: defaultdict(dict), init=False)
    """Group → pods on nodes by uid."""
    _by_row: dict[int, list[tuple[str, str]]] = field(factory=dict, init=False)
    """Row → (group, uid) of the members on it."""
    _follower: RowChangeReader | None = field(default=None, init=False)

    def placed(self, group: str) -> Mapping[str, Pod]:
        """Return the members on nodes, by uid; O(pods of the rows that changed since the last call)."""
        table = self.handle.table
        if self._follower is None:
            self._follower = RowChangeReader(table)
        changed = self._follower.changed()
        # Remove before adding, because a pod may have moved from one row to another.
        for row in changed:
            for counted, uid in self._by_row.pop(row, ()):
                self._placed[counted].pop(uid, None)
                if not self._placed[counted]:
                    del self._placed[counted]
        for row in changed:
            members = [(key, pod) for pod in table.pods_at(row).values() if (key := group_key(pod))]
            for key, pod in members:
                self._placed[key][pod.uid] = pod
            if members:
                self._by_row[row] = [(key, pod.uid) for key, pod in members]
        return self._placed.get(group, {})

    def waiting_for_a_node(self, group: str) -> list[Pod]:
        """Return the members without a node; O(pending pods)."""
        placed = self.placed(group)
        pending = self.handle.pending.values()
        return [pod for pod in pending if group_key(pod) == group and pod.uid not in placed]
