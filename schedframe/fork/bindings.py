"""Placements among the manifests: Bindings, and what ``schedule -o json`` or ``-o yaml`` has written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import field

from .._base.value import record
from ..api import ClusterObject, Pod
from ..cluster import InMemoryCluster
from ..errors import InputError

RESULT_VERSION: Final = "schedframe/v1"
RESULT_KIND: Final = "ScheduleResult"
"""Kind of the document that ``schedule`` writes for programs."""


@record(frozen=True)
class _Placement:
    location: str
    """Where it is written."""
    pod: str
    """``namespace/name``."""
    node: str


@record(eq=False)
class GivenPlacements:
    """Nodes of pods, and pods that were preempted, in the order given."""

    placed: list[_Placement] = field(factory=list)
    preempted: set[str] = field(factory=set)

    @property
    def any(self) -> bool:
        """Return whether a pod was given a node, or preempted."""
        return bool(self.placed or self.preempted)

    def take(self, location: str, manifest: Mapping[str, Any]) -> bool:
        """Read a manifest, and return whether it has placements. Raises :class:`InputError`."""
        kind, version = manifest.get("kind"), manifest.get("apiVersion")
        try:
            if kind == "Binding" and version in (None, "v1"):
                self.placed.append(_binding(location, manifest))
            elif kind == RESULT_KIND and version == RESULT_VERSION:
                self.placed += _results(location, manifest)
                self.preempted |= {_text(each["pod"]) for each in manifest["summary"]["preempted"]}
            else:
                return False
        except (KeyError, TypeError, AttributeError):
            fix = "write it as schedule does"
            raise InputError("", f"the {kind} is not complete", fix, location=location) from None
        return True

    def applied(self, objects: Sequence[ClusterObject]) -> list[ClusterObject]:
        """Return *objects* with the pods on their nodes, without those that were preempted; O(objects).

        Raises :class:`InputError` for a pod or node that is not there, and for a pod on another node.
        """
        if not self.any:
            return list(objects)
        pods = {obj.key: obj for obj in objects if isinstance(obj, Pod)}
        nodes = {obj.name for obj in objects if obj.KIND == "Node"}
        for each in self.placed:
            pod = pods.get(each.pod)
            if pod is None:
                problem, fix = f"there is no pod {each.pod}", "add its manifest, or leave the placement out"
            elif each.node not in nodes:
                problem, fix = f"there is no node {each.node} for {each.pod}", "add its manifest"
            elif pod.node_name not in ("", each.node):
                problem, fix = f"{each.pod} is on {pod.node_name} already", "leave out one of the two"
            else:
                pods[each.pod] = pod.with_node_name(each.node)
                continue
            raise InputError("", problem, fix, location=each.location)
        return [
            pods[obj.key] if isinstance(obj, Pod) else obj
            for obj in objects
            if not isinstance(obj, Pod) or obj.key not in self.preempted
        ]

    def applied_in(self, cluster: InMemoryCluster, values: Sequence[ClusterObject]) -> list[ClusterObject]:
        """Return *values*, and pods of *cluster*, on their given nodes; delete pods that were preempted.

        Raises :class:`InputError` for a placement that is impossible; nothing is deleted then. O(cluster).
        """
        added = {(value.KIND, value.key) for value in values}
        present = [
            obj for kind in ("Node", "Pod") for obj in cluster.list(kind) if (kind, obj.key) not in added
        ]
        placed = self.applied([*values, *present])
        unchanged = set(map(id, present))
        for obj in present:
            if isinstance(obj, Pod) and obj.key in self.preempted:
                cluster.delete("Pod", obj.key)
        return [obj for obj in placed if id(obj) not in unchanged]


def _binding(location: str, manifest: Mapping[str, Any]) -> _Placement:
    metadata, node = manifest["metadata"], manifest["target"]["name"]
    namespace = _text(metadata.get("namespace") or "default")
    return _Placement(location, f"{namespace}/{_text(metadata['name'])}", _text(node))


def _results(location: str, manifest: Mapping[str, Any]) -> Iterator[_Placement]:
    for each in manifest["pods"]:
        if each["node"] is not None:
            pod = f"{_text(each['namespace'])}/{_text(each['name'])}"
            yield _Placement(location, pod, _text(each["node"]))


def _text(value: Any) -> str:
    """Return *value*, a name. Raises :class:`TypeError` for anything but text that is not empty."""
    if not isinstance(value, str) or not value:
        raise TypeError(value)
    return value
