"""CSINode objects in columns: migrated in-tree plugins, and volume limits by driver."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Handle, NodeTable, ObjectStore
from schedframe.api import CSINode

from ._volumes_in_tree import migrated_plugins

Limits: TypeAlias = npt.NDArray[np.int64]

NO_LIMIT: Final = int(np.iinfo(np.int64).max)
_NOTHING_MIGRATED: Final[frozenset[str]] = frozenset()


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """Return driver → maximum number of its volumes; drivers without a limit are left out."""
    if csi_node is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


@define(eq=False)
class CsiNodes:
    """Columns of shape ``(capacity,)`` over the rows of the table, valid for rows with a node.

    :meth:`sync` applies changes of nodes and CSINodes; O(changed ones).
    """

    table: NodeTable
    _objects: ObjectStore
    present: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(0, np.bool_))
    """Whether the row has a CSINode."""
    migrated: npt.NDArray[np.int32] = field(factory=lambda: np.zeros(0, np.int32))
    """Index into ``plugins``, by row."""
    limit_changes: int = 0
    """How often limits of a row may have changed."""
    plugins: list[frozenset[str]] = field(factory=lambda: [_NOTHING_MIGRATED])
    """Sets of migrated plugins that occur; the first is empty."""
    _limits: dict[str, Limits] = field(factory=dict)
    _limited: dict[int, tuple[str, ...]] = field(factory=dict)
    """Row → drivers with a limit."""
    _versions: tuple[int, int] = (-1, -1)

    @classmethod
    def of(cls, handle: Handle) -> CsiNodes:
        """Return the instance that all plugins over the same objects share."""
        memo, table = handle.objects.memo, handle.table
        csi_nodes: CsiNodes | None = memo.get(cls)
        if csi_nodes is None or csi_nodes.table is not table:
            csi_nodes = memo[cls] = cls(table, handle.objects)
        return csi_nodes

    def limit(self, driver: str) -> Limits | None:
        """Return the limits of *driver* by row, ``NO_LIMIT`` for none; ``None`` if no row has a limit."""
        return self._limits.get(driver)

    def has_limits(self, row: int) -> bool:
        """Return whether the row has a limit for any driver."""
        return row in self._limited

    @property
    def any_limits(self) -> bool:
        """Return whether any node has a limit for any driver."""
        return bool(self._limited)

    def sync(self) -> CsiNodes:
        """Apply the changes since the last call; return self."""
        log, objects = self.table.node_log, self._objects
        versions = log.version, objects.version("CSINode")
        if versions == self._versions:
            return self
        nodes, changes = self._versions
        rows = log.since(nodes) if nodes >= 0 else None
        names = objects.changed_since("CSINode", changes) if changes >= 0 else None
        self._grow()
        if rows is None or names is None:
            touched = set(range(self.table.extent))
        else:
            touched = {*rows, *(row for row in map(self.table.live_row, names) if row is not None)}
        for row in touched:
            self._read(row)
        self._versions = versions
        return self

    def _grow(self) -> None:
        missing = self.table.capacity - len(self.migrated)
        if missing > 0:
            self.present = np.append(self.present, np.zeros(missing, np.bool_))
            self.migrated = np.append(self.migrated, np.zeros(missing, np.int32))
            for driver, limits in self._limits.items():
                self._limits[driver] = np.append(limits, np.full(missing, NO_LIMIT, np.int64))

    def _read(self, row: int) -> None:
        node = self.table.node_at(row)
        csi_node: CSINode | None = None if node is None else self._objects.get("CSINode", node.name)
        self.present[row] = csi_node is not None
        plugins = migrated_plugins(csi_node)
        if plugins not in self.plugins:
            self.plugins.append(plugins)
        self.migrated[row] = self.plugins.index(plugins)
        before, limits = self._limited.pop(row, ()), volume_limits(csi_node)
        if before or limits:
            self.limit_changes += 1
        for driver in before:
            self._limits[driver][row] = NO_LIMIT
        for driver, count in limits.items():
            if driver not in self._limits:
                self._limits[driver] = np.full(len(self.migrated), NO_LIMIT, np.int64)
            self._limits[driver][row] = count
        if limits:
            self._limited[row] = tuple(limits)
