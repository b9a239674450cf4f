"""Creation of objects by the server: identity, defaults, the first status."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any, Final

from ...api.times import format_time
from .kinds import BUILT_IN, ServedKind
from .refusals import Refusal
from .store import Store

Obj = dict[str, Any]

_PRIORITY_CLASS: Final = next(kind for kind in BUILT_IN if kind.kind == "PriorityClass")
_SYSTEM_PRIORITIES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_FIRST_STATUS: Final[dict[str, Obj]] = {
    "Pod": {"phase": "Pending"},
    "PersistentVolume": {"phase": "Pending"},
    "PersistentVolumeClaim": {"phase": "Pending"},
}
_KEEPS_STATUS: Final = frozenset({"Node", "Namespace"})
"""Kinds whose status may come with the creation."""
_SUFFIX: Final = "bcdfghjklmnpqrstvwxz2456789"
_EVENT_FIELDS: Final = ("eventTime", "reportingController", "reportingInstance", "action", "reason")
_NAMESPACES_OF_THE_REST: Final = ("default", "kube-system")
"""Where events about objects without a namespace are."""
LONGEST_NOTE: Final = 1024


def seconds_text(moment: float) -> str:
    """Return a time as ``metav1.Time`` has it, in whole seconds."""
    return format_time(float(int(moment)))


def new_metadata(obj: Obj, namespace: str, now: float, rng: Random) -> Obj:
    """Return the metadata of a new object: named, with a uid and a time."""
    metadata = {**(obj.get("metadata") or {})}
    if not metadata.get("name"):
        prefix = metadata.get("generateName")
        if not prefix:
            raise Refusal(422, "metadata.name: Required value: name or generateName is required")
        metadata["name"] = prefix + "".join(rng.choices(_SUFFIX, k=5))
    metadata["namespace"] = namespace
    if not namespace:
        del metadata["namespace"]
    metadata.pop("deletionTimestamp", None)
    metadata["creationTimestamp"] = seconds_text(now)
    return metadata


def new_uid(rng: Random) -> str:
    """Return a uid that *rng* decides."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def first_status(kind: ServedKind, obj: Obj) -> Obj:
    """Return *obj* with the status that a client's creation gets."""
    if not kind.has_status or kind.kind in _KEEPS_STATUS:
        return obj
    rest = {key: value for key, value in obj.items() if key != "status"}
    status = _FIRST_STATUS.get(kind.kind)
    return {**rest, "status": dict(status)} if status is not None else rest


def admitted(store: Store, kind: ServedKind, obj: Obj, now: float) -> Obj:
    """Return *obj* with the defaults of its kind. Raises :class:`Refusal` for what is invalid."""
    if kind.kind == "Pod":
        return _admit_pod(store, obj, now)
    if kind.kind == "PodGroup":
        return _admit_group(store, obj)
    return _admit_event(obj) if kind.kind == "Event" else obj


def _admit_pod(store: Store, obj: Obj, now: float) -> Obj:
    spec: Obj = {"schedulerName": "default-scheduler", "restartPolicy": "Always"} | (obj.get("spec") or {})
    name = spec.get("priorityClassName")
    if name:
        priority_class = _priority_class(store, name)
        spec["priority"] = int(priority_class.get("value", 0))
        if policy := priority_class.get("preemptionPolicy"):
            spec.setdefault("preemptionPolicy", policy)
    spec.setdefault("priority", 0)
    status = {"phase": "Pending"} | (obj.get("status") or {})
    if spec.get("schedulingGates") and not status.get("conditions"):
        message = "Scheduling is blocked due to non-empty scheduling gates"
        reason = "SchedulingGated"
        gated = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        status["conditions"] = [{**gated, "lastTransitionTime": seconds_text(now)}]
    return {**obj, "spec": spec, "status": status}


def _admit_group(store: Store, obj: Obj) -> Obj:
    """Return a PodGroup with the priority of its class."""
    spec: Obj = dict(obj.get("spec") or {})
    if name := spec.get("priorityClassName"):
        spec["priority"] = int(_priority_class(store, name).get("value", 0))
    return {**obj, "spec": spec}


def _priority_class(store: Store, name: str) -> Obj:
    if name in _SYSTEM_PRIORITIES:
        return {"value": _SYSTEM_PRIORITIES[name]}
    found = store.get(_PRIORITY_CLASS, name)
    if found is None:
        raise Refusal(403, f"no PriorityClass with name {name} was found")
    return found


def _admit_event(obj: Obj) -> Obj:
    missing = [key for key in _EVENT_FIELDS if not obj.get(key)]
    if missing:
        raise Refusal(422, f"{', '.join(missing)}: Required value")
    if len(obj.get("note", "").encode()) > LONGEST_NOTE:
        raise Refusal(422, f"note: can have at most {LONGEST_NOTE} characters")
    about = (obj.get("regarding") or {}).get("namespace")
    if not about and obj["metadata"]["namespace"] not in _NAMESPACES_OF_THE_REST:
        raise Refusal(422, "regarding.namespace: Invalid value: does not match event.namespace")
    return obj
