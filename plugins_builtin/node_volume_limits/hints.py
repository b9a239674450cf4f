"""Hints: which events may help a pod whose volumes exceed a limit."""

from __future__ import annotations

from schedframe import Pod
from schedframe.api import CSINode, PersistentVolumeClaim, VolumeAttachment

from .._volumes import uses_claim, volumes_of
from .._volumes_csi_nodes import volume_limits
from .._volumes_in_tree import handle_of, plugin_of


def csi_node_updated(pod: Pod, old: CSINode, new: CSINode) -> bool:
    """Hint: the limit of a driver rose; a missing limit counts as 0, as in the reference."""
    before = volume_limits(old)
    return any(count > before.get(driver, 0) for driver, count in volume_limits(new).items())


def pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> bool:
    """Hint: the deleted pod had a node or a nomination, and volumes to attach."""
    if not (old.spec.node_name or old.status.nominated_node_name):
        return False
    volumes = volumes_of(old.spec)
    return volumes is not None and bool(volumes.claiming or volumes.in_tree)


def claim_added(pod: Pod, old: None, new: PersistentVolumeClaim) -> bool:
    """Hint: the pod uses the claim."""
    return uses_claim(pod, new, ephemeral=True)


def attachment_deleted(pod: Pod, old: VolumeAttachment, new: None) -> bool:
    """Hint: the driver of one of the pod's disks detached a volume; any driver if the pod has claims.

    Raises InputError for a disk that cannot be translated.
    """
    if volumes_of(pod.spec) is None:
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
