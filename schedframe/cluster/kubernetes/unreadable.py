"""Objects that cannot be read as a whole: what can be read of them, and what watchers see in their place.

See *Objects that cannot be read* in ``docs/explanation/real-cluster.md``. Whatever is missing is decided on
the safe side: a decision may wait for it, and none is made as if it did not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from attrs import evolve

from ..._base.brief import shortened
from ..._base.value import record
from ...api import Pod
from ...api.metadata import UNREADABLE
from ...api.paths import Steps, steps_of
from ...errors import InputError

MOST_LOST: Final = 16
"""Fields that are left out one after another; of an object with more mistakes only the names are read."""

WAITED_FOR: Final = frozenset(
    {
        "CSIStorageCapacity",
        "DeviceClass",
        "PersistentVolume",
        "PodGroup",
        "ResourceClaimTemplate",
        "ResourceSlice",
        "StorageClass",
        "Workload",
    }
)
"""Kinds that offer something: without the object, pods that need it wait. It is as if it were not there."""
CLAIMS: Final = frozenset({"PersistentVolumeClaim", "ResourceClaim"})
"""Kinds that hold something, and that pods name: what they hold stays held, and those pods wait."""
LIMITING: Final = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "Namespace",
        "PodDisruptionBudget",
        "PriorityClass",
        "ReplicaSet",
        "ReplicationController",
        "Service",
        "StatefulSet",
        "VolumeAttachment",
    }
)
"""Kinds that limit or rank: without the object more would be allowed, so what can be read of it counts."""

_BESIDE_THE_NODE: Final = (
    "metadata",
    "spec.affinity.nodeAffinity",
    "spec.affinity.podAffinity",
    "spec.nodeSelector",
    "spec.preemptionPolicy",
    "spec.priorityClassName",
    "spec.schedulerName",
    "spec.schedulingGates",
    "spec.schedulingGroup",
    "spec.serviceAccountName",
    "spec.tolerations",
    "spec.topologySpreadConstraints",
    "status.conditions",
    "status.nominatedNodeName",
    "status.phase",
    "status.qosClass",
    "status.reason",
    "status.startTime",
)
"""Fields of a pod on a node that do not say what it takes there."""


class MarkedMeta(msgspec.Struct, rename="camel"):
    """The metadata that tells objects apart."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class Marked(msgspec.Struct):
    """An object of which only the metadata was read."""

    metadata: MarkedMeta

    @property
    def key(self) -> str:
        """The same as of the whole object: ``namespace/name``, or the name."""
        metadata = self.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


@record(frozen=True, eq=False)
class Unreadable:
    """An object that cannot be read as a whole."""

    kind: str
    metadata: MarkedMeta
    problem: str
    """The first mistake."""
    part: Any = None
    """The value without the fields that cannot be read; ``None`` if it has no name or hides too much."""
    lost: tuple[str, ...] = ()
    """Paths of these fields, without indices."""

    @property
    def key(self) -> str:
        """The same as of the whole object."""
        return Marked(self.metadata).key

    def has_lost(self, path: str) -> bool:
        """Return whether the field at *path*, or a part of it or one around it, could not be read."""
        return any(_is_inside(each, path) or _is_inside(path, each) for each in self.lost)

    @property
    def hides_requests(self) -> bool:
        """Return whether it is a pod of which something that it takes from its node could not be read."""
        return self.kind == Pod.KIND and any(
            not any(_is_inside(lost, field) for field in _BESIDE_THE_NODE) for lost in self.lost
        )


def _is_inside(path: str, outer: str) -> bool:
    return path == outer or path.startswith(f"{outer}.")


Make = Callable[[dict[str, Any]], Any]
"""From a manifest to the value. Raises :class:`InputError` with the path of what it does not take."""


def read_in_part(kind: str, make: Make, manifest: dict[str, Any], error: Exception) -> Any:
    """Return the value of *manifest*, or :class:`Unreadable` if a field that it has cannot be read.

    *manifest* loses what cannot be read. *error*: why the decoder did not take the object.
    """
    metadata, lost = _marked_meta(manifest), list[str]()
    problem = ""
    for _ in range(MOST_LOST):
        try:
            made = make(manifest)
        except InputError as mistake:
            problem = problem or str(mistake.errors[0])
            path = _remove(manifest, steps_of(mistake.path))
            if not path:
                break
            lost.append(path)
        except Exception as fault:  # noqa: BLE001 - whatever a class of any kind does not expect
            problem = problem or _shown(fault)
            break
        else:
            return made if not lost else Unreadable(kind, metadata, shortened(problem), made, tuple(lost))
    problem = shortened(problem or _shown(error))
    try:
        made = make(_names_alone(manifest))
    except Exception as fault:  # noqa: BLE001 - as above
        return Unreadable(kind, metadata, shortened(f"{problem}; {_shown(fault)}"))
    return Unreadable(kind, metadata, problem, made, ("spec", "status"))


def _shown(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) or type(error).__name__


def _marked_meta(manifest: dict[str, Any]) -> MarkedMeta:
    read = manifest.get("metadata")
    given = read if isinstance(read, dict) else {}
    name, namespace, uid, version = (
        each if isinstance(each := given.get(key), str) else ""
        for key in ("name", "namespace", "uid", "resourceVersion")
    )
    annotations = given.get("annotations")
    kept = None
    if isinstance(annotations, dict):
        kept = {key: value for key, value in annotations.items() if isinstance(value, str)}
    return MarkedMeta(name, namespace, uid, version, kept)


def marked(manifest: Any) -> Marked:
    """Return the metadata of *manifest*, of which nothing need be as it should."""
    return Marked(_marked_meta(manifest if isinstance(manifest, dict) else {}))


def _names_alone(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest with what tells the object apart, and the node of a pod."""
    meta = _marked_meta(manifest)
    metadata = {
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
    spec = manifest.get("spec")
    node = spec.get("nodeName") if isinstance(spec, dict) else None
    return {"metadata": metadata, "spec": {"nodeName": node} if isinstance(node, str) else {}}


def _remove(manifest: dict[str, Any], steps: Steps) -> str:
    """Remove the member at *steps*, or the innermost one around it; return its path, empty without one."""
    place: Any = manifest
    found: tuple[Any, Any] | None = None
    names: list[str] = []
    for step in steps:
        is_there = isinstance(place, list) and isinstance(step, int) and step < len(place)
        if not is_there and not (isinstance(place, dict) and step in place):
            break
        found = place, step
        if isinstance(step, str):
            names.append(step)
        place = place[step]
    if found is None:
        return ""
    del found[0][found[1]]
    return ".".join(names)


# ---- in its place ------------------------------------------------------------------------------------------


def stand_in(left: Unreadable, last: Any) -> Any:
    """Return the object to see in place of one that cannot be read; ``None``: as if it were not there.

    *last*: the last version that could be read, or what stood in for it, ``None`` without one.
    """
    if last is not None and last.uid != left.metadata.uid:
        last = None
    if left.kind == Pod.KIND:
        return _pod_in_place(left, last)
    if left.kind in WAITED_FOR:
        return None
    if left.kind == "ResourceClaim" and not left.has_lost("status.allocation"):
        return _refused(left, left.part or last)
    if left.kind in CLAIMS:
        return _refused(left, last or left.part)
    return last if last is not None or left.kind not in (*LIMITING, "Node") else left.part


def _pod_in_place(left: Unreadable, last: Pod | None) -> Pod | None:
    """Return what counts on a node; a pod that waits is not tried before it can be read."""
    part: Pod | None = left.part
    there = "" if part is None else part.spec.node_name
    if not there:
        hides_node = part is None or left.has_lost("spec.nodeName")
        return last if hides_node and last is not None and last.spec.node_name else None
    if left.hides_requests and last is not None and last.spec.node_name == there:
        return last
    return part


def _refused(left: Unreadable, claim: Any) -> Any:
    """Return *claim* with the mark by which pods that name it wait."""
    if claim is None:
        return None
    version = left.metadata.resource_version
    annotations = {**claim.metadata.annotations, UNREADABLE: "true"}
    return evolve(claim, metadata=evolve(claim.metadata, annotations=annotations, resource_version=version))


def closed_node(left: Unreadable, shown: Any) -> str:
    """Return the name of the node that must take no more pods while *left* cannot be read, empty if none.

    *shown*: what stands in for it.
    """
    if left.kind == "Node":
        return left.metadata.name
    if left.kind != Pod.KIND or shown is None or shown.is_terminated:
        return ""
    hides = left.hides_requests or left.part is None
    return shown.spec.node_name if hides else ""
