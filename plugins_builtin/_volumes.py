"""What the volume plugins have in common: which claims and disks a pod names, and whose claims they are."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from schedframe import PersistentVolume, PersistentVolumeClaim, Pod, PodSpec
from schedframe.api import Volume

_VOLUMES: Final = object()  # key in PodSpec.memo
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


@frozen
class SpecVolumes:
    """The volumes of a spec that scheduling looks at, in the order of the spec."""

    claiming: tuple[Volume, ...] = ()
    """Those behind a claim: named by the pod, or made for it."""
    named: tuple[str, ...] = ()
    """Names of the claims that the pod names itself."""
    shared_disks: tuple[Volume, ...] = ()
    """Disks used directly that pods on one node may not share freely."""
    in_tree: tuple[Volume, ...] = ()
    """Disks used directly for which there are CSI drivers by now."""


def volumes_of(spec: PodSpec) -> SpecVolumes | None:
    """What *spec* says, kept in its memo; ``None`` if scheduling has nothing to look at."""
    if not spec.volumes:
        return None
    memo = spec.memo
    try:
        found: SpecVolumes | None = memo[_VOLUMES]
    except KeyError:
        found = memo[_VOLUMES] = _read(spec)
    return found


def _read(spec: PodSpec) -> SpecVolumes | None:
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
    """The claim behind a volume: the one it names, or ``<pod>-<volume>``, made for an ephemeral volume."""
    source = volume.persistent_volume_claim
    return source.claim_name if source is not None else f"{pod.name}-{volume.name}"


def uses_claim(pod: Pod, claim: PersistentVolumeClaim, *, ephemeral: bool) -> bool:
    """Whether *pod* names *claim*; with *ephemeral* also whether one of its volumes goes by that claim."""
    found = volumes_of(pod.spec)
    if found is None or pod.namespace != claim.namespace:
        return False
    if not ephemeral:
        return claim.name in found.named
    return any(claim_name(pod, volume) == claim.name for volume in found.claiming)


def ownership_problem(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Why *claim* is not the one made for an ephemeral volume of *pod*; empty if it is."""
    for owner in claim.metadata.owner_references:
        if owner.controller:
            if owner.uid == pod.uid:
                return ""
            break
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The storage class that *claim* wants, empty for none."""
    annotated = claim.metadata.annotations.get(_BETA_CLASS)
    return (claim.spec.storage_class_name or "") if annotated is None else annotated


def class_of_volume(volume: PersistentVolume) -> str:
    """The storage class that *volume* is of, empty for none."""
    annotated = volume.metadata.annotations.get(_BETA_CLASS)
    return volume.spec.storage_class_name if annotated is None else annotated


def no_such(kind: str, name: str) -> str:
    """The API server's words for a missing object: ``persistentvolumeclaim "data" not found``."""
    return f'{kind.lower()} "{name}" not found'
