"""The claims of ephemeral volumes: each lives as long as its pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from attrs import evolve, field

from .._base.value import record
from ..api import (
    EphemeralVolumeSource,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    Pod,
    Volume,
)
from ..cluster import WatchEvent
from .lookup import Lookup, Put, Remove, Write
from .owners import is_owned_by, owner_reference
from .switches import EPHEMERAL_CLAIMS


@record(eq=False)
class EphemeralClaims:
    """Makes the claims of pods with ephemeral volumes, and deletes those of pods that are gone.

    A claim of that name that belongs to something else is left alone; the scheduler then rejects the pod.
    Source of the rules: pkg/controller/volume/ephemeral, and the garbage collector.
    """

    NAME: ClassVar[str] = EPHEMERAL_CLAIMS
    KIND: ClassVar[str] = Pod.KIND
    READS: ClassVar[tuple[str, ...]] = (Pod.KIND,)
    _gone: dict[str, Pod] = field(factory=dict, init=False)
    """Pods that were deleted, until their claims are."""
    _made: int = field(default=0, init=False)

    def keys(self, change: WatchEvent) -> Iterable[str]:
        """Return the pod, if it has ephemeral volumes."""
        pod: Pod = change.new if change.new is not None else change.old
        if not any(_templates(pod)):
            return ()
        if change.new is None:
            self._gone[pod.key] = pod
        return (pod.key,)

    def reconcile(self, key: str, cluster: Lookup) -> Iterator[Write]:
        """Return the claims that are missing, or the deletions of those that are left."""
        gone = self._gone.pop(key, None)
        for volume, _ in () if gone is None else _templates(gone):
            claim_key = f"{key}-{volume.name}"
            claim: PersistentVolumeClaim | None = cluster.get(PersistentVolumeClaim.KIND, claim_key)
            if gone is not None and claim is not None and is_owned_by(claim, gone):
                yield Remove(PersistentVolumeClaim.KIND, claim_key)
        pod: Pod | None = cluster.get(Pod.KIND, key)
        if pod is None or pod.is_terminated or pod.is_terminating:
            return
        for volume, source in _templates(pod):
            if cluster.get(PersistentVolumeClaim.KIND, f"{key}-{volume.name}") is None:
                self._made += 1
                yield Put(_claim(pod, volume, source))

    def notes(self) -> list[str]:
        """Return how many claims were made."""
        return [f"claims made of ephemeral volumes: {self._made}"] if self._made else []


def _templates(pod: Pod) -> Iterator[tuple[Volume, EphemeralVolumeSource]]:
    for volume in pod.spec.volumes:
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            yield volume, volume.ephemeral


def _claim(pod: Pod, volume: Volume, source: EphemeralVolumeSource) -> PersistentVolumeClaim:
    template = source.volume_claim_template
    assert template is not None  # _templates leaves others out
    metadata = evolve(
        template.metadata,
        name=f"{pod.name}-{volume.name}",
        namespace=pod.namespace,
        owner_references=(owner_reference(pod),),
    )
    return PersistentVolumeClaim(metadata, template.spec, PersistentVolumeClaimStatus(phase="Pending"))
