"""Proposals about volumes and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from ...api import (
    BIND_COMPLETED,
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    ObjectMeta,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Quantity,
    StorageClass,
)
from ...api.storage import PersistentVolumeSpec
from ...api.volumes import PersistentVolumeClaimSpec, VolumeResources
from ..change import Change, ChangeKind
from .case import Case

_ONE_GIB: Final = Quantity.of(1 << 30, "BinarySI")


def propose(case: Case) -> Iterator[Change]:
    """Propose claims and volumes to create, and to drop volumes and device claims."""
    pod = case.pod
    for i, volume in enumerate(pod.spec.volumes):
        source = volume.persistent_volume_claim
        if source is not None:
            key = f"{pod.namespace}/{source.claim_name}"
            claim = case.cluster.get("PersistentVolumeClaim", key)
            if claim is None:
                yield from _created(case, source.claim_name)
            else:
                yield from _served(case, claim)
        left = pod.spec.volumes[:i] + pod.spec.volumes[i + 1 :]
        after = evolve(pod, spec=evolve(pod.spec, volumes=left))
        text = f"drop the volume {volume.name} from the pod"
        yield Change(ChangeKind.DROP_VOLUME, text, pod=after)
    yield from _device_claims(pod)


def _created(case: Case, name: str) -> Iterator[Change]:
    """Propose the missing claim, with a class that binds late, or with a new volume."""
    resources = VolumeResources({STORAGE: _ONE_GIB})
    spec = PersistentVolumeClaimSpec(("ReadWriteOnce",), resources=resources)
    meta = ObjectMeta(name=name, namespace=case.pod.namespace)
    classes: list[StorageClass] = case.cluster.list("StorageClass")
    for each in classes:
        if each.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            claim = PersistentVolumeClaim(meta, evolve(spec, storage_class_name=each.name))
            text = f"create the claim {claim.key} with storage class {each.name}"
            yield Change(ChangeKind.CREATE_CLAIM, text, objects=(claim,), rank=(each.name,))
    claim = PersistentVolumeClaim(meta, evolve(spec, storage_class_name=""))
    volume, bound = _new_volume(claim)
    text = f"create the claim {claim.key}, and the volume {volume.name} for it"
    yield Change(ChangeKind.CREATE_CLAIM, text, 2, objects=(claim, volume), follows=(bound,))


def _served(case: Case, claim: PersistentVolumeClaim) -> Iterator[Change]:
    """Propose a new volume for a claim that has none. A volume that is there may have data: it stays."""
    volume, bound = _new_volume(claim)
    if claim.status.phase == "Bound" or case.cluster.get("PersistentVolume", volume.name) is not None:
        return
    size = volume.spec.capacity[STORAGE]
    text = f"create a volume of {size} for the claim {claim.key} that every node can reach"
    yield Change(ChangeKind.CREATE_VOLUME, text, objects=(volume,), follows=(bound,))


def _new_volume(claim: PersistentVolumeClaim) -> tuple[PersistentVolume, PersistentVolumeClaim]:
    """Return a volume for *claim*, and the claim as the volume controller then binds it."""
    name = claim.spec.volume_name or f"for-{claim.namespace}-{claim.name}"
    volume = PersistentVolume(
        ObjectMeta(name=name),
        PersistentVolumeSpec(
            capacity={STORAGE: claim.spec.resources.requests.get(STORAGE, _ONE_GIB)},
            access_modes=claim.spec.access_modes,
            storage_class_name=claim.spec.storage_class_name or "",
            volume_mode=claim.spec.volume_mode,
            claim_ref=ObjectReference("PersistentVolumeClaim", claim.namespace, claim.name),
        ),
    )
    annotations = {**claim.metadata.annotations, BIND_COMPLETED: "yes"}
    metadata = evolve(claim.metadata, annotations=annotations)
    spec, status = evolve(claim.spec, volume_name=name), evolve(claim.status, phase="Bound")
    return volume, evolve(claim, metadata=metadata, spec=spec, status=status)


def _device_claims(pod: Pod) -> Iterator[Change]:
    claims = pod.spec.resource_claims
    for i, claim in enumerate(claims):
        users = tuple(
            evolve(
                each,
                resources=evolve(
                    each.resources,
                    claims=tuple(used for used in each.resources.claims if used.name != claim.name),
                ),
            )
            for each in pod.spec.containers
        )
        left = evolve(pod.spec, resource_claims=claims[:i] + claims[i + 1 :], containers=users)
        text = f"drop the resource claim {claim.name} from the pod"
        yield Change(ChangeKind.DROP_CLAIM, text, pod=evolve(pod, spec=left))
