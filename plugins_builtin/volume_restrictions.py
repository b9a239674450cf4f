"""VolumeRestrictions: disks that pods on one node cannot share, and claims that only one pod may use."""

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
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import PersistentVolumeClaim, Volume

from ._explaining import did_you_mean, pod_text
from ._rejections import missing
from ._volumes import uses_claim, volumes_of

ERR_REASON_DISK = "node(s) had no available disk"
ERR_REASON_CLAIM = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
_DISK = Status.unschedulable(ERR_REASON_DISK)
_CLAIM = Status.unschedulable(ERR_REASON_CLAIM)
_SKIP = Status.skip()
_READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"


@define(eq=False)
class ClaimsInUse:
    """The ReadWriteOncePod claims of the incoming pod, and the number of uses by other pods."""

    names: frozenset[str]
    uses: int

    def clone(self) -> ClaimsInUse:
        """Return an independent copy for a dry run."""
        return ClaimsInUse(self.names, self.uses)

    def count(self, pod: Pod, sign: int) -> None:
        """Add (*sign* 1) or remove (-1) another pod; as in the reference, its namespace does not matter."""
        volumes = volumes_of(pod.spec) if self.names else None
        if volumes is not None:
            self.uses += sign * sum(name in self.names for name in volumes.named)


_IN_USE: Final = StateKey[ClaimsInUse]("VolumeRestrictions/pre_filter")


@define(eq=False)
class VolumeRestrictions:
    """Reject nodes with a conflicting disk, and all nodes if a claim is in use.

    Pods on one node share an inline GCE, iSCSI or RBD disk only if all mount it read-only, and never an EBS
    disk. A ReadWriteOncePod claim that any pod uses rejects every other pod.
    """

    handle: Handle
    _users: VolumeUsers = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._users = VolumeUsers(self.handle.table)

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """For a pod without volumes, nothing; else anything."""
        return () if volumes_of(pod.spec) is None else None

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Skip unless the pod has such disks or claims in use; reject it if a claim does not exist.

        O(volumes of the pod), and O(pods of the rows that changed since the last such pod).
        """
        volumes = volumes_of(pod.spec)
        if volumes is None:
            return _SKIP
        names = set()
        for name in volumes.named:
            claim: PersistentVolumeClaim | None = self.handle.objects.get(
                "PersistentVolumeClaim", f"{pod.namespace}/{name}"
            )
            if claim is None:
                return missing("PersistentVolumeClaim", name)
            if _READ_WRITE_ONCE_POD in claim.spec.access_modes:
                names.add(name)
        uses = sum(self._users.is_used(f"{pod.namespace}/{name}") for name in names)
        if not uses and not volumes.shared_disks:
            return _SKIP
        state.write(_IN_USE, ClaimsInUse(frozenset(names), uses))
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod_to_add: Pod) -> None:
        """Add the uses of a pod."""
        state.read(_IN_USE).count(pod_to_add, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod_to_remove: Pod) -> None:
        """Remove the uses of a pod."""
        state.read(_IN_USE).count(pod_to_remove, -1)

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Apply disks, then claims; O(volumes of the node's pods) for a pod with such disks."""
        volumes = volumes_of(pod.spec)
        if volumes is not None and volumes.shared_disks and _disks_conflict(pod, node_info.pods.values()):
            return _DISK
        return _CLAIM if state.read(_IN_USE).uses > 0 else None

    @hookimpl
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows), and O(pods of rows with a disk of the same name)."""
        volumes = volumes_of(pod.spec)
        conflicting = (
            self._users.conflicting_rows(pod) if volumes is not None and volumes.shared_disks else []
        )
        in_use = state.read(_IN_USE).uses > 0
        if not conflicting:
            return RowVerdicts(np.ones(len(rows), np.int8), (_CLAIM,)) if in_use else None
        codes = np.full(rows.table.capacity, 2 if in_use else 0, np.int8)
        codes[conflicting] = 1
        return RowVerdicts(rows.take(codes), (_DISK, _CLAIM))

    @hookimpl
    def explain(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> str | None:
        """Return the disk or the claim that is in use, and the pod that uses it."""
        line = _disk_in_use(pod, node_info)
        in_use = state.get(_IN_USE)
        if line is not None or in_use is None or in_use.uses <= 0:
            return line
        return next(
            filter(None, (self._claim_in_use(pod, name, node_info) for name in sorted(in_use.names))), None
        )

    def _claim_in_use(self, pod: Pod, name: str, info: NodeInfo) -> str | None:
        """Return which pod uses the claim of that name; those that only a dry run has are on the node."""
        key = f"{pod.namespace}/{name}"
        here = (other for other in info.pods.values() if name in _claims_of(other))
        user = self._users.user_of(key) or next(here, None)
        return None if user is None else f"claim {key} is used by {pod_text(user)}"

    @hookimpl
    def explain_pod(self, pod: Pod) -> list[str]:
        """Return the claims that do not exist, with claims of the namespace that may be meant."""
        objects, lines = self.handle.objects, []
        for name in _claims_of(pod):
            if objects.get("PersistentVolumeClaim", f"{pod.namespace}/{name}") is None:
                claims = objects.list("PersistentVolumeClaim")
                meant = did_you_mean(name, (each.name for each in claims if each.namespace == pod.namespace))
                lines.append(f"there is no claim {pod.namespace}/{name}{meant}")
        return lines

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register deleted pods, new nodes, and added claims."""
        claims = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
        return (
            EventRegistration(ClusterEvent(EventResource.POD, Action.DELETE), volume_freed),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),
            EventRegistration(claims, claim_added),
        )


def volume_freed(pod: Pod, old: Pod, new: Pod | None) -> bool:
    """Hint: the deleted pod was of the same namespace and used a disk or claim of the pod."""
    own, deleted = volumes_of(pod.spec), volumes_of(old.spec)
    if own is None or deleted is None or pod.namespace != old.namespace:
        return False
    return not set(own.named).isdisjoint(deleted.named) or _disks_conflict(pod, (old,))


def claim_added(pod: Pod, old: None, new: PersistentVolumeClaim) -> bool:
    """Hint: the pod names the claim."""
    return uses_claim(pod, new, ephemeral=False)


# ---- disks -----------------------------------------------------------------------------------------------


def _disks_conflict(pod: Pod, others: Iterable[Pod]) -> bool:
    own = volumes_of(pod.spec)
    if own is None or not own.shared_disks:
        return False
    for other in others:
        volumes = volumes_of(other.spec)
        if volumes is not None and any(
            _conflict(disk, used) for used in volumes.shared_disks for disk in own.shared_disks
        ):
            return True
    return False


def _disk_in_use(pod: Pod, info: NodeInfo) -> str | None:
    """Return which disk of *pod* conflicts with a disk of a pod on the node, ``None`` without conflict."""
    own = volumes_of(pod.spec)
    for disk in own.shared_disks if own is not None else ():
        for other in info.pods.values():
            used = volumes_of(other.spec)
            if used is not None and any(_conflict(disk, each) for each in used.shared_disks):
                return f"{_disk_text(disk)} is used by {pod_text(other)}"
    return None


def _disk_text(disk: Volume) -> str:
    kind, *name = _disk_key(disk)
    return f"{_KINDS_OF_DISKS[kind]} {'/'.join(name)}"


def _claims_of(pod: Pod) -> tuple[str, ...]:
    volumes = volumes_of(pod.spec)
    return () if volumes is None else volumes.named


def _conflict(disk: Volume, used: Volume) -> bool:
    """Return whether both are the same disk and cannot be mounted together."""
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


_KINDS_OF_DISKS: Final = {"gce": "GCE disk", "ebs": "EBS volume", "iscsi": "iSCSI target", "rbd": "RBD image"}


def _disk_key(disk: Volume) -> tuple[str, ...]:
    """Return a key of the disk; disks with different keys never conflict."""
    if disk.gce_persistent_disk is not None:
        return "gce", disk.gce_persistent_disk.pd_name
    if disk.aws_elastic_block_store is not None:
        return "ebs", disk.aws_elastic_block_store.volume_id
    if disk.iscsi is not None:
        return "iscsi", disk.iscsi.iqn
    assert disk.rbd is not None
    return "rbd", disk.rbd.pool, disk.rbd.image


# ---- index of uses ---------------------------------------------------------------------------------------


@define(eq=False)
class VolumeUsers:
    """Index of claims (by key) and disks by the rows whose pods use them.

    The first lookup is O(pods), later ones O(pods of the rows that changed since).
    """

    _table: NodeTable
    _version: int = -1
    _rows_of: dict[Hashable, set[int]] = field(factory=dict)
    _used_at: dict[int, frozenset[Hashable]] = field(factory=dict)

    def is_used(self, claim_key: str) -> bool:
        """Return whether a pod on an existing node names that claim."""
        self._sync()
        alive = self._table.alive
        return any(alive[row] for row in self._rows_of.get(claim_key, ()))

    def user_of(self, claim_key: str) -> Pod | None:
        """Return a pod on an existing node that names that claim; O(pods of its row)."""
        self._sync()
        for row in sorted(self._rows_of.get(claim_key, ())):
            for pod in self._table.pods_at(row).values() if self._table.alive[row] else ():
                if any(f"{pod.namespace}/{name}" == claim_key for name in _claims_of(pod)):
                    return pod
        return None

    def conflicting_rows(self, pod: Pod) -> list[int]:
        """Return the rows with a pod whose disks conflict with those of *pod*."""
        self._sync()
        volumes = volumes_of(pod.spec)
        keys = {_disk_key(disk) for disk in volumes.shared_disks} if volumes is not None else set()
        rows = set().union(*(self._rows_of.get(key, ()) for key in keys))
        return [row for row in rows if _disks_conflict(pod, self._table.pods_at(row).values())]

    def _sync(self) -> None:
        log = self._table.row_log
        if self._version == log.version:
            return
        rows = log.since(self._version) if self._version >= 0 else None
        if rows is None:
            self._rows_of, self._used_at = {}, {}
        for row in range(self._table.extent) if rows is None else set(rows):
            self._reindex(row)
        self._version = log.version

    def _reindex(self, row: int) -> None:
        used = frozenset(_used_by(self._table.pods_at(row).values()))
        before = self._used_at.get(row, frozenset())
        if used == before:
            return
        for key in before - used:
            rows = self._rows_of[key]
            rows.discard(row)
            if not rows:
                del self._rows_of[key]
        for key in used - before:
            self._rows_of.setdefault(key, set()).add(row)
        if used:
            self._used_at[row] = used
        else:
            del self._used_at[row]


def _used_by(pods: Iterable[Pod]) -> Iterator[Hashable]:
    for pod in pods:
        volumes = volumes_of(pod.spec)
        if volumes is not None:
            for name in volumes.named:
                yield f"{pod.namespace}/{name}"
            for disk in volumes.shared_disks:
                yield _disk_key(disk)
