"""Claims from templates: what kube-controller-manager does in a cluster, for a cluster in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, evolve, field

from .._brief import brief_repr
from .._checked import checked
from ..api import (
    ObjectMeta,
    OwnerReference,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimTemplate,
)
from ..cluster import InMemoryCluster, NotFound, Subscription, WatchEvent

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was created from a template: the name of the claim in the pod's spec."""


@checked
@brief_repr
@define(eq=False)
class ClaimController:
    """Creates the claims of pods from templates, and frees the devices of pods that are gone.

    Starts with the objects that exist and handles every change, in the thread that makes it; O(claims of the
    pod) for each change of a pod. Source of the rules: pkg/controller/resourceclaim.
    """

    cluster: InMemoryCluster
    _waiting: dict[str, dict[str, None]] = field(factory=dict, init=False)
    """Key of a missing template → keys of the pods that need it."""
    _subscription: Subscription = field(init=False)

    def __attrs_post_init__(self) -> None:
        kinds = (ResourceClaimTemplate.KIND, Pod.KIND)
        self._subscription = self.cluster.watch(self._on_event, kinds)

    def close(self) -> None:
        """Stop handling changes."""
        self._subscription.close()

    def _on_event(self, event: WatchEvent) -> None:
        new: object = event.new
        if isinstance(new, ResourceClaimTemplate):
            for key in self._waiting.pop(new.key, ()):
                pod = self.cluster.get(Pod.KIND, key)
                if pod is not None:
                    self._make_claims(pod)
            return
        old: object = event.old
        if isinstance(old, Pod) and (not isinstance(new, Pod) or new.uid != old.uid or new.is_terminated):
            self._free(old)
        if isinstance(new, Pod) and not new.is_terminated:
            self._make_claims(new)

    # ---- making ------------------------------------------------------------------------------------------

    def _make_claims(self, pod: Pod) -> None:
        if not pod.spec.resource_claims or pod.is_terminating:
            return
        made = [status for entry in self._unmade(pod) if (status := self._make(pod, entry)) is not None]
        if made:
            current = self.cluster.get(Pod.KIND, pod.key)
            if current is not None and current.uid == pod.uid:
                statuses = (*current.status.resource_claim_statuses, *made)
                status = evolve(current.status, resource_claim_statuses=statuses)
                self.cluster.update(evolve(current, status=status))

    def _unmade(self, pod: Pod) -> Iterator[PodResourceClaim]:
        known = {status.name for status in pod.status.resource_claim_statuses}
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_template_name is not None and entry.name not in known:
                yield entry

    def _make(self, pod: Pod, entry: PodResourceClaim) -> PodResourceClaimStatus | None:
        key = f"{pod.namespace}/{entry.resource_claim_template_name}"
        template: ResourceClaimTemplate | None = self.cluster.get(ResourceClaimTemplate.KIND, key)
        if template is None:
            self._waiting.setdefault(key, {})[pod.key] = None
            return None
        model = template.spec.metadata
        metadata = ObjectMeta(
            generate_name=f"{pod.name}-{entry.name}-",
            namespace=pod.namespace,
            labels=model.labels,
            annotations={**model.annotations, POD_CLAIM_NAME: entry.name},
            owner_references=(OwnerReference("v1", Pod.KIND, pod.name, pod.uid, controller=True),),
        )
        claim: ResourceClaim = self.cluster.create(ResourceClaim(metadata, template.spec.spec))
        return PodResourceClaimStatus(entry.name, claim.name)

    # ---- giving back -------------------------------------------------------------------------------------

    def _free(self, pod: Pod) -> None:
        names = [entry.resource_claim_name for entry in pod.spec.resource_claims]
        names += [status.resource_claim_name for status in pod.status.resource_claim_statuses]
        extended = pod.status.extended_resource_claim_status
        if extended is not None:
            names.append(extended.resource_claim_name)
        for name in dict.fromkeys(names):
            claim = self.cluster.get(ResourceClaim.KIND, f"{pod.namespace}/{name}") if name else None
            if claim is not None:
                self._leave(claim, pod)

    def _leave(self, claim: ResourceClaim, pod: Pod) -> None:
        """Remove *pod* from the users of the claim. Without users, its devices are free."""
        status = claim.status
        left = tuple(user for user in status.reserved_for if user.uid != pod.uid)
        if len(left) < len(status.reserved_for):
            status = evolve(status, reserved_for=left)
            if not left:
                status = evolve(status, allocation=None, devices=())
                claim = evolve(claim, metadata=claim.metadata.with_finalizers(()))
            claim = self.cluster.update(evolve(claim, status=status))
        owners = {owner.uid for owner in claim.metadata.owner_references if owner.controller}
        if pod.uid in owners and not claim.status.reserved_for:
            try:
                self.cluster.delete(claim)
            except NotFound:
                return
