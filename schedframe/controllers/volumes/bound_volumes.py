"""Volumes: free, bound, or left behind by a claim that is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from attrs import define, evolve

from ...api import PersistentVolume, PersistentVolumeClaim
from ...cluster import WatchEvent
from ..lookup import PROVISIONED_BY, Lookup, Put, Remove, Write
from ..switches import VOLUMES

_DELETE: Final = "Delete"


@define(eq=False)
class BoundVolumes:
    """Keeps the phases of volumes, and deletes those that were made for a claim that is gone.

    Source of the rules: syncVolume of pkg/controller/volume/persistentvolume.
    """

    NAME: ClassVar[str] = VOLUMES
    KIND: ClassVar[str] = PersistentVolume.KIND
    READS: ClassVar[tuple[str, ...]] = (PersistentVolume.KIND, PersistentVolumeClaim.KIND)

    def keys(self, change: WatchEvent) -> Iterable[str]:
        """Return the changed volume, or that of the changed claim."""
        if change.kind == PersistentVolume.KIND:
            return () if change.new is None else (change.new.name,)
        claims = [claim for claim in (change.old, change.new) if claim is not None]
        return {claim.spec.volume_name for claim in claims if claim.spec.volume_name}

    def reconcile(self, key: str, cluster: Lookup) -> Iterator[Write]:
        """Return the volume in its right phase, or its deletion."""
        volume: PersistentVolume | None = cluster.get(PersistentVolume.KIND, key)
        if volume is None:
            return
        phase = _phase(volume, cluster)
        if phase == "Released" and _is_made_here(volume) and _policy(volume) == _DELETE:
            yield Remove(PersistentVolume.KIND, key)
        elif phase != volume.status.phase:
            yield Put(evolve(volume, status=evolve(volume.status, phase=phase)))

    def notes(self) -> list[str]:
        """Return nothing: phases are no news."""
        return []


def _phase(volume: PersistentVolume, cluster: Lookup) -> str:
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return "Available"
    claim: PersistentVolumeClaim | None = cluster.get(
        PersistentVolumeClaim.KIND, f"{reference.namespace}/{reference.name}"
    )
    if claim is None or claim.uid != reference.uid:
        return volume.status.phase if volume.status.phase == "Failed" else "Released"
    return "Bound" if claim.spec.volume_name == volume.name else volume.status.phase or "Available"


def _is_made_here(volume: PersistentVolume) -> bool:
    return PROVISIONED_BY in volume.metadata.annotations


def _policy(volume: PersistentVolume) -> str:
    return volume.spec.persistent_volume_reclaim_policy
