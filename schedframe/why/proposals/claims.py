"""Proposals about volumes and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from attrs import evolve

from ...api import (
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

_BOUND: Final = "pv.kubernetes.io/bind-completed"
_ONE_GIB: Final = Quantity.of(1 << 30, "BinarySI")


def propose(case: Case) -> Iterator[Change]:
    """Propose claims to create or to bind, and to drop volumes and device claims."""
    pod = case.pod
    for i, volume in enumerate(pod.spec.volumes):
        source = volume.persistent_volume_claim
        if source is not None:
            key = f"{pod.namespace}/{source.claim_name}"
            claim = case.cluster.get("PersistentVolumeClaim", key)
            if claim is None:
                yield from _created(case, source.claim_name)
            else:
                yield _bound(case, claim, ChangeKind.BIND_CLAIM)
        left = pod.spec.volumes[:i] + pod.spec.volumes[i + 1 :]
        after = evolve(pod, spec=evolve(pod.spec, volumes=left))
        text = f"drop the volume {volume.name} from the pod"
        yield Change(ChangeKind.DROP_VOLUME, text, pod=after)
    yield from _device_claims(pod)


def _created(case: Case, name: str) -> Iterator[Change]:
    """Propose the missing claim, with a class that binds late, or bound to a new volume."""
    resources = VolumeResources({"storage": _ONE_GIB})
    spec = PersistentVolumeClaimSpec(("ReadWriteOnce",), resources=resources)
    meta = ObjectMeta(name=name, namespace=case.pod.namespace)
    classes: list[StorageClass] = case.cluster.list("StorageClass")
    for each in classes:
        if each.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            claim = PersistentVolumeClaim(meta, evolve(spec, storage_class_name=each.name))
            text = f"create the claim {claim.key} with storage class {each.name}"
            yield Change(ChangeKind.CREATE_CLAIM, text, objects=(claim,), rank=(each.name,))
    claim = PersistentVolumeClaim(meta, evolve(spec, storage_class_name=""))
    bound = _bound(case, claim, ChangeKind.CREATE_CLAIM)
    yield evolve(bound, description=f"create the claim {claim.key}, bound to a volume", steps=2)


def _bound(case: Case, claim: Any, kind: ChangeKind) -> Change:
    """Propose to bind the claim to a new volume that every node can reach."""
    name = claim.spec.volume_name or f"for-{claim.namespace}-{claim.name}"
    storage = claim.spec.resources.requests.get("storage", _ONE_GIB)
    volume = PersistentVolume(
        ObjectMeta(name=name),
        PersistentVolumeSpec(
            capacity={"storage": storage},
            access_modes=claim.spec.access_modes,
            storage_class_name=claim.spec.storage_class_name or "",
            volume_mode=claim.spec.volume_mode,
            claim_ref=ObjectReference("PersistentVolumeClaim", claim.namespace, claim.name, claim.uid),
        ),
    )
    annotations = {**claim.metadata.annotations, _BOUND: "yes"}
    after = evolve(
        claim,
        metadata=evolve(claim.metadata, annotations=annotations),
        spec=evolve(claim.spec, volume_name=name),
    )
    text = f"bind the claim {claim.key} to a volume of {storage} that every node can reach"
    return Change(kind, text, objects=(volume, after))


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
