"""What may help a pod that found no place for its volumes."""

from __future__ import annotations

from schedframe import PersistentVolumeClaim, Pod
from schedframe.api import CSINode, VolumeAttachment

from .._volumes import uses_claim, volumes_of
from .._volumes_csi_nodes import volume_limits
from .._volumes_in_tree import handle_of, plugin_of


def csi_node_updated(pod: Pod, old: CSINode, new: CSINode) -> bool:
    """Hint: the limit of some driver is higher than before; no limit counts as 0 here."""
    before = volume_limits(old)
    return any(count > before.get(driver, 0) for driver, count in volume_limits(new).items())


def pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> bool:
    """Hint: the pod had a node, or was promised one, and volumes to be attached there."""
    if not (old.spec.node_name or old.status.nominated_node_name):
        return False
    found = volumes_of(old.spec)
    return found is not None and bool(found.claiming or found.in_tree)


def claim_added(pod: Pod, old: None, new: PersistentVolumeClaim) -> bool:
    """Hint: it is a claim of the pod."""
    return uses_claim(pod, new, ephemeral=True)


def attachment_deleted(pod: Pod, old: VolumeAttachment, new: None) -> bool:
    """Hint: a volume was detached by the driver of one of the pod's disks; with claims, by any driver.

    Raises InputError for a disk that the driver cannot have.
    """
    found = volumes_of(pod.spec)
    if found is None:
        return False
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return True
        plugin = plugin_of(volume)
        if plugin is not None:
            if plugin.handle is not None:
                handle_of(plugin, volume)
            if plugin.driver == old.spec.attacher:
                return True
    return False
