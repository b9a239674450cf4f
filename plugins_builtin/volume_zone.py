"""Volumes that are bound to zones or regions by their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

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
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    StorageClass,
    hookimpl,
)
from schedframe.api import WAIT_FOR_FIRST_CONSUMER

from ._volumes import class_of_claim, no_such, uses_claim, volumes_of
from ._volumes_in_tree import BETA_REGION, BETA_ZONE, REGION, ZONE

ERR_REASON = "node(s) had no available volume zone"
ERR_REASON_NO_NAME = "PersistentVolumeClaim had no name"
ERR_REASON_NO_CLASS = "PersistentVolumeClaim had no pv name and storageClass name"
ERR_REASON_NO_VOLUME = "PersistentVolume had no name"
_STATUS = Status.unresolvable(ERR_REASON)
_SKIP = Status.skip()

_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_PRESENT_NAME: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}

_Topology: TypeAlias = tuple[str, frozenset[str]]
"""A label, and the values of which the node must have one."""
_NodeLabels: TypeAlias = tuple[str | None, ...]
"""The values of :data:`_LABELS`."""

_TOPOLOGIES: Final = StateKey[tuple[_Topology, ...]]("VolumeZone/pre_filter")


@define(eq=False)
class VolumeZone:
    """A pod can run where all zone and region labels of its bound volumes agree with the node's.

    Nodes without any such label are fine. Works without pre_filter, at the price of looking the volumes up
    for every node.
    """

    handle: Handle

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """A pod without volumes is none of ours."""
        return () if volumes_of(pod.spec) is None else None

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Find the labels of the pod's volumes; Skip if there are none."""
        found = volumes_of(pod.spec)
        if found is None or not found.named:
            return _SKIP
        topologies = self._topologies(pod, found.named)
        if isinstance(topologies, Status):
            return topologies
        if not topologies:
            return _SKIP
        state.write(_TOPOLOGIES, topologies)
        return None

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Does the node have the right labels? O(labels of the pod's volumes)."""
        node = node_info.node
        topologies = self._known(state, pod)
        if isinstance(topologies, Status):
            return topologies
        if node is None or not topologies:
            return None
        labels = _labels_of(node)
        return None if labels is None or _accepts(topologies, labels) else _STATUS

    @hookimpl
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; decides once per set of zone labels that occurs. O(rows)."""
        topologies = self._known(state, pod)
        if isinstance(topologies, Status):
            return RowVerdicts(np.ones(len(rows), np.int8), (topologies,))
        if not topologies:
            return None
        column = rows.table.distinct(_labels_of, _labels_of)
        accepted = column.decide(lambda labels: _accepts(topologies, labels), True, rows.index)
        return None if accepted.all() else RowVerdicts.where(~accepted, _STATUS)

    def _known(self, state: CycleState, pod: Pod) -> tuple[_Topology, ...] | Status:
        topologies = state.get(_TOPOLOGIES)
        if topologies is not None:
            return topologies
        found = volumes_of(pod.spec)
        return self._topologies(pod, found.named) if found is not None else ()

    def _topologies(self, pod: Pod, claim_names: tuple[str, ...]) -> tuple[_Topology, ...] | Status:
        """What the labels of the pod's bound volumes ask for, or why the pod cannot run anywhere."""
        topologies: list[_Topology] = []
        objects = self.handle.objects
        for name in claim_names:
            if not name:
                return Status.unresolvable(ERR_REASON_NO_NAME)
            claim = objects.get("PersistentVolumeClaim", f"{pod.namespace}/{name}")
            if claim is None:
                return Status.unresolvable(no_such("PersistentVolumeClaim", name))
            volume_name = claim.spec.volume_name
            if not volume_name:
                problem = self._unbound(claim)
                if problem:
                    return Status.unresolvable(problem)
                continue
            volume = objects.get("PersistentVolume", volume_name)
            if volume is None:
                return Status.unresolvable(no_such("PersistentVolume", volume_name))
            topologies += _topologies_of(volume)
        return tuple(topologies)

    def _unbound(self, claim: PersistentVolumeClaim) -> str:
        """Why a claim without a volume is in the way; empty if it will get one where the pod goes."""
        name = class_of_claim(claim)
        if not name:
            return ERR_REASON_NO_CLASS
        storage_class: StorageClass | None = self.handle.objects.get("StorageClass", name)
        if storage_class is None:
            return no_such("StorageClass.storage.k8s.io", name)
        waits = storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return "" if waits else ERR_REASON_NO_VOLUME

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Classes, nodes, claims and volumes that come, and what of them can change."""
        changed = Action.ADD | Action.UPDATE
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (
            EventRegistration(ClusterEvent(EventResource.STORAGE_CLASS, Action.ADD), class_added),
            EventRegistration(nodes),
            EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, changed), claim_changed),
            EventRegistration(ClusterEvent(EventResource.PERSISTENT_VOLUME, changed), volume_changed),
        )


def class_added(pod: Pod, old: None, new: StorageClass) -> bool:
    """Hint: volumes of the class may be bound once the pod has a node."""
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def claim_changed(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """Hint: it is a claim that the pod names."""
    return uses_claim(pod, new, ephemeral=False)


def volume_changed(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> bool:
    """Hint: the volume is new, or in other zones than before."""
    return old is None or _topologies_of(old) != _topologies_of(new)


def _topologies_of(volume: PersistentVolume) -> list[_Topology]:
    """Labels with their zones (``a__b`` is two); one with an empty zone in it counts as absent."""
    labels = volume.labels
    found = []
    for key in _LABELS:
        if key in labels:
            zones = frozenset(zone.strip() for zone in labels[key].split("__"))
            if "" not in zones:
                found.append((key, zones))
    return found


def _labels_of(node: Node) -> _NodeLabels | None:
    """The node's labels for zone and region; ``None`` without any."""
    labels = node.labels
    found = tuple(labels.get(key) for key in _LABELS)
    return found if any(value is not None for value in found) else None


def _accepts(topologies: tuple[_Topology, ...], labels: _NodeLabels) -> bool:
    """A beta label that the node lacks is compared with its successor."""
    has = dict(zip(_LABELS, labels, strict=True))
    for key, values in topologies:
        value = has[key]
        if value is None:
            value = has.get(_PRESENT_NAME.get(key, key))
        if value not in values:
            return False
    return True
