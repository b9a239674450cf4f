"""Affinity terms of members on trial that count for the members after them.

kube-scheduler v1.36 looks for the terms of existing pods on listed nodes only: those that have a pod with
affinity terms, and those that have one with required anti-affinity (pkg/scheduler/backend/cache/snapshot.go).
It makes the lists when a cycle begins, and placing a member on trial does not renew them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from attrs import evolve, field

from ..._base.value import record
from ...api import Affinity, Pod
from ...state import NodeTable


class Listed(Enum):
    """On which lists a node was when the cycle began."""

    NO = auto()
    TERMS = auto()
    REQUIRED_ANTI = auto()
    """On both lists: a pod with required anti-affinity has terms."""


@record(eq=False)
class ListedTerms:
    """Members on trial, each counted in the table with those of its terms that count.

    The labels of all members count. The terms of members on unlisted nodes do not count, but in scoring for a
    pod with preferred terms of its own, for which v1.36 looks at all nodes.
    """

    table: NodeTable
    _listed: dict[str, Listed] = field(factory=dict)
    """By node, as far as it was asked for."""
    _is_complete: bool = False
    """Whether ``_listed`` has all nodes that were listed."""
    _unlisted: dict[str, tuple[str, Pod]] = field(factory=dict)
    """Uid → node and member, for those on nodes without a list."""
    _looks_everywhere: bool = False
    """Whether the members on unlisted nodes are counted for a pod with preferred terms."""

    def remember(self) -> None:
        """List the nodes now, because pods are about to be removed on trial; O(pods) if any pod has terms."""
        table = self.table
        if self._is_complete or not table.pods_with_affinity:
            return
        for info in table.rows():
            if info.name not in self._listed:
                self._listed[info.name] = _listed(info.pods.values())
        self._is_complete = True

    def prepare(self, pod: Pod) -> None:
        """Count the members as they count for *pod*, the next member; O(1) if nothing differs."""
        if not self._unlisted:
            return
        looks_everywhere = _has_preferred(pod.spec.affinity)
        if looks_everywhere == self._looks_everywhere:
            return
        self._looks_everywhere = looks_everywhere
        for uid, (node_name, member) in self._unlisted.items():
            self.table.remove_pod(node_name, uid)
            self.table.add_pod(node_name, self._counted(member))

    def add(self, node_name: str, pod: Pod) -> None:
        """Count a member on its node."""
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            self.table.add_pod(node_name, pod)
            return
        listed = self._listed.get(node_name)
        if listed is None:
            row = self.table.live_row(node_name)
            pods = {} if row is None else self.table.pods_at(row)
            listed = self._listed[node_name] = _listed(pods.values())
        if listed is Listed.NO:
            if not self._unlisted:
                self._looks_everywhere = _has_preferred(affinity)
            self._unlisted[pod.uid] = (node_name, pod)
            pod = self._counted(pod)
        elif listed is Listed.TERMS:
            pod = _without_required_anti(pod)
        self.table.add_pod(node_name, pod)

    def forget(self, uid: str) -> None:
        """Forget a member that the table has taken back."""
        self._unlisted.pop(uid, None)

    def end(self) -> None:
        """End one trial: the table takes the members back itself."""
        self._unlisted.clear()

    def _counted(self, pod: Pod) -> Pod:
        return _without_required_anti(pod) if self._looks_everywhere else _without_terms(pod)


def _listed(pods: Iterable[Pod]) -> Listed:
    """Return on which lists a node with these pods is."""
    listed = Listed.NO
    for pod in pods:
        affinity = pod.spec.affinity
        if affinity is None:
            continue
        anti = affinity.pod_anti_affinity
        if anti is not None and anti.required:
            return Listed.REQUIRED_ANTI
        if anti is not None or affinity.pod_affinity is not None:
            listed = Listed.TERMS
    return listed


def _has_preferred(affinity: Affinity | None) -> bool:
    parts = () if affinity is None else (affinity.pod_affinity, affinity.pod_anti_affinity)
    return any(part is not None and part.preferred for part in parts)


def _without_terms(pod: Pod) -> Pod:
    """Return a copy that no affinity term comes from."""
    affinity = pod.spec.affinity
    assert affinity is not None
    return _with_affinity(pod, evolve(affinity, pod_affinity=None, pod_anti_affinity=None))


def _without_required_anti(pod: Pod) -> Pod:
    """Return a copy without required anti-affinity; *pod* itself if it has none."""
    affinity = pod.spec.affinity
    assert affinity is not None
    anti = affinity.pod_anti_affinity
    if anti is None or not anti.required:
        return pod
    return _with_affinity(pod, evolve(affinity, pod_anti_affinity=evolve(anti, required=())))


def _with_affinity(pod: Pod, affinity: Affinity) -> Pod:
    return Pod(pod.metadata, evolve(pod.spec, affinity=affinity), pod.status)
