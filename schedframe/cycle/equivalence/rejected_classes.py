"""RejectedClasses: classes for which no row is feasible, and the changed rows that may be by now.

A pod of such a class need not be tried before a row changes so that it passes. A changed row is evaluated for
all classes in one batch, as in the score matrix.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ...state import NodeTable
from .evaluate.batch import BatchEvaluator
from .evaluate.query import Query
from .node_columns import NodeColumns
from .status_codes import EvaluationFailed


@define(eq=False)
class _Group:
    """Owners whose classes share their node columns."""

    node_columns: NodeColumns
    owners: list[Any] = field(factory=list)
    queries: list[Query] = field(factory=list)
    passing: dict[int, npt.NDArray[np.intp]] = field(factory=dict)
    """Row → the places of the owners for which it passes; only rows with any."""
    batch: BatchEvaluator | None = None
    layout: int = -1

    def evaluate(self, row: int) -> None:
        """Note for whom *row* passes. Raises :class:`EvaluationFailed`."""
        self.passing.pop(row, None)
        if self.node_columns.codes[row]:
            return
        table = self.node_columns.table
        if self.batch is None or self.layout != table.layout:
            self.batch, self.layout = BatchEvaluator(self.queries), table.layout
        places = (self.batch.evaluate(row) >= 0).nonzero()[0]
        if len(places):
            self.passing[row] = places


@define(eq=False)
class RejectedClasses:
    """Owners of classes that no row suits, but for those that changed since they were added.

    To be emptied as soon as anything but rows changes. O(owners) for a changed row, in one batch.
    """

    table: NodeTable
    most_rows: int
    """Changed rows that are evaluated; with more, all owners are dropped."""
    owners: set[Any] = field(factory=set)
    """Read-only."""
    hopeful: set[Any] = field(factory=set)
    """Those for which some row passes; read-only."""
    _groups: dict[NodeColumns, _Group] = field(factory=dict)
    _version: int = -1

    def clear(self) -> None:
        """Drop all owners."""
        self.owners.clear()
        self.hopeful.clear()
        self._groups.clear()

    def add(self, owner: Any, columns: NodeColumns, query: Query) -> None:
        """Add the owner of a class for which no row is feasible now. O(owners) at the next changed row."""
        self.sync()
        group = self._groups.get(columns)
        if group is None:
            group = self._groups[columns] = _Group(columns)
        group.owners.append(owner)
        group.queries.append(query)
        group.batch = None
        self.owners.add(owner)

    def sync(self) -> Collection[int]:
        """Catch up with the table; return the rows that changed."""
        log = self.table.row_log
        since, self._version = self._version, log.version
        if since == log.version or not self.owners:
            return ()
        changed = log.since(since)
        if changed is None or len(rows := set(changed)) > self.most_rows:
            self.clear()
            return ()
        try:
            for group in self._groups.values():
                for row in rows:
                    group.evaluate(row)
        except EvaluationFailed:
            self.clear()
            return ()
        self.hopeful = {
            group.owners[place]
            for group in self._groups.values()
            for places in group.passing.values()
            for place in places.tolist()
        } & self.owners
        return rows
