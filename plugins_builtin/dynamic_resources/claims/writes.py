"""Changes of claims in the cluster. They run off the core and are retried on conflicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import evolve

from schedframe import ClusterPort, Conflict, NotFound, PluginError, Pod
from schedframe.api import (
    AllocationResult,
    PodExtendedResourceClaimStatus,
    ResourceClaim,
    ResourceClaimConsumerReference,
)

from .extended_resources import IN_MEMORY, ContainerMapping
from .lookup import is_reserved_for
from .tracker import CLAIM, with_status

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""Keeps a claim while its devices are allocated."""
_MAX_ATTEMPTS: Final = 6

Change = Callable[[ResourceClaim], ResourceClaim | None]
"""Returns the changed claim, ``None`` if there is nothing to change."""


class ClaimChanged(PluginError):
    """Another client changed the claim, so that the change is not possible any more."""


def change_claim(
    cluster: ClusterPort, claim: ResourceClaim, change: Change, *, again: bool = False
) -> ResourceClaim:
    """Apply *change* and return the claim as stored. *again*: read the claim first, *claim* may be stale.

    Raises :class:`NotFound` if the claim is gone, :class:`Conflict` after six conflicts in a row.
    """
    for _ in range(_MAX_ATTEMPTS):
        if again:
            claim = reread(cluster, claim)
        changed = change(claim)
        if changed is None:
            return claim
        try:
            stored: ResourceClaim = cluster.update(changed)
        except Conflict:
            again = True
        else:
            return stored
    raise Conflict(f"claim {claim.key} was changed by others {_MAX_ATTEMPTS} times in a row")


def reread(cluster: ClusterPort, claim: ResourceClaim) -> ResourceClaim:
    """Return the current claim; :class:`NotFound` if it was deleted, or replaced by a namesake."""
    found: ResourceClaim | None = cluster.get(CLAIM, claim.key)
    if found is None or found.uid != claim.uid:
        raise NotFound(f"claim {claim.key} is gone")
    return found


def allocating(pod: Pod, allocation: AllocationResult | None) -> Change:
    """Return the change that writes *allocation*, if any, and reserves the claim for *pod*."""

    def change(claim: ResourceClaim) -> ResourceClaim | None:
        has = claim.status.allocation
        if is_reserved_for(claim, pod) and has is not None and _is(has, allocation):
            return None
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimChanged(f"claim {claim.key} got deleted in the meantime")
        if (has is None) == (allocation is None):
            what = "deallocated" if has is None else "allocated elsewhere"
            raise ClaimChanged(f"claim {claim.key} got {what} in the meantime")
        metadata = claim.metadata
        if allocation is not None and FINALIZER not in metadata.finalizers:
            metadata = metadata.with_finalizers((*metadata.finalizers, FINALIZER))
        consumer = ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
        reserved = (*claim.status.reserved_for, consumer)
        return with_status(claim, metadata, allocation=allocation or has, reserved_for=reserved)

    return change


def _is(has: AllocationResult, allocation: AllocationResult | None) -> bool:
    return allocation is None or has.devices == allocation.devices


def leaving(pod: Pod) -> Change:
    """Return the change that removes the reservation for *pod*."""

    def change(claim: ResourceClaim) -> ResourceClaim | None:
        if not is_reserved_for(claim, pod):
            return None
        others = tuple(consumer for consumer in claim.status.reserved_for if consumer.uid != pod.uid)
        return with_status(claim, reserved_for=others)

    return change


def deallocating(pod: Pod) -> Change:
    """Return the change that deallocates a claim reserved for no other pod than *pod*."""

    def change(claim: ResourceClaim) -> ResourceClaim | None:
        if claim.status.allocation is None:
            return None
        if any(consumer.uid != pod.uid for consumer in claim.status.reserved_for):
            raise ClaimChanged(f"claim {claim.key} got into use in the meantime")
        return with_status(claim, allocation=None, reserved_for=(), devices=())

    return change


def delete_claim(cluster: ClusterPort, claim: ResourceClaim) -> None:
    """Delete a claim that the scheduler created; no error if it is gone."""

    def unprotected(claim: ResourceClaim) -> ResourceClaim | None:
        metadata = claim.metadata
        if FINALIZER not in metadata.finalizers:
            return None
        finalizers = tuple(name for name in metadata.finalizers if name != FINALIZER)
        return evolve(claim, metadata=metadata.with_finalizers(finalizers))

    try:
        cluster.delete(change_claim(cluster, claim, unprotected, again=True))
    except NotFound:
        return


def create_claim(cluster: ClusterPort, claim: ResourceClaim, *, again: bool) -> ResourceClaim:
    """Create the claim for extended resources; *again*: it may exist already."""
    owner = claim.metadata.owner_references[0].uid
    if again:
        for there in cluster.list(CLAIM):
            owners = {reference.uid for reference in there.metadata.owner_references if reference.controller}
            if owner in owners and there.metadata.annotations == claim.metadata.annotations:
                found: ResourceClaim = there
                return found
    metadata = evolve(claim.metadata, name="", uid="") if claim.name == IN_MEMORY else claim.metadata
    made: ResourceClaim = cluster.create(evolve(claim, metadata=metadata))
    return made


def note_in_pod(
    cluster: ClusterPort, pod: Pod, claim: ResourceClaim, mappings: tuple[ContainerMapping, ...]
) -> None:
    """Write into the pod's status which claim serves its extended resources; the kubelet reads it."""
    status = PodExtendedResourceClaimStatus(mappings, claim.name)
    for _ in range(_MAX_ATTEMPTS):
        current: Pod | None = cluster.get(Pod.KIND, pod.key)
        if current is None or current.uid != pod.uid:
            raise NotFound(f"pod {pod.key} is gone")
        if current.status.extended_resource_claim_status == status:
            return
        try:
            cluster.update(
                evolve(current, status=evolve(current.status, extended_resource_claim_status=status))
            )
        except Conflict:
            continue
        return
    raise Conflict(f"pod {pod.key} was changed by others {_MAX_ATTEMPTS} times in a row")
