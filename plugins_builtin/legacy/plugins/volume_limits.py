"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits: how many in-tree disks a node can have attached.

Only for nodes that still attach the disks by the in-tree plugin. Where the CSINode lists the plugin as
migrated, the disks are volumes of a CSI driver, and NodeVolumeLimits counts them. Source of the rules: the
reference's nodevolumelimits/non_csi.go (v1.22).
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import ClassVar, Final, TypeAlias

from attrs import define, field

from plugins_builtin._rejections import LOOKING_UP, rejection
from plugins_builtin._volumes import claim_name, ownership_problem, volumes_of
from plugins_builtin._volumes_in_tree import MIGRATED_PLUGINS, migrated_plugins
from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    Node,
    NodeInfo,
    ObjectStore,
    Pod,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, StorageClass, Volume

ERR_REASON: Final = "node(s) exceed max volume count"
MAX_VOLUMES_VARIABLE: Final = "KUBE_MAX_PD_VOLS"
"""Environment variable with a limit for all nodes that do not publish one."""

_STATUS: Final = Status.unschedulable(ERR_REASON)
_SKIP: Final = Status.skip()
_INSTANCE_TYPE: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_EBS_NITRO: Final = re.compile("^[cmr]5.*|t3|z1d")
_MAX_EBS: Final = 39
"""Volumes of an AWS instance: 40, one of which is its root."""
_MAX_EBS_NITRO: Final = 25
"""Volumes of an AWS instance of a Nitro type."""
_MAX_GCE: Final = 16
_MAX_AZURE: Final = 16
_MAX_CINDER: Final = 256

_DiskId: TypeAlias = Hashable
"""Name of a disk, or the key of a claim of which no disk is known."""


@define(eq=False)
class InTreeLimits:
    """Rejects nodes that would have too many disks of an in-tree plugin; base of the plugins below.

    The limit of a node is what it publishes as allocatable, else that of the environment variable
    ``KUBE_MAX_PD_VOLS``, else a default.
    """

    handle: Handle
    _incoming: StateKey[tuple[frozenset[_DiskId], Status | None]] = field(init=False)
    """Disks of the pod, and why they cannot be determined."""

    in_tree_plugin: ClassVar[str]
    """Name of the in-tree plugin, by which storage classes and CSINodes call it."""
    source: ClassVar[str]
    """Field of volumes with a disk of the plugin."""
    disk_name: ClassVar[str]
    """Field of that source with the name of the disk."""
    limit_resource: ClassVar[str]
    """Allocatable resource of a node with its limit."""
    default_limit: ClassVar[int]
    """Limit of a node that publishes none."""
    reads_annotations: ClassVar[tuple[str, ...]] = (MIGRATED_PLUGINS,)
    reads: ClassVar[tuple[str, ...]] = (
        "PersistentVolumeClaim",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
    )

    def __attrs_post_init__(self) -> None:
        self._incoming = StateKey(f"{type(self).__name__}/pre_filter")

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """Return no kind for a pod without claims; what its claims are may change."""
        volumes = volumes_of(pod.spec)
        return () if volumes is None or not volumes.claiming else None

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Determine the disks of the pod; Skip if none is of the plugin. O(volumes of the pod)."""
        disks: set[_DiskId] = set()
        problem = self._collect(pod, disks, is_new=True)
        if problem is None and not disks:
            return _SKIP
        state.write(self._incoming, (frozenset(disks), problem))
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Reject a node without room for the disks that are new to it; O(volumes of the node's pods)."""
        new, problem = state.read(self._incoming)
        if problem is not None:
            return problem
        node = node_info.node
        if self.in_tree_plugin in migrated_plugins(self.handle.objects.get("CSINode", node.name)):
            return None
        present: set[_DiskId] = set()
        for other in node_info.pods.values():
            if other.spec.volumes and (problem := self._collect(other, present, is_new=False)) is not None:
                return problem
        limit = node_info.allocatable.get(self.limit_resource)
        if limit is None:
            limit = _configured_limit() or self._default_limit(node)
        return _STATUS if len(present | new) > limit else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nodes, deleted pods, claims, volumes and CSINodes."""
        nodes = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL
        changes = Action.ADD | Action.UPDATE
        return (
            EventRegistration(ClusterEvent(EventResource.NODE, nodes)),
            EventRegistration(ClusterEvent(EventResource.POD, Action.DELETE)),
            EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, changes)),
            EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME, changes)),
            EventRegistration(ClusterEvent(EventResource.CSI_NODE, changes)),
        )

    # ---- disks of a pod ----------------------------------------------------------------------------------

    def _collect(self, pod: Pod, disks: set[_DiskId], *, is_new: bool) -> Status | None:
        """Add the disks of *pod*; return why they cannot be determined. Claims of a new pod must exist."""
        volumes = volumes_of(pod.spec)
        if volumes is None:
            return None
        disks.update(filter(None, map(self._disk, volumes.in_tree)))
        objects = self.handle.objects
        for volume in volumes.claiming:
            name = claim_name(pod, volume)
            key = f"{pod.namespace}/{name}"
            claim: PersistentVolumeClaim | None = objects.get(
                "PersistentVolumeClaim", f"{pod.namespace}/{name}"
            )
            if claim is None:
                if is_new:
                    return rejection(LOOKING_UP, key, name)
                continue
            if volume.ephemeral is not None and (problem := ownership_problem(pod, claim)):
                return Status.from_error(problem)
            disks.update(self._disks_of_claim(claim, objects))
        return None

    def _disks_of_claim(self, claim: PersistentVolumeClaim, objects: ObjectStore) -> Iterator[_DiskId]:
        name = claim.spec.volume_name
        volume: PersistentVolume | None = objects.get("PersistentVolume", name) if name else None
        if volume is not None:
            disk = self._disk(volume.spec)
            if disk:
                yield disk
        elif claim.spec.storage_class_name is not None:
            # The pod may still use the disk that was bound, or will get one of that class.
            storage_class: StorageClass | None = objects.get("StorageClass", claim.spec.storage_class_name)
            if storage_class is not None and storage_class.provisioner == self.in_tree_plugin:
                yield "claim", claim.key

    def _default_limit(self, node: Node) -> int:
        return self.default_limit

    def _disk(self, owner: Volume | PersistentVolumeSpec) -> str | None:
        """Return the name of the disk of a pod's volume or of the spec of a volume object."""
        source = getattr(owner, self.source)
        name: str | None = None if source is None else getattr(source, self.disk_name)
        return name


def _configured_limit() -> int | None:
    """Return the limit of the environment variable, ``None`` unless it is a number above 0."""
    text = os.environ.get(MAX_VOLUMES_VARIABLE, "")
    return int(text) or None if text.isdecimal() else None


@define(eq=False)
class EBSLimits(InTreeLimits):
    """At most 39 EBS volumes on a node, 25 on one of a Nitro type, if it publishes no limit."""

    in_tree_plugin = "kubernetes.io/aws-ebs"
    source = "aws_elastic_block_store"
    disk_name = "volume_id"
    limit_resource = "attachable-volumes-aws-ebs"
    default_limit = _MAX_EBS

    def _default_limit(self, node: Node) -> int:
        types = (node.labels[label] for label in _INSTANCE_TYPE if label in node.labels)
        return _MAX_EBS_NITRO if _EBS_NITRO.search(next(types, "")) else self.default_limit


@define(eq=False)
class GCEPDLimits(InTreeLimits):
    """At most 16 persistent disks of GCE on a node that publishes no limit."""

    in_tree_plugin = "kubernetes.io/gce-pd"
    source = "gce_persistent_disk"
    disk_name = "pd_name"
    limit_resource = "attachable-volumes-gce-pd"
    default_limit = _MAX_GCE


@define(eq=False)
class AzureDiskLimits(InTreeLimits):
    """At most 16 Azure disks on a node that publishes no limit."""

    in_tree_plugin = "kubernetes.io/azure-disk"
    source = "azure_disk"
    disk_name = "disk_name"
    limit_resource = "attachable-volumes-azure-disk"
    default_limit = _MAX_AZURE


@define(eq=False)
class CinderLimits(InTreeLimits):
    """At most 256 Cinder volumes on a node that publishes no limit."""

    in_tree_plugin = "kubernetes.io/cinder"
    source = "cinder"
    disk_name = "volume_id"
    limit_resource = "attachable-volumes-cinder"
    default_limit = _MAX_CINDER
