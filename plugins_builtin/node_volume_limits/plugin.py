"""The hooks of NodeVolumeLimits: volumes that are new to a node must fit beside those it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Handle,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.api import STORAGE_CLASS_BETA, CSINode

from .._node_selection import Mask
from .._volumes import volumes_of
from .._volumes_csi_nodes import CsiNodes, volume_limits
from .explain import explain_node
from .hints import attachment_deleted, claim_added, csi_node_updated, pod_deleted
from .least_room import Counts
from .resolver import VolumeResolver
from .volume_counts import VolumeCounts, counts_by_driver, numbers_by_driver

ERR_REASON = "node(s) exceed max volume count"
_STATUS = Status.unschedulable(ERR_REASON)
_SKIP = Status.skip()


@define(eq=False)
class NodeVolumeLimits:
    """Apply the limits that CSI drivers publish for each node.

    In-tree disks of AWS, GCE, Azure and OpenStack count as volumes of the drivers that replaced them.
    """

    handle: Handle
    _counts: VolumeCounts = field(init=False)
    _csi_nodes: CsiNodes = field(init=False)

    reads: ClassVar[tuple[str, ...]] = ("PersistentVolume", "StorageClass")
    reads_annotations: ClassVar[tuple[str, ...]] = (STORAGE_CLASS_BETA,)

    def __attrs_post_init__(self) -> None:
        self._counts = VolumeCounts.of(self.handle)
        self._csi_nodes = self._counts.csi_nodes

    @hookimpl
    def skip_reads(self) -> Sequence[str]:
        """Nothing: only the volumes of the pod decide whether the plugin skips."""
        return ()

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        """Skip pods without a volume that could be attached."""
        volumes = volumes_of(pod.spec)
        return None if volumes is not None and (volumes.claiming or volumes.in_tree) else _SKIP

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject a node where a limit would be exceeded; O(volumes of the node's pods)."""
        node = node_info.node
        if not pod.spec.volumes or not node_info.has_node:
            return None
        counts = self._counts
        counts.sync()
        incoming = counts.resolver.volumes_of_incoming(pod)
        csi_node: CSINode | None = self.handle.objects.get("CSINode", node.name)
        if incoming.problem is not None:
            return None if incoming.is_disk_problem and csi_node is None else incoming.problem
        limits = volume_limits(csi_node)
        if not incoming.volumes or not limits:
            return None
        present = counts.resolver.volumes_of_pods(node_info.pods.values())
        if present.problem is not None:
            return present.problem
        new = {name: driver for name, driver in incoming.volumes.items() if name not in present.volumes}
        used = counts_by_driver(present, counts.attachments.on_node(node.name))
        exceeded = any(
            driver in limits and used.get(driver, 0) + n > limits[driver]
            for driver, n in numbers_by_driver(new).items()
        )
        return _STATUS if exceeded else None

    @hookimpl
    def explain(self, pod: Pod, node_info: NodeInfo) -> str | None:
        """Return the drivers whose limits would be exceeded, with counts and limits."""
        if not pod.spec.volumes or not node_info.has_node:
            return None
        self._counts.sync()
        limits = volume_limits(self.handle.objects.get("CSINode", node_info.node.name))
        return explain_node(self._counts, limits, pod, node_info)

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; the cost of :meth:`VolumeCounts.sync`, and O(rows) where some row may lack room.

        O(volumes of the pod) while no node has a limit: then nothing is counted.
        """
        if not pod.spec.volumes:
            return None
        csi_nodes, counts = self._csi_nodes.sync(), self._counts
        if csi_nodes.any_limits:
            counts.sync()
            resolver = counts.resolver
        else:
            resolver = VolumeResolver(counts.objects)  # without a memo that would have to be kept valid
        incoming = resolver.volumes_of_incoming(pod)
        if incoming.problem is not None:
            affected = (
                rows.take(csi_nodes.present) if incoming.is_disk_problem else np.ones(len(rows), np.bool_)
            )
            return RowVerdicts(affected.astype(np.int8), (incoming.problem,))
        if not incoming.volumes or not csi_nodes.any_limits:
            return None
        exceeded = self._rows_exceeded(incoming.volumes, rows.table.size)
        if not counts.problems and (exceeded is None or not np.count_nonzero(exceeded)):
            return None
        codes = np.zeros(len(rows), np.int8) if exceeded is None else rows.take(exceeded).astype(np.int8)
        statuses = [_STATUS, *self._problems(rows, codes)]
        return RowVerdicts(codes, statuses) if np.count_nonzero(codes) else None

    def _rows_exceeded(self, volumes: dict[str, str], size: int) -> Mask | None:
        """Return which of the first *size* rows of the table *volumes* would exceed a limit of.

        ``None`` if none would. O(1) for a driver with room on every row, otherwise O(size), also for each of
        its volumes that is in use already.
        """
        result: Mask | None = None
        counts = self._counts
        for driver, number in numbers_by_driver(volumes).items():
            limit, count = self._csi_nodes.limit(driver), counts.count(driver)
            if limit is None or counts.room.fits(driver, number):
                continue
            room = counts.room.of_rows(driver, limit[:size], None if count is None else count[:size])
            new: int | Counts = number
            present = (counts.rows_with(name) for name, of in volumes.items() if of == driver)
            for rows in filter(None, present):
                if isinstance(new, int):
                    new = np.full(size, number, np.int64)
                new[list(rows)] -= 1
            exceeded = room < new
            if not isinstance(new, int):
                exceeded &= new > 0
            result = exceeded if result is None else result | exceeded
        return result

    def _problems(self, rows: Rows, codes: npt.NDArray[np.int8]) -> list[Status]:
        """Set *codes* of the rows whose volumes cannot be resolved; return their statuses, from code 2 on."""
        statuses: list[Status] = []
        known = {row: p for row, p in self._counts.problems.items() if self._csi_nodes.has_limits(row)}
        for position, row in enumerate(rows.positions.tolist() if known else ()):
            if row in known:
                if known[row] not in statuses:
                    statuses.append(known[row])
                codes[position] = statuses.index(known[row]) + 2
        return statuses

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register changed CSINodes, deleted pods, added claims and deleted attachments."""
        claims = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
        attachments = ClusterEvent(EventResource.VOLUME_ATTACHMENT, Action.DELETE)
        return (
            EventRegistration(ClusterEvent(EventResource.CSI_NODE, Action.ADD)),
            EventRegistration(ClusterEvent(EventResource.CSI_NODE, Action.UPDATE), csi_node_updated),
            EventRegistration(ClusterEvent(EventResource.POD, Action.DELETE), pod_deleted),
            EventRegistration(claims, claim_added),
            EventRegistration(attachments, attachment_deleted),
        )
