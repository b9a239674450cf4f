"""Classification of the claims of a pod: bound, to be bound on the chosen node, or blocking every node.

Invariant: one :class:`Storage` serves all profiles over the same objects, so a volume that is assumed in one
profile is taken in all.
"""

from __future__ import annotations

from attrs import define, field, frozen

from schedframe import InputError, ObjectStore, Pod, StateKey, Status
from schedframe.api import (
    SELECTED_NODE,
    UNREADABLE,
    WAIT_FOR_FIRST_CONSUMER,
    CompiledNodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

from .._rejections import missing, rejection
from .._volumes import NOT_OWNER, SpecVolumes, claim_name, ownership_problem
from .._volumes_in_tree import InTreePlugin, plugin_of, translated_affinity
from .assumed import AssumedObjects
from .provisioning import Capacities, ProvisioningRequest
from .static_matching import ClaimMatch, match_claim
from .volumes import VolumeIndex, labels_selector, selector_of

ERR_REASON_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
_NOT_CREATED = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "{}"'
_LOST = 'persistentvolumeclaim "{}" bound to non-existent persistentvolume "{}"'
_UNREADABLE = 'the present version of persistentvolumeclaim "{}" cannot be read'
_DELETED = 'persistentvolumeclaim "{}" is being deleted'
_IMMEDIATE = Status.unresolvable(ERR_REASON_IMMEDIATE)


@frozen
class BoundVolume:
    """The volume of a bound claim, with the selector of the nodes that can use it."""

    exists: bool = True
    selector: CompiledNodeSelector | None = None
    plugin: InTreePlugin | None = None
    """Set if other nodes can use the volume where this plugin has been migrated to CSI."""
    migrated_selector: CompiledNodeSelector | None = None
    migration_error: Status | None = None
    """Why the volume cannot be translated to the CSI driver."""


@define(eq=False)
class PodClaims:
    """The claims of a pod, as pre_filter found them."""

    bound: tuple[BoundVolume, ...] = ()
    selected: tuple[tuple[str, ProvisioningRequest], ...] = ()
    """Claims that are being provisioned: name of the selected node, and the request."""
    matches: tuple[ClaimMatch, ...] = ()
    """All other unbound claims, the smallest first."""
    requests: tuple[ProvisioningRequest, ...] = ()
    """For each of ``matches`` the request to provision a volume if none matches."""

    @property
    def all_bound(self) -> bool:
        """Return whether no claim has to be bound."""
        return not self.selected and not self.matches


NO_CLAIMS = PodClaims()
CLAIMS: StateKey[PodClaims] = StateKey("VolumeBinding/pre_filter")


@define(eq=False)
class Storage:
    """Volumes, claims and capacities as assumed; shared by all profiles over the same objects."""

    objects: ObjectStore
    volumes: VolumeIndex = field(init=False)
    claims: AssumedObjects[PersistentVolumeClaim] = field(init=False)
    capacities: Capacities = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.volumes = VolumeIndex(self.objects)
        self.claims = AssumedObjects("PersistentVolumeClaim", self.objects)
        self.capacities = Capacities(self.objects)

    @classmethod
    def of(cls, objects: ObjectStore) -> Storage:
        """Return the one instance for *objects*."""
        storage: Storage | None = objects.memo.get(cls)
        if storage is None:
            storage = objects.memo[cls] = cls(objects)
        return storage

    # ---- the claims of a pod -----------------------------------------------------------------------------

    def claims_of(self, pod: Pod, volumes: SpecVolumes) -> PodClaims | Status:
        """Classify the claims of *pod*; return a rejection if one of them blocks every node."""
        problem = self._first_problem(pod, volumes)
        if problem is not None:
            return problem
        bound: list[BoundVolume] = []
        waiting: list[tuple[PersistentVolumeClaim, StorageClass]] = []
        immediate = False
        for volume in volumes.claiming:
            claim = self.claims.get(f"{pod.namespace}/{claim_name(pod, volume)}")
            if claim is None:
                return Status.from_error(f"claim of volume {volume.name} is gone")
            if claim.is_fully_bound:
                bound.append(self.bound_volume(claim))
                continue
            storage_class = self._waiting_class(claim)
            if storage_class is not None and not claim.spec.volume_name:
                waiting.append((claim, storage_class))
            else:
                immediate = True
        return _IMMEDIATE if immediate else self._to_bind(tuple(bound), waiting)

    def _first_problem(self, pod: Pod, volumes: SpecVolumes) -> Status | None:
        for volume in volumes.claiming:
            name = claim_name(pod, volume)
            claim: PersistentVolumeClaim | None = self.objects.get(
                "PersistentVolumeClaim", f"{pod.namespace}/{name}"
            )
            ephemeral = volume.ephemeral is not None
            if claim is None and ephemeral:
                return rejection(_NOT_CREATED, name)
            if claim is None:
                return missing("PersistentVolumeClaim", name)
            if claim.status.phase == "Lost":
                return rejection(_LOST, name, claim.spec.volume_name)
            if UNREADABLE in claim.metadata.annotations:
                return rejection(_UNREADABLE, name)
            if claim.metadata.deletion_timestamp is not None:
                return rejection(_DELETED, name)
            if ephemeral and ownership_problem(pod, claim):
                return rejection(NOT_OWNER, claim.key, pod.key)
        return None

    def _waiting_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        """Return the class of the claim if it binds volumes when their pod is scheduled, else ``None``."""
        name = claim.storage_class
        storage_class: StorageClass | None = self.objects.get("StorageClass", name) if name else None
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return storage_class if waits else None

    def bound_volume(self, claim: PersistentVolumeClaim) -> BoundVolume:
        """Return the volume that *claim* is bound to."""
        volume = self.volumes.assumed.get(claim.spec.volume_name)
        return BoundVolume(exists=False) if volume is None else _bound_volume(volume)

    def _to_bind(
        self, bound: tuple[BoundVolume, ...], waiting: list[tuple[PersistentVolumeClaim, StorageClass]]
    ) -> PodClaims:
        if not waiting:
            return PodClaims(bound)
        selected, unbound = [], []
        for claim, storage_class in waiting:
            request = self.capacities.request(claim, storage_class)
            node_name = claim.metadata.annotations.get(SELECTED_NODE)
            if node_name is not None:
                selected.append((node_name, request))
            else:
                unbound.append((match_claim(claim, self.volumes), request))
        unbound.sort(key=lambda pair: pair[0].size)
        matches = tuple(match for match, _ in unbound)
        return PodClaims(bound, tuple(selected), matches, tuple(request for _, request in unbound))


def _bound_volume(volume: PersistentVolume) -> BoundVolume:
    selector, plugin = selector_of(volume), plugin_of(volume)
    if plugin is None or plugin.handle is None:
        return BoundVolume(selector=selector)
    try:
        translated = translated_affinity(plugin, volume)
    except InputError as error:
        status = Status.from_error(f"could not translate pv: {error}")
        return BoundVolume(True, selector, plugin, None, status)
    migrated = None if translated is None else labels_selector(translated)
    if migrated == selector:
        return BoundVolume(selector=selector)
    return BoundVolume(True, selector, plugin, migrated)
