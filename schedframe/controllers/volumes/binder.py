"""Claims: each gets a volume that is there, or a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from attrs import evolve, field

from ..._base.value import record
from ...api import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    Node,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from ...cluster import WatchEvent
from ..lookup import Lookup, Put, Write
from ..switches import VOLUMES
from .matching import best_volume, is_large_enough
from .provisioning import name_of_new_volume, new_volume, shrunk_capacities
from .topology import Place, place_for_immediate, place_on

_OF_CLASS: Final = "class "
"""Prefix of a key that stands for the pending claims of a class."""


@record(eq=False)
class ClaimBinder:
    """Binds claims to volumes, and provisions volumes for claims that no volume fits.

    A claim of a class that waits for its first consumer is left to the scheduler until that has named a node.
    Source of the rules: syncClaim of pkg/controller/volume/persistentvolume.
    """

    NAME: ClassVar[str] = VOLUMES
    KIND: ClassVar[str] = PersistentVolumeClaim.KIND
    READS: ClassVar[tuple[str, ...]] = (PersistentVolumeClaim.KIND, PersistentVolume.KIND, StorageClass.KIND)
    _provisioned: Counter[tuple[str, bool]] = field(factory=Counter, init=False)
    """Class, and whether it is certain where its volumes can be used from → volumes that were made."""
    _placed: dict[str, Place] = field(factory=dict, init=False)
    """Claim of a class that binds at once → where its volume was made."""

    def keys(self, change: WatchEvent) -> Iterable[str]:
        """Return the changed claim, or the claims that the changed volume or class may serve."""
        obj = change.new
        if obj is None:
            return ()
        if isinstance(obj, PersistentVolumeClaim):
            return (obj.key,)
        if isinstance(obj, StorageClass):
            return (f"{_OF_CLASS}{obj.name}",)
        reference = obj.spec.claim_ref
        if reference is not None:
            return (f"{reference.namespace}/{reference.name}",)
        return (f"{_OF_CLASS}{obj.storage_class}",)

    def reconcile(self, key: str, cluster: Lookup) -> Iterator[Write]:
        """Return the claim and its volume bound, if there is one for it; O(volumes)."""
        if key.startswith(_OF_CLASS):
            name = key.removeprefix(_OF_CLASS)
            for claim in _unbound_of(name, cluster):
                yield from self._reconciled(claim, cluster)
            return
        changed: PersistentVolumeClaim | None = cluster.get(PersistentVolumeClaim.KIND, key)
        if changed is not None:
            yield from self._reconciled(changed, cluster)

    def notes(self) -> list[str]:
        """Return how many volumes were made, by class, and where those were that had to be somewhere."""
        lines = []
        for (name, is_certain), count in sorted(self._provisioned.items()):
            unsure = "" if is_certain else "; its driver is not known, so they are not tied to a zone"
            lines.append(f"volumes provisioned: {count} of class {name}{unsure}")
        by_place: dict[str, list[str]] = {}
        for key, place in self._placed.items():
            by_place.setdefault(str(place), []).append(key)
        for where, keys in sorted(by_place.items()):
            more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
            lines.append(
                f"provisioned before their pods have nodes, for {where}: {', '.join(keys[:3])}{more}"
            )
        return lines

    # ---- one claim ---------------------------------------------------------------------------------------

    def _reconciled(self, claim: PersistentVolumeClaim, cluster: Lookup) -> Iterator[Write]:
        if BIND_COMPLETED in claim.metadata.annotations and claim.spec.volume_name:
            if (
                claim.status.phase == "Bound"
                and cluster.get(PersistentVolume.KIND, claim.spec.volume_name) is None
            ):
                yield Put(evolve(claim, status=evolve(claim.status, phase="Lost")))
            return
        if claim.spec.volume_name:
            yield from _bound_to_named(claim, cluster)
            return
        storage_class: StorageClass | None = cluster.get(StorageClass.KIND, claim.storage_class)
        node = self._node(claim, cluster)
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        volume = best_volume(claim, cluster.list(PersistentVolume.KIND), only_reserved=waits)
        if volume is not None:
            yield from _bound(claim, volume)
        elif storage_class is not None and (node is not None or not waits):
            yield from self._provision(claim, storage_class, node, cluster)
        elif claim.status.phase != "Pending":
            yield Put(evolve(claim, status=evolve(claim.status, phase="Pending")))

    @staticmethod
    def _node(claim: PersistentVolumeClaim, cluster: Lookup) -> Node | None:
        """Return the node that the scheduler has named for the volume of *claim*."""
        name = claim.metadata.annotations.get(SELECTED_NODE)
        return None if name is None else cluster.get(Node.KIND, name)

    def _provision(
        self, claim: PersistentVolumeClaim, made_by: StorageClass, node: Node | None, cluster: Lookup
    ) -> Iterator[Write]:
        if made_by.provisioner in ("", NO_PROVISIONER):
            if claim.status.phase != "Pending":
                yield Put(evolve(claim, status=evolve(claim.status, phase="Pending")))
            return
        place = place_for_immediate(made_by, cluster) if node is None else place_on(node, made_by, cluster)
        volume = new_volume(name_of_new_volume(claim, cluster), claim, made_by, place)
        self._provisioned[made_by.name, place.is_certain] += 1
        if node is None and place.labels:
            self._placed[claim.key] = place
        if node is not None:
            yield from map(Put, shrunk_capacities(claim, made_by, node, cluster))
        yield from _bound(claim, volume)


def _unbound_of(class_name: str, cluster: Lookup) -> list[PersistentVolumeClaim]:
    """Return the claims of the class that have no volume yet, by their keys."""
    claims = [
        claim
        for claim in cluster.list(PersistentVolumeClaim.KIND)
        if claim.storage_class == class_name
        and not claim.spec.volume_name
        and not cluster.is_settled(claim.KIND, claim.key)
    ]
    return sorted(claims, key=lambda claim: str(claim.key))


def _bound_to_named(claim: PersistentVolumeClaim, cluster: Lookup) -> Iterator[Write]:
    """Return *claim* bound to the volume that it names, if that is there, fits and is free."""
    volume: PersistentVolume | None = cluster.get(PersistentVolume.KIND, claim.spec.volume_name)
    is_free = volume is not None and (
        volume.is_reserved_for(claim) or (volume.spec.claim_ref is None and _fits(volume, claim))
    )
    if volume is not None and is_free:
        yield from _bound(claim, volume)
    elif claim.status.phase != "Pending":
        yield Put(evolve(claim, status=evolve(claim.status, phase="Pending")))


def _fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether a claim that names *volume* can have it."""
    has_modes = set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    return has_modes and volume.storage_class == claim.storage_class and is_large_enough(volume, claim)


def _bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Iterator[Write]:
    """Return both, each with the other: the volume first, as the controller of a cluster does it."""
    metadata, reference = volume.metadata, volume.spec.claim_ref
    if reference is None:
        annotations = {**metadata.annotations, BOUND_BY_CONTROLLER: "yes"}
        metadata = evolve(metadata, annotations=annotations)
    reference = ObjectReference(claim.KIND, claim.namespace, claim.name, claim.uid, claim.API_VERSION)
    status = evolve(volume.status, phase="Bound")
    yield Put(evolve(volume, metadata=metadata, spec=evolve(volume.spec, claim_ref=reference), status=status))
    annotations = {**claim.metadata.annotations, BIND_COMPLETED: "yes"}
    if not claim.spec.volume_name:
        annotations[BOUND_BY_CONTROLLER] = "yes"
    yield Put(
        evolve(
            claim,
            metadata=evolve(claim.metadata, annotations=annotations),
            spec=evolve(claim.spec, volume_name=volume.name),
            status=evolve(
                claim.status,
                phase="Bound",
                access_modes=volume.spec.access_modes,
                capacity=volume.spec.capacity,
            ),
        )
    )
