"""Volumes: free, bound, or left behind by a claim that is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from attrs import evolve, field

from ..._base.value import record
from ...api import PersistentVolume, PersistentVolumeClaim
from ...cluster import WatchEvent
from ..lookup import PROVISIONED_BY, Lookup, Put, Remove, Write
from ..switches import VOLUMES

_DELETE: Final = "Delete"


@record(eq=False)
class BoundVolumes:
    """Keeps the phases of volumes, and deletes those that were made for a claim that is gone.

    Source of the rules: syncVolume of pkg/controller/volume/persistentvolume.
    """

    NAME: ClassVar[str] = VOLUMES
    KIND: ClassVar[str] = PersistentVolume.KIND
    READS: ClassVar[tuple[str, ...]] = (PersistentVolume.KIND, PersistentVolumeClaim.KIND)
    _gone: set[str] = field(factory=set, init=False)
    """Uids of claims that were deleted here. Of others the volume is kept: manifests may lack the claim."""

    def keys(self, change: WatchEvent) -> Iterable[str]:
        """Return the changed volume, or that of the changed claim."""
        if change.kind == PersistentVolume.KIND:
            return () if change.new is None else (change.new.name,)
        if change.new is None:
            self._gone.add(change.old.uid)
        claims = [claim for claim in (change.old, change.new) if claim is not None]
        return {claim.spec.volume_name for claim in claims if claim.spec.volume_name}

    def reconcile(self, key: str, cluster: Lookup) -> Iterator[Write]:
        """Return the volume in its right phase, or its deletion."""
        volume: PersistentVolume | None = cluster.get(PersistentVolume.KIND, key)
        if volume is None:
            return
        phase = _phase(volume, cluster)
        if phase == "Released" and self._goes_with_its_claim(volume):
            yield Remove(PersistentVolume.KIND, key)
        elif phase != volume.status.phase:
            yield Put(evolve(volume, status=evolve(volume.status, phase=phase)))

    def _goes_with_its_claim(self, volume: PersistentVolume) -> bool:
        """Return whether a provisioner made *volume* for a claim that was deleted, and does not keep it."""
        reference = volume.spec.claim_ref
        return (
            reference is not None
            and reference.uid in self._gone
            and PROVISIONED_BY in volume.metadata.annotations
            and volume.spec.persistent_volume_reclaim_policy == _DELETE
        )

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
    if claim is not None and claim.spec.volume_name == volume.name:
        return "Bound"  # whatever the uid: people take uids out of manifests
    if claim is None or claim.uid != reference.uid:
        return volume.status.phase if volume.status.phase == "Failed" else "Released"
    return volume.status.phase or "Available"
