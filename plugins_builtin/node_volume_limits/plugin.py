"""The plugin: volumes that are new to a node must find places beside those that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
from schedframe.api import CSINode

from .._node_selection import Mask
from .._volumes import volumes_of
from .._volumes_csi_nodes import CsiNodes, volume_limits
from .attached import AttachedVolumes, Counts, counts_by_driver
from .hints import attachment_deleted, claim_added, csi_node_updated, pod_deleted

ERR_REASON = "node(s) exceed max volume count"
_STATUS = Status.unschedulable(ERR_REASON)
_SKIP = Status.skip()


@define(eq=False)
class NodeVolumeLimits:
    """CSI drivers tell by node how many of their volumes it can have; disks of AWS, GCE, Azure and OpenStack
    count as volumes of the drivers that took over.
    """

    handle: Handle
    _attached: AttachedVolumes = field(init=False)
    _csi_nodes: CsiNodes = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._attached = AttachedVolumes.of(self.handle)
        self._csi_nodes = CsiNodes.of(self.handle)

    @hookimpl
    def skip_reads(self) -> Sequence[str]:
        """The volumes of the pod alone decide."""
        return ()

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        """Skip pods without a volume that could be attached."""
        found = volumes_of(pod.spec)
        return None if found is not None and (found.claiming or found.in_tree) else _SKIP

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Are there places left? O(volumes of the node's pods)."""
        node = node_info.node
        if node is None or not pod.spec.volumes:
            return None
        attached = self._attached
        attached.sync()
        wanted = attached.counting.wanted(pod)
        csi_node: CSINode | None = self.handle.objects.get("CSINode", node.name)
        if wanted.problem is not None:
            return None if wanted.is_disk_problem and csi_node is None else wanted.problem
        limits = volume_limits(csi_node)
        if not wanted.volumes or not limits:
            return None
        present = attached.counting.attached(node_info.pods.values())
        if present.problem is not None:
            return present.problem
        new = Counter(driver for name, driver in wanted.volumes.items() if name not in present.volumes)
        counts = counts_by_driver(present, attached.attachments.on_node(node.name))
        over = any(driver in limits and counts[driver] + n > limits[driver] for driver, n in new.items())
        return _STATUS if over else None

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`. O(rows) for each driver, and what it takes to keep the counts up to date."""
        if not pod.spec.volumes:
            return None
        csi_nodes, attached = self._csi_nodes.sync(), self._attached
        attached.sync()
        wanted = attached.counting.wanted(pod)
        if wanted.problem is not None:
            concerned = (
                rows.take(csi_nodes.present) if wanted.is_disk_problem else np.ones(len(rows), np.bool_)
            )
            return RowVerdicts(concerned.astype(np.int8), (wanted.problem,))
        if not wanted.volumes or not csi_nodes.any_limits:
            return None
        over, problems = self._over(wanted.volumes, rows.table.size), self._attached.problems
        if not problems and (over is None or not over.any()):
            return None
        codes = np.zeros(len(rows), np.int8) if over is None else rows.take(over).astype(np.int8)
        statuses = [_STATUS, *self._problems(rows, codes)]
        return RowVerdicts(codes, statuses) if codes.any() else None

    def _over(self, wanted: dict[str, str], size: int) -> Mask | None:
        """Rows with too few places, of the first *size* of the table; ``None`` if nobody has a limit.

        O(size) for each driver, and for each volume that is somewhere already.
        """
        over: Mask | None = None
        for driver, number in Counter(wanted.values()).items():
            limit, count = self._csi_nodes.limit(driver), self._attached.count(driver)
            if limit is None:
                continue
            new: int | Counts = number
            present = (self._attached.rows_with(name) for name, of in wanted.items() if of == driver)
            for rows in filter(None, present):
                if isinstance(new, int):
                    new = np.full(size, number, np.int64)
                new[list(rows)] -= 1
            full = (new if count is None else count[:size] + new) > limit[:size]
            if not isinstance(new, int):
                full &= new > 0
            over = full if over is None else over | full
        return over

    def _problems(self, rows: Rows, codes: npt.NDArray[np.int8]) -> list[Status]:
        """Number in *codes* the rows of which it cannot be told what they have; the statuses, from 2 on."""
        statuses: list[Status] = []
        known = {row: p for row, p in self._attached.problems.items() if self._csi_nodes.has_limits(row)}
        for position, row in enumerate(rows.positions.tolist() if known else ()):
            if row in known:
                if known[row] not in statuses:
                    statuses.append(known[row])
                codes[position] = statuses.index(known[row]) + 2
        return statuses

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """CSINodes, pods that leave, the claim if it was missing, volumes that are detached."""
        claims = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
        attachments = ClusterEvent(EventResource.VOLUME_ATTACHMENT, Action.DELETE)
        return (
            EventRegistration(ClusterEvent(EventResource.CSI_NODE, Action.ADD)),
            EventRegistration(ClusterEvent(EventResource.CSI_NODE, Action.UPDATE), csi_node_updated),
            EventRegistration(ClusterEvent(EventResource.POD, Action.DELETE), pod_deleted),
            EventRegistration(claims, claim_added),
            EventRegistration(attachments, attachment_deleted),
        )
