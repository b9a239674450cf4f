"""Disks that pods on one node may not share, and claims that only one pod in the cluster may use."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    NodeInfo,
    NodeTable,
    PersistentVolumeClaim,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import Volume

from ._volumes import no_such, uses_claim, volumes_of

ERR_REASON_DISK = "node(s) had no available disk"
ERR_REASON_CLAIM = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
_DISK = Status.unschedulable(ERR_REASON_DISK)
_CLAIM = Status.unschedulable(ERR_REASON_CLAIM)
_SKIP = Status.skip()
_ONE_POD_ONLY: Final = "ReadWriteOncePod"


@define(eq=False)
class ClaimsInUse:
    """The pod's claims for one pod only, and how many uses by other pods stand in its way."""

    names: frozenset[str]
    uses: int

    def clone(self) -> ClaimsInUse:
        """For a dry run."""
        return ClaimsInUse(self.names, self.uses)

    def count(self, pod: Pod, sign: int) -> None:
        """Another pod comes (1) or goes (-1). As in the reference, its namespace plays no role."""
        found = volumes_of(pod.spec) if self.names else None
        if found is not None:
            self.uses += sign * sum(name in self.names for name in found.named)


_IN_USE: Final = StateKey[ClaimsInUse]("VolumeRestrictions/pre_filter")


@define(eq=False)
class VolumeRestrictions:
    """Disks of GCE, EBS, iSCSI and RBD used directly are not shared on a node, unless all read only (EBS:
    never); a claim with access mode ReadWriteOncePod keeps out every other pod, wherever it is used.
    """

    handle: Handle
    _users: VolumeUsers = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._users = VolumeUsers(self.handle.table)

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """A pod without volumes is none of ours."""
        return () if volumes_of(pod.spec) is None else None

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Skip unless the pod has such disks, or claims that are taken; a claim must exist to tell.

        O(volumes of the pod), and O(pods of the rows touched since the last such pod).
        """
        found = volumes_of(pod.spec)
        if found is None:
            return _SKIP
        names = set()
        for name in found.named:
            claim: PersistentVolumeClaim | None = self.handle.objects.get(
                "PersistentVolumeClaim", f"{pod.namespace}/{name}"
            )
            if claim is None:
                return Status.unresolvable(no_such("PersistentVolumeClaim", name))
            if _ONE_POD_ONLY in claim.spec.access_modes:
                names.add(name)
        uses = sum(self._users.is_used(f"{pod.namespace}/{name}") for name in names)
        if not uses and not found.shared_disks:
            return _SKIP
        state.write(_IN_USE, ClaimsInUse(frozenset(names), uses))
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod_to_add: Pod) -> None:
        """Count one user more."""
        state.read(_IN_USE).count(pod_to_add, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod_to_remove: Pod) -> None:
        """Count one user less."""
        state.read(_IN_USE).count(pod_to_remove, -1)

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Disks first, then claims. O(volumes of the node's pods) for a pod with such disks."""
        found = volumes_of(pod.spec)
        if found is not None and found.shared_disks and _disks_conflict(pod, node_info.pods.values()):
            return _DISK
        return _CLAIM if state.read(_IN_USE).uses > 0 else None

    @hookimpl
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; only rows with a disk of the same name are looked at one by one."""
        found = volumes_of(pod.spec)
        taken = self._users.rows_in_conflict(pod) if found is not None and found.shared_disks else []
        claimed = state.read(_IN_USE).uses > 0
        if not taken:
            return RowVerdicts(np.ones(len(rows), np.int8), (_CLAIM,)) if claimed else None
        codes = np.full(rows.table.capacity, 2 if claimed else 0, np.int8)
        codes[taken] = 1
        return RowVerdicts(rows.take(codes), (_DISK, _CLAIM))

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Pods that give a volume free; new nodes; the claim, if it was missing."""
        claims = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
        return (
            EventRegistration(ClusterEvent(EventResource.POD, Action.DELETE), volume_freed),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),
            EventRegistration(claims, claim_added),
        )


def volume_freed(pod: Pod, old: Pod, new: Pod | None) -> bool:
    """Hint: the pod that left was of the same namespace and used one of the disks or claims."""
    mine, theirs = volumes_of(pod.spec), volumes_of(old.spec)
    if mine is None or theirs is None or pod.namespace != old.namespace:
        return False
    return not set(mine.named).isdisjoint(theirs.named) or _disks_conflict(pod, (old,))


def claim_added(pod: Pod, old: None, new: PersistentVolumeClaim) -> bool:
    """Hint: it is a claim that the pod names."""
    return uses_claim(pod, new, ephemeral=False)


# ---- disks -----------------------------------------------------------------------------------------------


def _disks_conflict(pod: Pod, others: Iterable[Pod]) -> bool:
    mine = volumes_of(pod.spec)
    if mine is None or not mine.shared_disks:
        return False
    for other in others:
        theirs = volumes_of(other.spec)
        if theirs is not None and any(
            _conflict(disk, used) for used in theirs.shared_disks for disk in mine.shared_disks
        ):
            return True
    return False


def _conflict(disk: Volume, used: Volume) -> bool:
    """Whether both are the same disk, and one of them is there to be written to."""
    gce, other_gce = disk.gce_persistent_disk, used.gce_persistent_disk
    if gce is not None and other_gce is not None:
        return gce.pd_name == other_gce.pd_name and not (gce.read_only and other_gce.read_only)
    ebs, other_ebs = disk.aws_elastic_block_store, used.aws_elastic_block_store
    if ebs is not None and other_ebs is not None:
        return ebs.volume_id == other_ebs.volume_id
    iscsi, other_iscsi = disk.iscsi, used.iscsi
    if iscsi is not None and other_iscsi is not None:
        return iscsi.iqn == other_iscsi.iqn and not (iscsi.read_only and other_iscsi.read_only)
    rbd, other_rbd = disk.rbd, used.rbd
    if rbd is not None and other_rbd is not None:
        same = (rbd.pool, rbd.image) == (other_rbd.pool, other_rbd.image)
        overlap = same and not set(rbd.monitors).isdisjoint(other_rbd.monitors)
        return overlap and not (rbd.read_only and other_rbd.read_only)
    return False


def _disk_name(disk: Volume) -> Hashable:
    """Disks with different names never conflict."""
    if disk.gce_persistent_disk is not None:
        return "gce", disk.gce_persistent_disk.pd_name
    if disk.aws_elastic_block_store is not None:
        return "ebs", disk.aws_elastic_block_store.volume_id
    if disk.iscsi is not None:
        return "iscsi", disk.iscsi.iqn
    assert disk.rbd is not None
    return "rbd", disk.rbd.pool, disk.rbd.image


# ---- who uses what ---------------------------------------------------------------------------------------


@define(eq=False)
class VolumeUsers:
    """Claims (by key) and disks (by name) with the rows whose pods use them.

    Found out when first asked for, O(pods); then O(pods of the rows touched since).
    """

    _table: NodeTable
    _version: int = -1
    _rows_of: dict[Hashable, set[int]] = field(factory=dict)
    _used_at: dict[int, frozenset[Hashable]] = field(factory=dict)

    def is_used(self, claim_key: str) -> bool:
        """Whether some pod on a known node names that claim."""
        self._sync()
        alive = self._table.alive
        return any(alive[row] for row in self._rows_of.get(claim_key, ()))

    def rows_in_conflict(self, pod: Pod) -> list[int]:
        """Rows with a pod whose disks *pod* cannot share."""
        self._sync()
        found = volumes_of(pod.spec)
        names = {_disk_name(disk) for disk in found.shared_disks} if found is not None else set()
        rows = set().union(*(self._rows_of.get(name, ()) for name in names))
        return [row for row in rows if _disks_conflict(pod, self._table.pods_at(row).values())]

    def _sync(self) -> None:
        log = self._table.row_log
        if self._version == log.version:
            return
        rows = log.since(self._version) if self._version >= 0 else None
        if rows is None:
            self._rows_of, self._used_at = {}, {}
        for row in range(self._table.size) if rows is None else set(rows):
            self._file(row)
        self._version = log.version

    def _file(self, row: int) -> None:
        used = frozenset(_used_by(self._table.pods_at(row).values()))
        before = self._used_at.get(row, frozenset())
        if used == before:
            return
        for gone in before - used:
            rows = self._rows_of[gone]
            rows.discard(row)
            if not rows:
                del self._rows_of[gone]
        for new in used - before:
            self._rows_of.setdefault(new, set()).add(row)
        if used:
            self._used_at[row] = used
        else:
            del self._used_at[row]


def _used_by(pods: Iterable[Pod]) -> Iterator[Hashable]:
    for pod in pods:
        found = volumes_of(pod.spec)
        if found is not None:
            for name in found.named:
                yield f"{pod.namespace}/{name}"
            for disk in found.shared_disks:
                yield _disk_name(disk)
