"""Number of volumes of each driver on every node, in columns.

Invariant: after ``sync`` the columns equal a recount of the pods and attachments of every node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Handle, NodeTable, ObjectStore, Status

from .attachments import AttachmentIndex
from .resolver import VolumeResolver, VolumeSet

Counts = npt.NDArray[np.int64]

_CLAIM: Final = "PersistentVolumeClaim"
_VOLUME: Final = "PersistentVolume"
_CLASS: Final = "StorageClass"
_ATTACHMENT: Final = "VolumeAttachment"
_KINDS: Final = (_CLAIM, _VOLUME, _CLASS, _ATTACHMENT)


def counts_by_driver(attached: VolumeSet, attachments: Mapping[str, str]) -> Counter[str]:
    """Count the volumes of pods, and the attachments that belong to no pod's volume."""
    counts = Counter(attached.volumes.values())
    counts.update(driver for name, driver in attachments.items() if name not in attached.volumes)
    return counts


@define(eq=False)
class VolumeCounts:
    """Volumes by driver in columns of shape ``(capacity,)``, and the rows that use a volume.

    The first ``sync`` is O(pods); later ones are O(pods of rows that changed, or whose claims, volumes or
    attachments changed). A change of a storage class costs O(pods) again.
    """

    table: NodeTable
    objects: ObjectStore
    resolver: VolumeResolver = field(init=False)
    attachments: AttachmentIndex = field(init=False)
    problems: dict[int, Status] = field(factory=dict)
    """Rows whose volumes cannot be resolved, with the error."""
    _counts: dict[str, Counts] = field(factory=dict)
    _rows: dict[int, tuple[VolumeSet, tuple[str, ...]]] = field(factory=dict)
    """Row → volumes of its pods, drivers with a count."""
    _rows_of_volume: dict[str, set[int]] = field(factory=dict)
    _rows_of_claim: dict[str, set[int]] = field(factory=dict)
    _row_version: int = -1
    _versions: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.resolver = VolumeResolver(self.objects)
        self.attachments = AttachmentIndex(self.objects)

    @classmethod
    def of(cls, handle: Handle) -> VolumeCounts:
        """Return the instance that all plugins over the same objects share."""
        memo, table = handle.objects.memo, handle.table
        counts: VolumeCounts | None = memo.get(cls)
        if counts is None or counts.table is not table:
            counts = memo[cls] = cls(table, handle.objects)
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
        log = self.table.row_log
        if log.version == self._row_version and self._versions == {
            kind: self.objects.version(kind) for kind in _KINDS
        }:
            return
        rows = log.since(self._row_version) if self._row_version >= 0 else None
        changes = {kind: self._changed(kind) for kind in _KINDS}
        everything = rows is None or any(keys is None for keys in changes.values()) or changes[_CLASS]
        if everything:
            self._rebuild()
        else:
            assert rows is not None
            for row in {*rows, *self._rows_affected(changes)}:
                self._read(row)
        self._row_version = log.version

    def _changed(self, kind: str) -> Sequence[str] | None:
        version, known = self.objects.version(kind), self._versions.get(kind, 0)
        self._versions[kind] = version
        return [] if version == known else self.objects.changed_since(kind, known)

    def _rebuild(self) -> None:
        self.resolver.invalidate_all()
        for key in {*self.attachments.keys(), *(each.key for each in self.objects.list(_ATTACHMENT))}:
            self.attachments.update(key)
        for row in range(self.table.size):
            self._read(row)

    def _rows_affected(self, changes: Mapping[str, Sequence[str] | None]) -> set[int]:
        claims, nodes = set(changes[_CLAIM] or ()), set[str]()
        for key in claims:
            self.resolver.invalidate_claim(key)
        for name in changes[_VOLUME] or ():
            claims |= self.resolver.invalidate_volume(name)
            nodes.update(self.attachments.nodes_of_volume(name))
        for key in changes[_ATTACHMENT] or ():
            nodes |= self.attachments.update(key)
        touched = {row for row in map(self.table.live_row, nodes) if row is not None}
        return touched.union(*(self._rows_of_claim.get(key, ()) for key in claims))

    def _read(self, row: int) -> None:
        self._clear(row)
        node = self.table.node_at(row)
        if node is None:
            return
        attached = self.resolver.volumes_of_pods(self.table.pods_at(row).values())
        counts = counts_by_driver(attached, self.attachments.on_node(node.name))
        if not (attached.claims or counts or attached.problem):
            return
        for volume in attached.volumes:
            self._rows_of_volume.setdefault(volume, set()).add(row)
        for key in attached.claims:
            self._rows_of_claim.setdefault(key, set()).add(row)
        for driver, count in counts.items():
            self._column(driver)[row] = count
        if attached.problem is not None:
            self.problems[row] = attached.problem
        self._rows[row] = (attached, tuple(counts))

    def _clear(self, row: int) -> None:
        before = self._rows.pop(row, None)
        if before is None:
            return
        attached, drivers = before
        for index, keys in ((self._rows_of_volume, attached.volumes), (self._rows_of_claim, attached.claims)):
            for key in keys:
                rows = index[key]
                rows.discard(row)
                if not rows:
                    del index[key]
        for driver in drivers:
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
