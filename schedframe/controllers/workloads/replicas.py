"""Replication controllers, replica sets and deployments: equal pods, with a generated name each."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from ...api import (
    Deployment,
    LabelSelector,
    NamespacedObject,
    ObjectMeta,
    Pod,
    PodTemplateSpec,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
)
from ..names import template_hash, with_uid
from ..owners import owner_reference
from .existing import POD_TEMPLATE_HASH, Existing
from .pods import PodMaker, check_count, check_selector, check_template, with_labels


def replica_count(replicas: int | None) -> int:
    """Return the number of pods: 1 without *replicas*. Raises :class:`InputError` for a number below 0."""
    return 1 if replicas is None else check_count("spec.replicas", replicas)


def pods_of_replication_controller(owner: ReplicationController, existing: Existing) -> Iterator[Pod]:
    """Yield the missing pods of a replication controller. Its selector is the template's labels by default.

    Raises :class:`InputError` if the selector does not select the pods.
    """
    template = owner.spec.template
    if template is not None:
        selector = owner.spec.selector or template.metadata.labels
        check_selector(LabelSelector(match_labels=selector), template)
        yield from _missing(owner, template, replica_count(owner.spec.replicas), existing)


def pods_of_replica_set(owner: ReplicaSet, existing: Existing) -> Iterator[Pod]:
    """Yield the missing pods of a replica set. Raises :class:`InputError` as the API server refuses it."""
    template = owner.spec.template
    if template is not None:
        check_selector(owner.spec.selector, template)
        yield from _missing(owner, template, replica_count(owner.spec.replicas), existing)


def _missing(
    owner: NamespacedObject, template: PodTemplateSpec, wanted: int, existing: Existing
) -> Iterator[Pod]:
    maker = PodMaker(owner, template, existing)
    for number in range(wanted - len(existing.active_pods_of(owner))):
        yield maker.make(maker.generated(f"{owner.name}-", str(number)))


def dependents_of_deployment(owner: Deployment, existing: Existing) -> Iterator[ReplicaSet | Pod]:
    """Yield the replica set of a deployment and its pods.

    Nothing if the deployment is paused, or has a replica set already, which makes its pods itself. Raises
    :class:`InputError` as the API server refuses it.
    """
    template, selector = check_template(owner.spec.template), owner.spec.selector
    check_selector(selector, template)
    replicas = replica_count(owner.spec.replicas)
    if owner.spec.paused or selector is None or existing.has_dependents(owner):
        return
    label = {POD_TEMPLATE_HASH: template_hash(template)}
    template = with_labels(template, label)
    replica_set: ReplicaSet = with_uid(
        ReplicaSet(
            ObjectMeta(
                name=f"{owner.name}-{label[POD_TEMPLATE_HASH]}",
                namespace=owner.metadata.namespace,
                labels=template.metadata.labels,
                owner_references=(owner_reference(owner),),
            ),
            ReplicaSetSpec(
                replicas, evolve(selector, match_labels={**selector.match_labels, **label}), template
            ),
        )
    )
    yield replica_set
    yield from pods_of_replica_set(replica_set, existing)
