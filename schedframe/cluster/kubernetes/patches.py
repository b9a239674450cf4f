"""Changes of objects as patches: only what differs is sent, so fields that were not read are left alone."""

from __future__ import annotations

from typing import Any, Final

import attrs

from ...api import Pod, PodCondition
from ...api.manifest import part_to_manifest, to_manifest
from ...api.times import format_time

WITH_STATUS: Final = frozenset(
    {
        "Pod",
        "Node",
        "Namespace",
        "Service",
        "ReplicationController",
        "ReplicaSet",
        "StatefulSet",
        "PodDisruptionBudget",
        "PodGroup",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "VolumeAttachment",
        "ResourceClaim",
    }
)
"""Kinds whose status is written through a path of its own; a write of the object leaves it alone."""

_SET_BY_SERVER: Final = frozenset({"resourceVersion", "uid", "generation", "creationTimestamp"})

Patch = dict[str, Any]


def changes(base: Any, new: Any) -> tuple[Patch, Patch]:
    """Return the merge patches that make *base* into *new*: of the object, and of its status.

    An empty one means that there is nothing to do. Both carry the uid and version of *base* as preconditions.
    """
    if _differs_in_metadata_alone(base, new):
        before, after = ({"metadata": part_to_manifest(each.metadata)} for each in (base, new))
        return _difference(without_server_fields(before), without_server_fields(after)), {}
    before, after = to_manifest(base), to_manifest(new)
    status: Patch = {}
    if base.KIND in WITH_STATUS:
        status = _difference({"status": before.pop("status", {})}, {"status": after.pop("status", {})})
    return _difference(without_server_fields(before), without_server_fields(after)), status


def _differs_in_metadata_alone(base: Any, new: Any) -> bool:
    """Return whether the two share all values but the metadata, as a copy with an annotation does."""
    if type(base) is not type(new) or hasattr(base, "_as_written"):
        return False
    names = [each.name for each in attrs.fields(type(new)) if each.name != "metadata"]
    return all(getattr(base, name) is getattr(new, name) for name in names)


def without_server_fields(manifest: Patch) -> Patch:
    """Return *manifest* without the fields of the metadata that the server sets."""
    metadata = {
        key: value for key, value in manifest.get("metadata", {}).items() if key not in _SET_BY_SERVER
    }
    return {**manifest, "metadata": metadata}


def is_applied(patch: Patch, manifest: Patch) -> bool:
    """Return whether the merge patch *patch* would change nothing of *manifest*."""
    for key, value in patch.items():
        present = manifest.get(key)
        if isinstance(value, dict):
            if not is_applied(value, present if isinstance(present, dict) else {}):
                return False
        elif value != present:
            return False
    return True


def with_preconditions(patch: Patch, uid: str, version: str) -> Patch:
    """Return *patch* so that the server refuses it for another object or version."""
    preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
    return {**patch, "metadata": {**patch.get("metadata", {}), **preconditions}}


def _difference(before: dict[str, Any], after: dict[str, Any]) -> Patch:
    found: Patch = {key: None for key in before if key not in after}
    for key, value in after.items():
        present = before.get(key)
        if isinstance(value, dict) and isinstance(present, dict):
            if inner := _difference(present, value):
                found[key] = inner
        elif key not in before or present != value:
            found[key] = value
    return found


def status_patch(
    pod: Pod, condition: PodCondition | None, nominated_node_name: str | None, now: float
) -> Patch:
    """Return the strategic merge patch of a pod's status; conditions are merged by type.

    The transition time stays that of *pod* where the condition's status does.
    """
    status: Patch = {}
    if condition is not None:
        old = pod.status.condition(condition.type)
        moment = now
        if old is not None and old.status == condition.status and old.last_transition_time is not None:
            moment = old.last_transition_time
        written: Patch = {
            "type": condition.type,
            "status": condition.status,
            "lastProbeTime": None,
            "lastTransitionTime": format_time(float(int(moment))),
            "reason": condition.reason,
            "message": condition.message,
        }
        if condition.observed_generation:
            written["observedGeneration"] = condition.observed_generation
        status["conditions"] = [written]
        types = dict.fromkeys([*(each.type for each in pod.status.conditions), condition.type])
        if len(types) > 1:
            # Without an order, the server puts a condition that is new before the others.
            status["$setElementOrder/conditions"] = [{"type": type} for type in types]
    if nominated_node_name is not None:
        status["nominatedNodeName"] = nominated_node_name or None
    return {"metadata": {"uid": pod.uid} if pod.uid else {}, "status": status}
