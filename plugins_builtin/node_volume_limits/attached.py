"""How many volumes of each driver every node has, kept in step with pods, claims and volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Handle, NodeTable, ObjectStore, Status

from .attachments import Attachments
from .counting import Attached, Counting

Counts = npt.NDArray[np.int64]

_CLAIM: Final = "PersistentVolumeClaim"
_VOLUME: Final = "PersistentVolume"
_CLASS: Final = "StorageClass"
_ATTACHMENT: Final = "VolumeAttachment"
_KINDS: Final = (_CLAIM, _VOLUME, _CLASS, _ATTACHMENT)


def counts_by_driver(attached: Attached, attachments: Mapping[str, str]) -> Counter[str]:
    """Volumes of pods, and attachments that no pod accounts for."""
    counts = Counter(attached.volumes.values())
    counts.update(driver for name, driver in attachments.items() if name not in attached.volumes)
    return counts


@define(eq=False)
class AttachedVolumes:
    """Counts by driver in columns of shape ``(capacity,)``, and which rows have a volume.

    Made when first asked for, O(pods); from then on ``sync`` is O(pods of the rows that changed, or whose
    claims, volumes or attachments did). A changed storage class costs O(pods) again.
    """

    table: NodeTable
    objects: ObjectStore
    counting: Counting = field(init=False)
    attachments: Attachments = field(init=False)
    problems: dict[int, Status] = field(factory=dict)
    """Rows of which it cannot be told what is attached."""
    _counts: dict[str, Counts] = field(factory=dict)
    _rows: dict[int, tuple[Attached, tuple[str, ...]]] = field(factory=dict)
    """Row → what its pods have, drivers with a count."""
    _rows_of_volume: dict[str, set[int]] = field(factory=dict)
    _rows_of_claim: dict[str, set[int]] = field(factory=dict)
    _row_version: int = -1
    _versions: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.counting = Counting(self.objects)
        self.attachments = Attachments(self.objects)

    @classmethod
    def of(cls, handle: Handle) -> AttachedVolumes:
        """The one that all plugins over the same objects share."""
        memo, table = handle.objects.memo, handle.table
        found: AttachedVolumes | None = memo.get(cls)
        if found is None or found.table is not table:
            found = memo[cls] = cls(table, handle.objects)
        return found

    def count(self, driver: str) -> Counts | None:
        """Volumes of *driver* by row; ``None`` if there never were any."""
        return self._column(driver) if driver in self._counts else None

    def rows_with(self, volume: str) -> Collection[int]:
        """Rows whose pods use that volume (by its unique name)."""
        return self._rows_of_volume.get(volume, ())

    # ---- keeping up --------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Catch up."""
        log = self.table.row_log
        if log.version == self._row_version and self._versions == {
            kind: self.objects.version(kind) for kind in _KINDS
        }:
            return
        rows = log.since(self._row_version) if self._row_version >= 0 else None
        changes = {kind: self._changed(kind) for kind in _KINDS}
        everything = rows is None or any(keys is None for keys in changes.values()) or changes[_CLASS]
        if everything:
            self._start_anew()
        else:
            assert rows is not None
            for row in {*rows, *self._rows_touched(changes)}:
                self._read(row)
        self._row_version = log.version

    def _changed(self, kind: str) -> Sequence[str] | None:
        version, known = self.objects.version(kind), self._versions.get(kind, 0)
        self._versions[kind] = version
        return [] if version == known else self.objects.changed_since(kind, known)

    def _start_anew(self) -> None:
        self.counting.forget_all()
        for key in {*self.attachments.keys(), *(each.key for each in self.objects.list(_ATTACHMENT))}:
            self.attachments.refile(key)
        for row in range(self.table.size):
            self._read(row)

    def _rows_touched(self, changes: Mapping[str, Sequence[str] | None]) -> set[int]:
        claims, nodes = set(changes[_CLAIM] or ()), set[str]()
        for key in claims:
            self.counting.forget_claim(key)
        for name in changes[_VOLUME] or ():
            claims |= self.counting.forget_volume(name)
            nodes.update(self.attachments.nodes_of_volume(name))
        for key in changes[_ATTACHMENT] or ():
            nodes |= self.attachments.refile(key)
        touched = {row for row in map(self.table.live_row, nodes) if row is not None}
        return touched.union(*(self._rows_of_claim.get(key, ()) for key in claims))

    def _read(self, row: int) -> None:
        self._clear(row)
        node = self.table.node_at(row)
        if node is None:
            return
        attached = self.counting.attached(self.table.pods_at(row).values())
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
