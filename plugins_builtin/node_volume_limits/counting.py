"""Which volume of which driver a pod's volume is.

Volumes are told apart by driver and handle, however many claims and volume objects lead there. A claim that
is not bound yet is a volume of its own. Disks of the time before CSI count as volumes of the drivers that
serve them now, on every node that has a CSINode: whether that names their plugin as migrated is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field, frozen

from schedframe import (
    InputError,
    ObjectStore,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Status,
    StorageClass,
)

from .._volumes import claim_name, class_of_claim, no_such, ownership_problem, volumes_of
from .._volumes_in_tree import handle_of, plugin_named, plugin_of


@frozen
class Counted:
    """A volume that takes one of the places for volumes of its driver."""

    driver: str
    name: str
    """Unique, like ``<driver>/<handle>``."""


@define(eq=False)
class Attached:
    """What pods have attached, or want to have."""

    volumes: dict[str, str] = field(factory=dict)
    """Unique name → driver."""
    claims: set[str] = field(factory=set)
    """Keys of the claims that were looked at."""
    problem: Status | None = None
    """Why it cannot be told."""
    is_disk_problem: bool = False
    """Whether that is about a disk used directly, which plays no role on a node without CSINode."""


@define(eq=False)
class Counting:
    """Finds volumes; remembers what claims lead to until it is told that something changed."""

    objects: ObjectStore
    _known: dict[str, Counted | None] = field(factory=dict)
    _claims_of_volume: dict[str, set[str]] = field(factory=dict)
    """Volume object → claims that were followed to it, whether it was there or not."""

    def wanted(self, pod: Pod) -> Attached:
        """The volumes of a pod that is to be placed, whose claims must be there."""
        found = volumes_of(pod.spec)
        for volume in found.claiming if found is not None else ():
            name = claim_name(pod, volume)
            if self.objects.get("PersistentVolumeClaim", f"{pod.namespace}/{name}") is None:
                problem = f"looking up PVC {pod.namespace}/{name}: {no_such('PersistentVolumeClaim', name)}"
                return Attached(problem=Status.unresolvable(problem))
        return self.attached((pod,))

    def attached(self, pods: Iterable[Pod]) -> Attached:
        """The volumes of the pods on a node with a CSINode. Claims that are missing are not counted."""
        attached = Attached()
        for pod in pods:
            if pod.spec.volumes:
                self._add(pod, attached)
                if attached.problem is not None:
                    break
        return attached

    def _add(self, pod: Pod, attached: Attached) -> None:
        found = volumes_of(pod.spec)
        if found is None:
            return
        for volume in found.claiming:
            key = f"{pod.namespace}/{claim_name(pod, volume)}"
            attached.claims.add(key)
            claim: PersistentVolumeClaim | None = self.objects.get("PersistentVolumeClaim", key)
            if claim is None:
                continue
            if volume.ephemeral is not None and (problem := ownership_problem(pod, claim)):
                attached.problem = Status.from_error(problem)
                return
            counted = self.of_claim(key, claim)
            if counted is not None:
                attached.volumes[counted.name] = counted.driver
        for volume in found.in_tree:
            plugin = plugin_of(volume)
            if plugin is None or plugin.handle is None:
                continue
            try:
                handle = handle_of(plugin, volume)
            except InputError as error:
                problem = f"converting volume({volume.name}) from inline to csi: {error}"
                attached.problem, attached.is_disk_problem = Status.from_error(problem), True
                return
            attached.volumes[f"{plugin.driver}/{handle}"] = plugin.driver

    # ---- claims ------------------------------------------------------------------------------------------

    def of_claim(self, key: str, claim: PersistentVolumeClaim) -> Counted | None:
        """The volume behind a claim; ``None`` if it does not count anywhere."""
        try:
            return self._known[key]
        except KeyError:
            counted = self._known[key] = self._follow(claim)
            return counted

    def forget_claim(self, key: str) -> None:
        """The claim changed."""
        self._known.pop(key, None)

    def forget_volume(self, name: str) -> set[str]:
        """The volume object changed: the claims that were followed to it."""
        keys = self._claims_of_volume.pop(name, set())
        for key in keys:
            self._known.pop(key, None)
        return keys

    def forget_all(self) -> None:
        """Anything may have changed."""
        self._known.clear()
        self._claims_of_volume.clear()

    def _follow(self, claim: PersistentVolumeClaim) -> Counted | None:
        name = claim.spec.volume_name
        volume: PersistentVolume | None = None
        if name:
            self._claims_of_volume.setdefault(name, set()).add(claim.key)
            volume = self.objects.get("PersistentVolume", name)
        return self._unbound(claim) if volume is None else _of_volume(volume)

    def _unbound(self, claim: PersistentVolumeClaim) -> Counted | None:
        """A volume that is to be made by the provisioner of the class."""
        name = class_of_claim(claim)
        found: StorageClass | None = self.objects.get("StorageClass", name) if name else None
        if found is None or not found.provisioner:
            return None
        plugin = plugin_named(found.provisioner)
        unique = f"unbound {claim.key}"
        if plugin is None:
            return Counted(found.provisioner, unique)
        return None if plugin.handle is None else Counted(plugin.driver, unique)


def _of_volume(volume: PersistentVolume) -> Counted | None:
    csi = volume.spec.csi
    if csi is not None:
        handle = csi.volume_handle
        return Counted(csi.driver, f"{csi.driver}/{handle}") if csi.driver and handle else None
    plugin = plugin_of(volume)
    if plugin is None or plugin.handle is None:
        return None
    try:
        handle = handle_of(plugin, volume)
    except InputError:
        # As in the reference: a volume that cannot be translated is not counted.
        return None
    return Counted(plugin.driver, f"{plugin.driver}/{handle}") if handle else None
