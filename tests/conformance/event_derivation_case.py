"""Derived events against :func:`schedframe.queue.derive_events` (``Event derivation`` in data/README.md)."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from schedframe import Action
from schedframe.api import KINDS, from_manifest
from schedframe.queue import derive_events

from .corpus import Case

_OTHER_KINDS = {
    "PersistentVolume": "Add Update",
    "PersistentVolumeClaim": "Add Update",
    "storage.k8s.io/StorageClass": "Add Update",
    "storage.k8s.io/CSINode": "Add Update",
    "storage.k8s.io/CSIDriver": "Update",
    "storage.k8s.io/CSIStorageCapacity": "Add Update",
    "storage.k8s.io/VolumeAttachment": "Delete",
    "resource.k8s.io/ResourceClaim": "Add Update",
    "resource.k8s.io/ResourceSlice": "Add Update",
    "resource.k8s.io/DeviceClass": "Add Update",
}


@frozen
class _Unmodelled:
    """An object of a kind that no plugin reads so far: of those, any change is an Update."""

    KIND: str
    uid: str


def registered() -> dict[str, Action]:
    """What the default plugins register for kinds other than pods and nodes."""
    actions = {}
    for resource, words in _OTHER_KINDS.items():
        actions[resource] = Action.NONE
        for word in words.split():
            actions[resource] |= Action.parse(word)
    return actions


def compare(case: Case) -> list[str]:
    """The differences between ``case["expect"]`` and what schedframe says."""
    old, new = (_object(case["kind"], case[side]) for side in ("old", "new"))
    events = [str(event) for event in derive_events(old, new, registered=registered())]
    expected = case["expect"]["events"]
    return [] if events == expected else [f"events: expected {expected}, got {events}"]


def _object(kind: str, manifest: dict[str, Any] | None) -> Any:
    if manifest is None:
        return None
    if kind not in KINDS:
        return _Unmodelled(kind, manifest["metadata"].get("uid", ""))
    # random changes, such as a taint that is there twice: no server had to take them
    return from_manifest(manifest, kind=kind, strict=False)
