"""The claims of a pod, and predicates of claims: reserved, idle, ready, overdue."""

from __future__ import annotations

from collections.abc import Iterator

from schedframe import Pod, Status
from schedframe.api import UNREADABLE, AllocatedDeviceStatus, PodResourceClaim, ResourceClaim
from schedframe.api import DeviceRequestAllocationResult as Allocated

from ..._rejections import rejection
from .tracker import ClaimTracker


class ClaimProblem(Exception):
    """A claim of the pod does not exist, or is not the pod's.

    The arguments are those of :func:`.rejection`: a template of the reason, and the names in it.
    """

    @property
    def status(self) -> Status:
        """The rejection of the pod."""
        return rejection(*self.args)


class BindingFailed(Exception):
    """A driver reported that a device cannot be made ready."""


def claims_of(pod: Pod, tracker: ClaimTracker) -> Iterator[ResourceClaim]:
    """Yield the claims in the order of the pod; :class:`ClaimProblem` for one that does not exist."""
    for entry in pod.spec.resource_claims:
        name, made_for_pod = _name_of(pod, entry)
        if name is None:
            continue
        claim = tracker.get(f"{pod.namespace}/{name}")
        if claim is None:
            raise ClaimProblem('could not find ResourceClaim "{}"', f"{pod.namespace}/{name}")
        if UNREADABLE in claim.metadata.annotations:
            raise ClaimProblem('the present version of resourceclaim "{}" cannot be read', name)
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimProblem('resourceclaim "{}" is being deleted', name)
        if made_for_pod and not _is_controlled_by(claim, pod):
            raise ClaimProblem(
                "ResourceClaim {} was not created for Pod {} (Pod is not owner)", claim.key, pod.key
            )
        yield claim


def _name_of(pod: Pod, entry: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the claim's name (``None`` if none is needed), and whether the pod must be its owner."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name, False
    if entry.resource_claim_template_name is None:
        raise ClaimProblem(
            'pod "{}", spec.resourceClaim "{}": none of the supported fields are set', pod.key, entry.name
        )
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name, True
    raise ClaimProblem('pod "{}": ResourceClaim not created yet', pod.key)


def _is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    return any(owner.controller and owner.uid == pod.uid for owner in claim.metadata.owner_references)


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether the claim is reserved for the pod."""
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)


def is_idle_but_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether the claim is reserved for no other pod than *pod*."""
    consumers = claim.status.reserved_for
    return not consumers or (len(consumers) == 1 and consumers[0].uid == pod.uid)


# ---- devices that must be made ready ---------------------------------------------------------------------


def has_binding_conditions(claim: ResourceClaim) -> bool:
    """Return whether some device of the claim must be made ready before a pod can be bound."""
    allocation = claim.status.allocation
    return allocation is not None and any(r.binding_conditions for r in allocation.devices.results)


def is_ready(claim: ResourceClaim) -> bool:
    """Return whether all devices are ready; :class:`BindingFailed` if a driver reported a failure."""
    allocation = claim.status.allocation
    if allocation is None:
        return False
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        device = _status_of(claim, result)
        if device is None:
            return False
        conditions = {condition.type: condition for condition in device.conditions}
        for type in result.binding_failure_conditions:
            failed = conditions.get(type)
            if failed is not None and failed.status == "True":
                raise BindingFailed(
                    f'claim {claim.name} binding failed: reason={failed.reason}, message="{failed.message}"'
                )
        if any(
            type not in conditions or conditions[type].status != "True" for type in result.binding_conditions
        ):
            return False
    return True


def is_overdue(claim: ResourceClaim, timeout: float, now: float) -> bool:
    """Return whether the devices were not made ready within *timeout* seconds."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    return has_binding_conditions(claim) and allocation.allocation_timestamp + timeout < now


def _status_of(claim: ResourceClaim, result: Allocated) -> AllocatedDeviceStatus | None:
    key = (result.driver, result.pool, result.device)
    return next((d for d in claim.status.devices if (d.driver, d.pool, d.device) == key), None)
