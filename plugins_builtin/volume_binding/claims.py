"""The claims of a pod, sorted out: bound, to be bound where the pod goes, or in the way."""

from __future__ import annotations

from attrs import define, field, frozen

from schedframe import (
    InputError,
    ObjectStore,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StateKey,
    Status,
    StorageClass,
)
from schedframe.api import WAIT_FOR_FIRST_CONSUMER, CompiledNodeSelector

from .._volumes import SpecVolumes, claim_name, class_of_claim, no_such, ownership_problem
from .._volumes_in_tree import InTreePlugin, plugin_of, translated_affinity
from .assumed import SELECTED_NODE, AssumedObjects, is_fully_bound
from .provisioning import Capacities, Provision
from .volumes import VolumeFiles, labels_selector, selector_of
from .wishes import Wish, wish_of

ERR_REASON_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
_IMMEDIATE = Status.unresolvable(ERR_REASON_IMMEDIATE)


@frozen
class BoundVolume:
    """The volume of a bound claim, and the nodes that can use it."""

    there: bool = True
    selector: CompiledNodeSelector | None = None
    plugin: InTreePlugin | None = None
    """Set if the nodes are others where this plugin has been migrated."""
    migrated_selector: CompiledNodeSelector | None = None
    migration_error: Status | None = None
    """Why the volume cannot be used as one of the driver that took over."""


@define(eq=False)
class PodClaims:
    """What pre_filter found out about the claims of a pod."""

    bound: tuple[BoundVolume, ...] = ()
    sent: tuple[tuple[str, Provision], ...] = ()
    """Claims that are being provisioned for a node: its name, and what it takes."""
    wishes: tuple[Wish, ...] = ()
    """All others, the smallest first."""
    provisions: tuple[Provision, ...] = ()
    """What it takes to make a volume for each of the wishes."""

    @property
    def all_bound(self) -> bool:
        """Whether nothing is left to bind."""
        return not self.sent and not self.wishes


NO_CLAIMS = PodClaims()
CLAIMS: StateKey[PodClaims] = StateKey("VolumeBinding/pre_filter")


@define(eq=False)
class Storage:
    """All that there is to know about volumes and claims; one for all profiles over the same objects."""

    objects: ObjectStore
    volumes: VolumeFiles = field(init=False)
    claims: AssumedObjects[PersistentVolumeClaim] = field(init=False)
    capacities: Capacities = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.volumes = VolumeFiles(self.objects)
        self.claims = AssumedObjects("PersistentVolumeClaim", self.objects)
        self.capacities = Capacities(self.objects)

    @classmethod
    def of(cls, objects: ObjectStore) -> Storage:
        """The one that goes with *objects*: a volume promised in one profile is taken in all."""
        found: Storage | None = objects.memo.get(cls)
        if found is None:
            found = objects.memo[cls] = cls(objects)
        return found

    # ---- the claims of a pod -----------------------------------------------------------------------------

    def claims_of(self, pod: Pod, volumes: SpecVolumes) -> PodClaims | Status:
        """Sort out the claims of *pod*; a rejection if one of them is in the way of every node."""
        problem = self._first_problem(pod, volumes)
        if problem:
            return Status.unresolvable(problem)
        bound: list[BoundVolume] = []
        waiting: list[tuple[PersistentVolumeClaim, StorageClass]] = []
        immediate = False
        for volume in volumes.claiming:
            claim = self.claims.get(f"{pod.namespace}/{claim_name(pod, volume)}")
            if claim is None:
                return Status.from_error(f"claim of volume {volume.name} is gone")
            if is_fully_bound(claim):
                bound.append(self._bound(claim.spec.volume_name))
                continue
            storage_class = self._waiting_class(claim)
            if storage_class is not None and not claim.spec.volume_name:
                waiting.append((claim, storage_class))
            else:
                immediate = True
        return _IMMEDIATE if immediate else self._to_bind(tuple(bound), waiting)

    def _first_problem(self, pod: Pod, volumes: SpecVolumes) -> str:
        for volume in volumes.claiming:
            name = claim_name(pod, volume)
            claim: PersistentVolumeClaim | None = self.objects.get(
                "PersistentVolumeClaim", f"{pod.namespace}/{name}"
            )
            ephemeral = volume.ephemeral is not None
            if claim is None and ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            if claim is None:
                return no_such("PersistentVolumeClaim", name)
            if claim.status.phase == "Lost":
                return (
                    f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
                    f'"{claim.spec.volume_name}"'
                )
            if claim.metadata.deletion_timestamp is not None:
                return f'persistentvolumeclaim "{name}" is being deleted'
            if ephemeral and (problem := ownership_problem(pod, claim)):
                return problem
        return ""

    def _waiting_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        """The class of the claim, if its volumes are bound when their pod is scheduled."""
        name = class_of_claim(claim)
        found: StorageClass | None = self.objects.get("StorageClass", name) if name else None
        waits = found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return found if waits else None

    def _bound(self, name: str) -> BoundVolume:
        volume = self.volumes.assumed.get(name)
        return BoundVolume(there=False) if volume is None else _bound_volume(volume)

    def _to_bind(
        self, bound: tuple[BoundVolume, ...], waiting: list[tuple[PersistentVolumeClaim, StorageClass]]
    ) -> PodClaims:
        if not waiting:
            return PodClaims(bound)
        sent, wished = [], []
        for claim, storage_class in waiting:
            provision = self.capacities.provision(claim, storage_class)
            node_name = claim.metadata.annotations.get(SELECTED_NODE)
            if node_name is not None:
                sent.append((node_name, provision))
            else:
                wished.append((wish_of(claim, self.volumes), provision))
        wished.sort(key=lambda pair: pair[0].size)
        wishes = tuple(wish for wish, _ in wished)
        return PodClaims(bound, tuple(sent), wishes, tuple(provision for _, provision in wished))


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
