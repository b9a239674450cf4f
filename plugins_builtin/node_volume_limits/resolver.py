"""Resolves volumes of pods to volumes of CSI drivers.

A volume is identified by driver and handle, independent of the claims and volume objects that lead to it. An
unbound claim is a volume of its own. In-tree disks count as volumes of the CSI driver that replaced their
plugin, on every node with a CSINode, even if that does not list the plugin as migrated.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field, frozen

from schedframe import InputError, ObjectStore, Pod, Status
from schedframe.api import PersistentVolume, PersistentVolumeClaim, StorageClass

from .._rejections import LOOKING_UP, rejection
from .._volumes import claim_name, ownership_problem, volumes_of
from .._volumes_in_tree import handle_of, plugin_named, plugin_of


@frozen
class CountedVolume:
    """A volume that counts against the limit of its driver."""

    driver: str
    name: str
    """Unique; ``<driver>/<handle>`` for a bound volume."""


@define(eq=False)
class VolumeSet:
    """The volumes of some pods."""

    volumes: dict[str, str] = field(factory=dict)
    """Unique name → driver."""
    claims: set[str] = field(factory=set)
    """Keys of the claims that were resolved."""
    problem: Status | None = None
    """Why a volume cannot be resolved."""
    is_disk_problem: bool = False
    """Whether the problem is an inline disk, which does not matter on a node without CSINode."""


@define(eq=False)
class VolumeResolver:
    """Resolves claims; results are cached until invalidated."""

    objects: ObjectStore
    _resolved: dict[str, CountedVolume | None] = field(factory=dict)
    _claims_of_volume: dict[str, set[str]] = field(factory=dict)
    """Name of a volume object → claims that refer to it, whether it exists or not."""

    def volumes_of_incoming(self, pod: Pod) -> VolumeSet:
        """Return the volumes of an incoming pod; a problem if one of its claims does not exist."""
        volumes = volumes_of(pod.spec)
        for volume in volumes.claiming if volumes is not None else ():
            name = claim_name(pod, volume)
            if self.objects.get("PersistentVolumeClaim", f"{pod.namespace}/{name}") is None:
                return VolumeSet(problem=rejection(LOOKING_UP, f"{pod.namespace}/{name}", name))
        return self.volumes_of_pods((pod,))

    def volumes_of_pods(self, pods: Iterable[Pod]) -> VolumeSet:
        """Return the volumes of the pods of a node with a CSINode; missing claims do not count."""
        attached = VolumeSet()
        for pod in pods:
            if pod.spec.volumes:
                self._add(pod, attached)
                if attached.problem is not None:
                    break
        return attached

    def _add(self, pod: Pod, attached: VolumeSet) -> None:
        volumes = volumes_of(pod.spec)
        if volumes is None:
            return
        for volume in volumes.claiming:
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
        for volume in volumes.in_tree:
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

    def of_claim(self, key: str, claim: PersistentVolumeClaim) -> CountedVolume | None:
        """Return the volume of a claim; ``None`` if it counts for no driver."""
        try:
            return self._resolved[key]
        except KeyError:
            counted = self._resolved[key] = self._resolve(claim)
            return counted

    def invalidate_claim(self, key: str) -> None:
        """Drop the cached result of a claim."""
        self._resolved.pop(key, None)

    def invalidate_volume(self, name: str) -> set[str]:
        """Drop the cached results of the claims that refer to a volume object; return their keys."""
        keys = self._claims_of_volume.pop(name, set())
        for key in keys:
            self._resolved.pop(key, None)
        return keys

    def invalidate_all(self) -> None:
        """Drop all cached results."""
        self._resolved.clear()
        self._claims_of_volume.clear()

    def _resolve(self, claim: PersistentVolumeClaim) -> CountedVolume | None:
        name = claim.spec.volume_name
        volume: PersistentVolume | None = None
        if name:
            self._claims_of_volume.setdefault(name, set()).add(claim.key)
            volume = self.objects.get("PersistentVolume", name)
        return self._unbound(claim) if volume is None else _of_volume(volume)

    def _unbound(self, claim: PersistentVolumeClaim) -> CountedVolume | None:
        """Return the volume that the provisioner of the class will create."""
        name = claim.storage_class
        storage_class: StorageClass | None = self.objects.get("StorageClass", name) if name else None
        if storage_class is None or not storage_class.provisioner:
            return None
        plugin = plugin_named(storage_class.provisioner)
        unique = f"unbound {claim.key}"
        if plugin is None:
            return CountedVolume(storage_class.provisioner, unique)
        return None if plugin.handle is None else CountedVolume(plugin.driver, unique)


def _of_volume(volume: PersistentVolume) -> CountedVolume | None:
    csi = volume.spec.csi
    if csi is not None:
        handle = csi.volume_handle
        return CountedVolume(csi.driver, f"{csi.driver}/{handle}") if csi.driver and handle else None
    plugin = plugin_of(volume)
    if plugin is None or plugin.handle is None:
        return None
    try:
        handle = handle_of(plugin, volume)
    except InputError:
        # As in the reference: a volume that cannot be translated is not counted.
        return None
    return CountedVolume(plugin.driver, f"{plugin.driver}/{handle}") if handle else None
