"""Volumes of a pod spec, shared by the volume plugins: claims, inline disks, ownership of claims."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from schedframe import Pod, PodSpec
from schedframe.api import PersistentVolumeClaim, Volume

_VOLUMES: Final = object()  # key in PodSpec.memo
NOT_OWNER: Final = "PVC {} was not created for pod {} (pod is not owner)"


@frozen
class SpecVolumes:
    """The volumes of a spec that matter to scheduling, in the order of the spec."""

    claiming: tuple[Volume, ...] = ()
    """Volumes with a claim, named by the pod or created for an ephemeral volume."""
    named: tuple[str, ...] = ()
    """Names of the claims that the spec names."""
    shared_disks: tuple[Volume, ...] = ()
    """Inline disks that pods on one node may not always share."""
    in_tree: tuple[Volume, ...] = ()
    """Inline disks of in-tree plugins that CSI drivers replaced."""


def volumes_of(spec: PodSpec) -> SpecVolumes | None:
    """Return the volumes of *spec*, cached on it; ``None`` if none matters to scheduling."""
    if not spec.volumes:
        return None
    memo = spec.memo
    try:
        volumes: SpecVolumes | None = memo[_VOLUMES]
    except KeyError:
        volumes = memo[_VOLUMES] = _classify(spec)
    return volumes


def _classify(spec: PodSpec) -> SpecVolumes | None:
    claiming, shared, in_tree = [], [], []
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            claiming.append(volume)
        elif volume.gce_persistent_disk is not None or volume.aws_elastic_block_store is not None:
            shared.append(volume)
            in_tree.append(volume)
        elif volume.rbd is not None or volume.iscsi is not None:
            shared.append(volume)
        elif _is_in_tree(volume):
            in_tree.append(volume)
    if not (claiming or shared or in_tree):
        return None
    named = (volume.persistent_volume_claim for volume in claiming)
    names = tuple(source.claim_name for source in named if source is not None)
    return SpecVolumes(tuple(claiming), names, tuple(shared), tuple(in_tree))


def _is_in_tree(volume: Volume) -> bool:
    return (
        volume.azure_disk is not None
        or volume.azure_file is not None
        or volume.cinder is not None
        or volume.vsphere_volume is not None
        or volume.portworx_volume is not None
    )


def claim_name(pod: Pod, volume: Volume) -> str:
    """Return the claim of a volume: the named one, or ``<pod>-<volume>`` for an ephemeral volume."""
    source = volume.persistent_volume_claim
    return source.claim_name if source is not None else f"{pod.name}-{volume.name}"


def uses_claim(pod: Pod, claim: PersistentVolumeClaim, *, ephemeral: bool) -> bool:
    """Return whether *pod* names *claim* or, with *ephemeral*, has an ephemeral volume with that claim."""
    volumes = volumes_of(pod.spec)
    if volumes is None or pod.namespace != claim.namespace:
        return False
    if not ephemeral:
        return claim.name in volumes.named
    return any(claim_name(pod, volume) == claim.name for volume in volumes.claiming)


def ownership_problem(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Return why *claim* was not created for an ephemeral volume of *pod*; empty if it was."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.uid:
        return ""
    return NOT_OWNER.format(claim.key, pod.key)
