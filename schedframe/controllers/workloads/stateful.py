"""Stateful sets: pods and claims with an ordinal each."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from ...api import (
    ClaimVolumeSource,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    Pod,
    PodSpec,
    StatefulSet,
    Volume,
)
from ..names import template_hash
from .existing import Existing
from .pods import PodMaker, PodMeta, check_count, check_selector
from .replicas import replica_count


def dependents_of_stateful_set(
    owner: StatefulSet, existing: Existing
) -> Iterator[PersistentVolumeClaim | Pod]:
    """Yield the missing claims and pods of a stateful set, in the order of the ordinals.

    All pods are made at once, whatever the pod management policy. Raises :class:`InputError` as the API
    server refuses it.
    """
    template = owner.spec.template
    if template is None:
        return
    check_selector(owner.spec.selector, template)
    start = check_count("spec.ordinals.start", owner.spec.ordinals.start) if owner.spec.ordinals else 0
    maker = PodMaker(owner, template, existing)
    revision = f"{owner.name}-{template_hash(template)}"
    names = existing.pod_names[owner.namespace]
    for ordinal in range(start, start + replica_count(owner.spec.replicas)):
        name = f"{owner.name}-{ordinal}"
        yield from _missing_claims(owner, name, existing)
        if name not in names:
            labels = {
                "apps.kubernetes.io/pod-index": str(ordinal),
                "controller-revision-hash": revision,
                "statefulset.kubernetes.io/pod-name": name,
            }
            yield maker.make(
                PodMeta(name, f"{owner.name}-"), labels=labels, spec=_spec_of(owner, name, template.spec)
            )


def _missing_claims(owner: StatefulSet, pod_name: str, existing: Existing) -> Iterator[PersistentVolumeClaim]:
    selector = owner.spec.selector
    labels = selector.match_labels if selector is not None else {}
    for model in owner.spec.volume_claim_templates:
        metadata = evolve(
            model.metadata,
            name=f"{model.metadata.name}-{pod_name}",
            namespace=owner.metadata.namespace,
            labels={**model.metadata.labels, **labels},
        )
        claim = PersistentVolumeClaim(metadata, model.spec, PersistentVolumeClaimStatus(phase="Pending"))
        if claim.key not in existing.claim_names:
            existing.claim_names.add(claim.key)
            yield claim


def _spec_of(owner: StatefulSet, pod_name: str, spec: PodSpec) -> PodSpec:
    """Return *spec* with the pod's host name and claims, which replace volumes of the same name."""
    names = [model.metadata.name for model in owner.spec.volume_claim_templates]
    claimed = [Volume(name, ClaimVolumeSource(f"{name}-{pod_name}")) for name in names]
    others = [volume for volume in spec.volumes if volume.name not in names]
    return evolve(spec, hostname=pod_name, subdomain=owner.spec.service_name, volumes=(*claimed, *others))
