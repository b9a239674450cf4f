"""Number of volumes of each driver on every node, in columns.

Invariant: after ``sync`` the columns equal a recount of the pods and attachments of every node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from attrs import define, field

from schedframe import Handle, InvariantError, Node, NodeTable, ObjectStore, Pod, Status
from schedframe.api import Volume

from .._volumes_csi_nodes import CsiNodes
from .attachments import AttachmentIndex
from .least_room import Counts, LeastRoom
from .resolver import VolumeResolver, VolumeSet

_CLAIM: Final = "PersistentVolumeClaim"
_VOLUME: Final = "PersistentVolume"
_CLASS: Final = "StorageClass"
_ATTACHMENT: Final = "VolumeAttachment"
_KINDS: Final = (_CLAIM, _VOLUME, _CLASS, _ATTACHMENT)
_NO_CHANGES: Final[Mapping[str, Sequence[str] | None]] = dict.fromkeys(_KINDS, ())
_NO_ROWS: Final[frozenset[int]] = frozenset()
_RowsOf: TypeAlias = tuple[int] | set[int]
"""The rows that use a volume: a tuple of one takes a quarter of the memory of a set, and most have one."""


def counts_by_driver(attached: VolumeSet, attachments: Mapping[str, str]) -> dict[str, int]:
    """Count the volumes of pods, and the attachments that belong to no pod's volume."""
    return numbers_by_driver({**attachments, **attached.volumes} if attachments else attached.volumes)


def numbers_by_driver(volumes: Mapping[str, str]) -> dict[str, int]:
    """Return driver → number of its *volumes*, which are unique name → driver."""
    # A Counter takes twice as long for the few volumes of a pod.
    numbers: dict[str, int] = {}
    for driver in volumes.values():
        numbers[driver] = numbers.get(driver, 0) + 1
    return numbers


@define(eq=False)
class _RowVolumes:
    """Volumes that are counted for a row, and the pods that use them."""

    pods: list[tuple[str, Sequence[Volume]]] = field(factory=list)
    """uid and volumes of each pod, in the order of the table."""
    attached: VolumeSet = field(factory=VolumeSet)
    counts: dict[str, int] = field(factory=dict)
    """By driver, those of attachments included."""


@define(eq=False)
class VolumeCounts:
    """Volumes by driver in columns of shape ``(capacity,)``, and the rows that use a volume.

    The first ``sync`` is O(pods). Later ones resolve the volumes of pods that are new on a row, and of all
    pods of rows that lost one, or whose claims, volumes or attachments changed. A change of a storage class
    costs O(pods) again.
    """

    table: NodeTable
    objects: ObjectStore
    csi_nodes: CsiNodes
    resolver: VolumeResolver = field(init=False)
    attachments: AttachmentIndex = field(init=False)
    room: LeastRoom = field(init=False)
    problems: dict[int, Status] = field(factory=dict)
    """Rows whose volumes cannot be resolved, with the error."""
    _counts: dict[str, Counts] = field(factory=dict)
    _rows: dict[int, _RowVolumes] = field(factory=dict)
    """By row; rows without volumes are left out."""
    _rows_of_volume: dict[str, _RowsOf] = field(factory=dict)
    _rows_of_claim: dict[str, _RowsOf] = field(factory=dict)
    _row_version: int = -1
    _object_changes: int = -1
    _versions: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.resolver = VolumeResolver(self.objects)
        self.attachments = AttachmentIndex(self.objects)
        self.room = LeastRoom(self.csi_nodes)

    @classmethod
    def of(cls, handle: Handle) -> VolumeCounts:
        """Return the instance that all plugins over the same objects share."""
        memo, table = handle.objects.memo, handle.table
        counts: VolumeCounts | None = memo.get(cls)
        if counts is None or counts.table is not table:
            counts = memo[cls] = cls(table, handle.objects, CsiNodes.of(handle))
        return counts

    def count(self, driver: str) -> Counts | None:
        """Return the number of volumes of *driver* per row; ``None`` if there never were any."""
        return self._column(driver) if driver in self._counts else None

    def rows_with(self, volume: str) -> Collection[int]:
        """Return the rows whose pods use the volume of that unique name."""
        return self._rows_of_volume.get(volume, ())

    # ---- synchronisation --------------------------------------------------------------------------------

    def sync(self) -> None:
        """Apply the changes since the last call."""
        log, objects = self.table.row_log, self.objects
        changed = objects.changes != self._object_changes
        if log.version == self._row_version and not changed:
            return
        self.csi_nodes.sync()
        rows = log.since(self._row_version) if self._row_version >= 0 else None
        changes = {kind: self._changed(kind) for kind in _KINDS} if changed else _NO_CHANGES
        if rows is None or None in changes.values() or changes[_CLASS]:
            self._rebuild()
        else:
            affected = self._rows_affected(changes) if changed else _NO_ROWS
            for row in affected:
                self._read(row)
            for row in rows if len(rows) == 1 else set(rows):
                if row not in affected:
                    self._follow(row)
        self._row_version, self._object_changes = log.version, objects.changes

    def _changed(self, kind: str) -> Sequence[str] | None:
        version, known = self.objects.version(kind), self._versions.get(kind, 0)
        self._versions[kind] = version
        return [] if version == known else self.objects.changed_since(kind, known)

    def _rebuild(self) -> None:
        self.resolver.invalidate_all()
        for key in {*self.attachments.keys(), *(each.key for each in self.objects.list(_ATTACHMENT))}:
            self.attachments.update(key)
        for row in range(self.table.extent):
            self._read(row)

    def _rows_affected(self, changes: Mapping[str, Sequence[str] | None]) -> set[int]:
        claims = set(changes[_CLAIM] or ())
        nodes: set[str] = set()
        for key in claims:
            self.resolver.invalidate_claim(key)
        for name in changes[_VOLUME] or ():
            claims |= self.resolver.invalidate_volume(name)
            nodes.update(self.attachments.nodes_of_volume(name))
        for key in changes[_ATTACHMENT] or ():
            nodes |= self.attachments.update(key)
        touched = {row for row in map(self.table.live_row, nodes) if row is not None}
        return touched.union(*(self._rows_of_claim.get(key, ()) for key in claims))

    def _follow(self, row: int) -> None:
        """Count the pods that are new on *row*; count all of its pods again if others changed."""
        counted, node = self._rows.get(row), self.table.node_at(row)
        if counted is None or node is None or counted.attached.problem is not None:
            self._read(row)
            return
        pods = self.table.pods_at(row)
        now, before = _identities(pods), len(counted.pods)
        if now[:before] != counted.pods:
            self._read(row)
            return
        self._count(row, node, counted, [pods[uid] for uid, _ in now[before:]])
        counted.pods = now

    def _read(self, row: int) -> None:
        """Count all pods of *row* again."""
        self._clear(row)
        node = self.table.node_at(row)
        if node is None:
            return
        counted, pods = _RowVolumes(), self.table.pods_at(row)
        self._count(row, node, counted, pods.values())
        if counted.attached.claims or counted.counts or counted.attached.problem:
            counted.pods = _identities(pods)
            self._rows[row] = counted

    def _count(self, row: int, node: Node, counted: _RowVolumes, pods: Iterable[Pod]) -> None:
        """Add *pods*, which are new on *row*, to what is *counted* for it; O(volumes of the row)."""
        attached, more = counted.attached, self.resolver.volumes_of_pods(pods)
        for index, keys in ((self._rows_of_volume, more.volumes), (self._rows_of_claim, more.claims)):
            for key in keys:
                rows = index.get(key)
                if rows is None:
                    index[key] = (row,)
                elif type(rows) is set:
                    rows.add(row)
                elif row not in rows:
                    index[key] = {*rows, row}
        attached.volumes.update(more.volumes)
        attached.claims |= more.claims
        if more.problem is not None:
            attached.problem = self.problems[row] = more.problem
        counts = counts_by_driver(attached, self.attachments.on_node(node.name))
        for driver in counted.counts.keys() - counts.keys():
            self._column(driver)[row] = 0
        for driver, count in counts.items():
            self._column(driver)[row] = count
            self.room.lower(driver, row, count)
        counted.counts = counts

    def _clear(self, row: int) -> None:
        counted = self._rows.pop(row, None)
        if counted is None:
            return
        attached = counted.attached
        for index, keys in ((self._rows_of_volume, attached.volumes), (self._rows_of_claim, attached.claims)):
            for key in keys:
                rows = index[key]
                if type(rows) is set:
                    rows.discard(row)
                if not rows or type(rows) is tuple:
                    del index[key]
        for driver in counted.counts:
            self._column(driver)[row] = 0
        self.problems.pop(row, None)

    def _column(self, driver: str) -> Counts:
        column = self._counts.get(driver)
        if column is None or len(column) < self.table.capacity:
            longer = np.zeros(self.table.capacity, np.int64)
            if column is not None:
                longer[: len(column)] = column
            column = self._counts[driver] = longer
        return column

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless all equals a recount, after :meth:`sync`; O(pods)."""
        fresh = VolumeCounts(self.table, self.objects, self.csi_nodes)
        fresh.sync()
        for driver in {*self._counts, *fresh._counts}:
            if not np.array_equal(self._column(driver), fresh._column(driver)):
                raise InvariantError(f"the volumes of {driver} are counted wrongly")
            self.room.check_invariants(driver, self._column(driver))
        mine, right = (
            [
                {key: set(rows) for key, rows in index.items()}
                for index in (counts._rows_of_claim, counts._rows_of_volume)
            ]
            for counts in (self, fresh)
        )
        if self.problems != fresh.problems or mine != right:
            raise InvariantError("problems, rows of claims or rows of volumes are out of date")


def _identities(pods: Mapping[str, Pod]) -> list[tuple[str, Sequence[Volume]]]:
    """Return what the volumes of *pods* follow from beside the objects of the cluster."""
    return [(uid, pod.spec.volumes) for uid, pod in pods.items()]
