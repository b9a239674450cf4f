"""Resource claims from templates, and devices of pods that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from attrs import evolve, field

from .._base.value import record
from ..api import (
    ObjectMeta,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimTemplate,
)
from ..cluster import WatchEvent
from .lookup import Lookup, Put, Remove, Write
from .names import free_name
from .owners import is_owned_by, owner_reference
from .switches import RESOURCE_CLAIMS

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was created from a template: the name of the claim in the pod's spec."""


@record(eq=False)
class ResourceClaims:
    """Makes the resource claims of pods from templates, and frees the devices of pods that are gone.

    O(claims of the pod) for each change of a pod. Source of the rules: pkg/controller/resourceclaim.
    """

    NAME: ClassVar[str] = RESOURCE_CLAIMS
    KIND: ClassVar[str] = Pod.KIND
    READS: ClassVar[tuple[str, ...]] = (Pod.KIND, ResourceClaimTemplate.KIND)
    _waiting: dict[str, dict[str, None]] = field(factory=dict, init=False)
    """Key of a missing template → keys of the pods that need it."""
    _gone: dict[str, list[Pod]] = field(factory=dict, init=False)
    """Pods that were deleted, replaced or have ended, until their devices are free."""
    _made: int = field(default=0, init=False)

    def keys(self, change: WatchEvent) -> Iterable[str]:
        """Return the pod if it has claims, or the pods that wait for the template."""
        old, new = change.old, change.new
        if change.kind == ResourceClaimTemplate.KIND:
            return () if new is None else self._waiting.pop(new.key, ())
        if (
            isinstance(old, Pod)
            and _claims_of(old)
            and (new is None or new.uid != old.uid or new.is_terminated)
        ):
            self._gone.setdefault(old.key, []).append(old)
            return (old.key,)
        if isinstance(new, Pod) and new.spec.resource_claims and not new.is_terminated:
            return (new.key,)
        return ()

    def reconcile(self, key: str, cluster: Lookup) -> Iterator[Write]:
        """Return the claims that are missing, and those that the pod has left."""
        for gone in self._gone.pop(key, ()):
            yield from _freed(gone, cluster)
        pod: Pod | None = cluster.get(Pod.KIND, key)
        if pod is None or pod.is_terminated or pod.is_terminating:
            return
        made = []
        for entry in _unmade(pod):
            claim = self._claim(pod, entry, cluster)
            if claim is not None:
                self._made += 1
                made.append(PodResourceClaimStatus(entry.name, claim.name))
                yield Put(claim)
        if made:
            statuses = (*pod.status.resource_claim_statuses, *made)
            yield Put(evolve(pod, status=evolve(pod.status, resource_claim_statuses=statuses)))

    def notes(self) -> list[str]:
        """Return how many claims were made."""
        return [f"resource claims made of templates: {self._made}"] if self._made else []

    def _claim(self, pod: Pod, entry: PodResourceClaim, cluster: Lookup) -> ResourceClaim | None:
        key = f"{pod.namespace}/{entry.resource_claim_template_name}"
        template: ResourceClaimTemplate | None = cluster.get(ResourceClaimTemplate.KIND, key)
        if template is None:
            self._waiting.setdefault(key, {})[pod.key] = None
            return None
        model, prefix = template.spec.metadata, f"{pod.name}-{entry.name}-"
        metadata = ObjectMeta(
            name=free_name(ResourceClaim.KIND, pod.namespace, prefix, cluster),
            generate_name=prefix,
            namespace=pod.namespace,
            labels=model.labels,
            annotations={**model.annotations, POD_CLAIM_NAME: entry.name},
            owner_references=(owner_reference(pod),),
        )
        return ResourceClaim(metadata, template.spec.spec)


def _unmade(pod: Pod) -> Iterator[PodResourceClaim]:
    known = {status.name for status in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_template_name is not None and entry.name not in known:
            yield entry


def _claims_of(pod: Pod) -> list[str]:
    """Return the names of the claims that *pod* uses."""
    names = [entry.resource_claim_name for entry in pod.spec.resource_claims]
    names += [status.resource_claim_name for status in pod.status.resource_claim_statuses]
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        names.append(extended.resource_claim_name)
    return list(dict.fromkeys(name for name in names if name))


def _freed(pod: Pod, cluster: Lookup) -> Iterator[Write]:
    """Return the claims of *pod* without it. Without users, their devices are free."""
    for name in _claims_of(pod):
        claim: ResourceClaim | None = cluster.get(ResourceClaim.KIND, f"{pod.namespace}/{name}")
        if claim is None:
            continue
        left = tuple(user for user in claim.status.reserved_for if user.uid != pod.uid)
        if len(left) < len(claim.status.reserved_for):
            status = evolve(claim.status, reserved_for=left)
            if not left:
                status = evolve(status, allocation=None, devices=())
                claim = evolve(claim, metadata=claim.metadata.with_finalizers(()))
            claim = evolve(claim, status=status)
            yield Put(claim)
        if not left and is_owned_by(claim, pod):
            yield Remove(ResourceClaim.KIND, claim.key)
