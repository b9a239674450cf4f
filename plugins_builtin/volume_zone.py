"""VolumeZone: nodes must be in the zones and regions that bound volumes are labelled with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, TypeAlias

import numpy as np
from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    Node,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import (
    STORAGE_CLASS_BETA,
    WAIT_FOR_FIRST_CONSUMER,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

from ._rejections import missing
from ._volumes import uses_claim, volumes_of
from ._volumes_in_tree import BETA_REGION, BETA_ZONE, REGION, ZONE

ERR_REASON = "node(s) had no available volume zone"
ERR_REASON_NO_NAME = "PersistentVolumeClaim had no name"
ERR_REASON_NO_CLASS = "PersistentVolumeClaim had no pv name and storageClass name"
ERR_REASON_NO_VOLUME = "PersistentVolume had no name"
_STATUS = Status.unresolvable(ERR_REASON)
_SKIP = Status.skip()

_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_SUCCESSOR: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}

_Topology: TypeAlias = tuple[str, frozenset[str]]
"""A node label, and its allowed values."""
_NodeLabels: TypeAlias = tuple[str | None, ...]
"""Values of the labels :data:`_LABELS` of a node."""

_TOPOLOGIES: Final = StateKey[tuple[_Topology, ...]]("VolumeZone/pre_filter")


@define(eq=False)
class VolumeZone:
    """Reject nodes whose zone and region labels disagree with those of a bound volume.

    Nodes without any such label pass. Works without pre_filter, but then looks up the volumes for every node.
    """

    handle: Handle

    reads_annotations: ClassVar[tuple[str, ...]] = (STORAGE_CLASS_BETA,)

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """For a pod without volumes, nothing; else anything."""
        return () if volumes_of(pod.spec) is None else None

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Collect the labels of the pod's volumes; Skip if there are none."""
        volumes = volumes_of(pod.spec)
        if volumes is None or not volumes.named:
            return _SKIP
        topologies = self._topologies(pod, volumes.named)
        if isinstance(topologies, Status):
            return topologies
        if not topologies:
            return _SKIP
        state.write(_TOPOLOGIES, topologies)
        return None

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject a node with other zones or regions; O(labels of the pod's volumes)."""
        topologies = self._cached_topologies(state, pod)
        if isinstance(topologies, Status):
            return topologies
        if not topologies or not node_info.has_node:
            return None
        labels = _labels_of(node_info.node)
        return None if labels is None or _accepts(topologies, labels) else _STATUS

    @hookimpl
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`, evaluated once for each distinct set of zone labels; O(rows)."""
        topologies = self._cached_topologies(state, pod)
        if isinstance(topologies, Status):
            return RowVerdicts(np.ones(len(rows), np.int8), (topologies,))
        if not topologies:
            return None
        column = rows.table.distinct(_labels_of, _labels_of)
        accepted = column.decide(lambda labels: _accepts(topologies, labels), True, rows.index)
        return None if accepted.all() else RowVerdicts.where(~accepted, _STATUS)

    @hookimpl
    def explain(self, pod: Pod, node_info: NodeInfo) -> str | None:
        """Return the volume that is in other zones or regions, and those of the node."""
        labels = _labels_of(node_info.node) if node_info.has_node else None
        if labels is None:
            return None
        objects = self.handle.objects
        volumes = volumes_of(pod.spec)
        for name in volumes.named if volumes is not None else ():
            claim = objects.get("PersistentVolumeClaim", f"{pod.namespace}/{name}")
            volume = None if claim is None else objects.get("PersistentVolume", claim.spec.volume_name)
            topologies = () if volume is None else _topologies_of(volume)
            rejecting = next((each for each in topologies if not _accepts((each,), labels)), None)
            if claim is not None and rejecting is not None:
                zones = _zones_text(rejecting, labels)
                return f"volume {claim.spec.volume_name} of claim {name} is in {zones}"
        return None

    def _cached_topologies(self, state: CycleState, pod: Pod) -> tuple[_Topology, ...] | Status:
        topologies = state.get(_TOPOLOGIES)
        if topologies is not None:
            return topologies
        volumes = volumes_of(pod.spec)
        return self._topologies(pod, volumes.named) if volumes is not None else ()

    def _topologies(self, pod: Pod, claim_names: tuple[str, ...]) -> tuple[_Topology, ...] | Status:
        """Return the topologies of the pod's bound volumes, or the rejection of the pod by all nodes."""
        topologies: list[_Topology] = []
        objects = self.handle.objects
        for name in claim_names:
            if not name:
                return Status.unresolvable(ERR_REASON_NO_NAME)
            claim = objects.get("PersistentVolumeClaim", f"{pod.namespace}/{name}")
            if claim is None:
                return missing("PersistentVolumeClaim", name)
            volume_name = claim.spec.volume_name
            if not volume_name:
                problem = self._unbound_problem(claim)
                if problem is not None:
                    return problem
                continue
            volume = objects.get("PersistentVolume", volume_name)
            if volume is None:
                return missing("PersistentVolume", volume_name)
            topologies += _topologies_of(volume)
        return tuple(topologies)

    def _unbound_problem(self, claim: PersistentVolumeClaim) -> Status | None:
        """Return why an unbound claim rejects the pod; ``None`` if it is bound when the pod is scheduled."""
        name = claim.storage_class
        if not name:
            return Status.unresolvable(ERR_REASON_NO_CLASS)
        storage_class: StorageClass | None = self.handle.objects.get("StorageClass", name)
        if storage_class is None:
            return missing("StorageClass.storage.k8s.io", name)
        waits = storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return None if waits else Status.unresolvable(ERR_REASON_NO_VOLUME)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register classes, nodes, claims and volumes that are added, and relevant updates."""
        changed = Action.ADD | Action.UPDATE
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (
            EventRegistration(ClusterEvent(EventResource.STORAGE_CLASS, Action.ADD), class_added),
            EventRegistration(nodes),
            EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, changed), claim_changed),
            EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME, changed), volume_changed),
        )


def class_added(pod: Pod, old: None, new: StorageClass) -> bool:
    """Hint: the class binds volumes when their pod is scheduled."""
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def claim_changed(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """Hint: the pod names the claim."""
    return uses_claim(pod, new, ephemeral=False)


def volume_changed(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> bool:
    """Hint: the volume is new, or its zones changed."""
    return old is None or _topologies_of(old) != _topologies_of(new)


def _topologies_of(volume: PersistentVolume) -> list[_Topology]:
    """Return labels with their zones (``a__b`` is two); a label with an empty zone counts as absent."""
    labels = volume.labels
    topologies = []
    for key in _LABELS:
        if key in labels:
            zones = frozenset(zone.strip() for zone in labels[key].split("__"))
            if "" not in zones:
                topologies.append((key, zones))
    return topologies


def _labels_of(node: Node) -> _NodeLabels | None:
    """Return the zone and region labels of the node; ``None`` if it has none."""
    labels = node.labels
    values = tuple(labels.get(key) for key in _LABELS)
    return values if any(value is not None for value in values) else None


def _zones_text(topology: _Topology, labels: _NodeLabels) -> str:
    """Return the zones of a volume and those of the node."""
    key, zones = topology
    has = dict(zip(_LABELS, labels, strict=True))
    value = has[key] if has[key] is not None else has.get(_SUCCESSOR.get(key, key))
    node = f"the node has no label {key}" if value is None else f"the node is in {value or '(empty)'}"
    return f"{key} {' or '.join(sorted(zones))}, {node}"


def _accepts(topologies: tuple[_Topology, ...], labels: _NodeLabels) -> bool:
    """Return whether *labels* satisfy *topologies*; a missing beta label is replaced by its successor."""
    has = dict(zip(_LABELS, labels, strict=True))
    for key, values in topologies:
        value = has[key]
        if value is None:
            value = has.get(_SUCCESSOR.get(key, key))
        if value not in values:
            return False
    return True
