"""Hints: which events may help a pod that was rejected because of its volumes."""

from __future__ import annotations

from schedframe import Action, ClusterEvent, EventRegistration, EventResource, Pod
from schedframe.api import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass

from .._volumes import uses_claim
from .._volumes_in_tree import migration_text
from .provisioning import volume_limit


def class_changed(pod: Pod, old: StorageClass | None, new: StorageClass) -> bool:
    """Hint: the class is new, or its allowed topologies changed."""
    return old is None or old.allowed_topologies != new.allowed_topologies


def claim_changed(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """Hint: the pod uses the claim."""
    return uses_claim(pod, new, ephemeral=True)


def csi_node_changed(pod: Pod, old: CSINode | None, new: CSINode) -> bool:
    """Hint: the CSINode is new, or its migrated plugins changed."""
    return old is None or migration_text(old) != migration_text(new)


def csi_driver_changed(pod: Pod, old: CSIDriver, new: CSIDriver) -> bool:
    """Hint: a driver that the pod uses directly no longer checks capacity."""
    if not old.spec.storage_capacity or new.spec.storage_capacity:
        return False
    return any(volume.csi is not None and volume.csi.driver == new.name for volume in pod.spec.volumes)


def capacity_changed(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> bool:
    """Hint: the capacity is new or larger."""
    if old is None:
        return True
    before, now = volume_limit(old), volume_limit(new)
    return now is not None and (before is None or now > before)


_CHANGED = Action.ADD | Action.UPDATE
REGISTRATIONS = (
    EventRegistration(ClusterEvent(EventResource.STORAGE_CLASS, _CHANGED), class_changed),
    EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, _CHANGED), claim_changed),
    EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME, _CHANGED)),
    EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
    EventRegistration(ClusterEvent(EventResource.CSI_NODE, _CHANGED), csi_node_changed),
    EventRegistration(ClusterEvent(EventResource.CSI_DRIVER, Action.UPDATE), csi_driver_changed),
    EventRegistration(ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, _CHANGED), capacity_changed),
)
