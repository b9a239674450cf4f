"""Changes of existing objects that the API server refuses.

Paths are those of manifests, with ``[]`` for the items of a list. Source of the rules: the functions
``Validate…Update`` of pkg/apis of Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...errors import InputError

_MISSING: Final = object()
_METADATA: Final = frozenset({"labels", "annotations", "finalizers", "ownerReferences"})
"""Members of ``metadata`` that people change."""

MAY_CHANGE: Final[Mapping[str, frozenset[str]]] = {
    "Pod": frozenset(
        {
            "spec.activeDeadlineSeconds",
            "spec.containers[].image",
            "spec.initContainers[].image",
            "spec.schedulingGates",
            "spec.terminationGracePeriodSeconds",
            "spec.tolerations",
        }
    ),
    "Job": frozenset(
        {
            "spec.activeDeadlineSeconds",
            "spec.backoffLimit",
            "spec.parallelism",
            "spec.suspend",
            "spec.ttlSecondsAfterFinished",
        }
    ),
    "StatefulSet": frozenset(
        {
            "spec.minReadySeconds",
            "spec.ordinals",
            "spec.persistentVolumeClaimRetentionPolicy",
            "spec.replicas",
            "spec.revisionHistoryLimit",
            "spec.template",
            "spec.updateStrategy",
        }
    ),
    "PersistentVolumeClaim": frozenset({"spec.resources.requests", "spec.volumeAttributesClassName"}),
    "ResourceClaim": frozenset(),
    "ResourceClaimTemplate": frozenset(),
}
"""Kind → all that may change in its spec."""

IMMUTABLE: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet"), frozenset({"spec.selector"})),
    "CSIStorageCapacity": frozenset({"nodeTopology", "storageClassName"}),
    "PersistentVolume": frozenset({"spec.volumeMode"}),
    "PriorityClass": frozenset({"value", "preemptionPolicy"}),
    "RuntimeClass": frozenset({"handler"}),
    "StorageClass": frozenset({"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"}),
}
"""Kind → what may not change, of kinds in which nearly all may."""

ADDED_ONLY: Final = frozenset({("Pod", "spec.tolerations")})
"""Lists of which no item may go."""
REMOVED_ONLY: Final = frozenset({("Pod", "spec.schedulingGates")})
"""Lists to which no item may come."""

VOLUME_FIELDS: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)
"""Members of a volume's spec besides its source, which never changes."""


def refused_update(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[InputError]:
    """Return what the API server refuses of the change from *before* to *after*, manifests of one object.

    Whether *after* is right as such is another question (:func:`~schedframe.api.validation.problems_of`).
    Changes of ``status`` are not looked at: they go to another address.
    """
    kind = str(before.get("kind"))
    return [
        _immutable(kind, path)
        for path, old, new in _changes(before, after, "")
        if not path.startswith(("status", "apiVersion")) and not _may_change(kind, path, old, new)
    ]


def _may_change(kind: str, path: str, old: Any, new: Any) -> bool:
    if path == "metadata" or path.startswith("metadata."):
        return path.split(".")[1].split("[", 1)[0] in _METADATA if "." in path else True
    if kind == "PersistentVolume" and path.startswith("spec."):
        field = path.split(".")[1].split("[", 1)[0]
        if field == "nodeAffinity":
            return old is _MISSING and path == "spec.nodeAffinity"
        return field in VOLUME_FIELDS and field != "volumeMode"
    if kind == "PersistentVolumeClaim" and path == "spec.volumeName":
        return old in (_MISSING, "")
    allowed = MAY_CHANGE.get(kind)
    if allowed is not None:
        return any(_is_below(path, each) for each in allowed) and _keeps_items(kind, path, old, new)
    return not any(_is_below(path, each) for each in IMMUTABLE.get(kind, ()))


def _is_below(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))


def _keeps_items(kind: str, path: str, old: Any, new: Any) -> bool:
    """Return whether a list that may only grow, or only shrink, does so."""
    items = (list(each) if isinstance(each, list) else [] for each in (old, new))
    before, after = items
    if (kind, path) in ADDED_ONLY:
        return all(item in after for item in before)
    if (kind, path) in REMOVED_ONLY:
        return all(item in before for item in after)
    return True


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, old and new value of what differs; a list of another length, or of no objects, as one."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            inner = f"{path}.{key}" if path else str(key)
            yield from _changes(before.get(key, _MISSING), after.get(key, _MISSING), inner)
    elif _are_lists_of_objects(before, after) and len(before) == len(after) and not _is_whole(path):
        for old, new in zip(before, after, strict=True):
            yield from _changes(old, new, f"{path}[]")
    else:
        yield path, before, after


def _is_whole(path: str) -> bool:
    return any(path == field for _, field in (*ADDED_ONLY, *REMOVED_ONLY))


def _are_lists_of_objects(before: Any, after: Any) -> bool:
    return (
        isinstance(before, list)
        and isinstance(after, list)
        and all(isinstance(item, Mapping) for item in (*before, *after))
    )


def _immutable(kind: str, path: str) -> InputError:
    fix = f"delete the {kind} and create it again"
    return InputError(path, f"cannot be changed in a {kind} that exists", fix)
