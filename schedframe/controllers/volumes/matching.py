"""Choice of an existing volume for a claim, whatever node its pod will be on.

Source of the rules: FindMatchingVolume of k8s.io/component-helpers/storage/volume and the index of volumes in
pkg/controller/volume/persistentvolume.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...api import STORAGE, PersistentVolume, PersistentVolumeClaim, compile_label_selector

_FILESYSTEM = "Filesystem"


def is_large_enough(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether *volume* has the size and the shape that *claim* asks for, but for access modes."""
    has, wants = volume.spec, claim.spec
    return (
        _size(has.capacity.get(STORAGE)) >= requested(claim)
        and (has.volume_mode or _FILESYSTEM) == (wants.volume_mode or _FILESYSTEM)
        and (has.volume_attributes_class_name or "") == (wants.volume_attributes_class_name or "")
    )


def requested(claim: PersistentVolumeClaim) -> int:
    """Return the size that *claim* asks for, in billionths of a byte."""
    return _size(claim.spec.resources.requests.get(STORAGE))


def _size(amount: object) -> int:
    return int(getattr(amount, "nano", 0))


def best_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], *, only_reserved: bool = False
) -> PersistentVolume | None:
    """Return the volume that *claim* gets of *volumes*, ``None`` if none fits; O(volumes).

    One that names the claim comes first. Of the others it is one with the fewest access modes, then the
    smallest, then the first by name. *only_reserved*: the scheduler chooses among the others.
    """
    spec = claim.spec
    selector = None if spec.selector is None else compile_label_selector(spec.selector)
    modes, name = frozenset(spec.access_modes), claim.storage_class
    fitting = []
    for volume in volumes:
        if volume.spec.claim_ref is not None and not volume.is_reserved_for(claim):
            continue
        if (
            volume.metadata.deletion_timestamp is not None
            or not modes.issubset(volume.spec.access_modes)
            or not is_large_enough(volume, claim)
        ):
            continue
        if volume.spec.claim_ref is not None:
            return volume
        if only_reserved or volume.status.phase != "Available":
            continue
        if volume.storage_class == name and (selector is None or selector.matches(volume.labels)):
            fitting.append(volume)
    return min(fitting, key=_order, default=None)


def _order(volume: PersistentVolume) -> tuple[int, int, str]:
    return len(set(volume.spec.access_modes)), _size(volume.spec.capacity.get(STORAGE)), volume.name
