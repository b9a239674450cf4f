"""DerivedArrays: arrays that plugins compute from the rows of the table and keep from one pod to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from . import policy
from .table_store import TableStore

Derived = TypeVar("Derived", bound="DerivedArrays")
Table = TypeVar("Table", bound=TableStore)


@record(eq=False)
class DerivedArrays(ABC):
    """Arrays in which each row depends on that row of the table alone, maintained from the change log.

    For numbers that many pods need and that are costly to compute each time. ``sync`` costs O(dirty rows),
    and nothing is done for arrays that are not read. See :meth:`NodeTable.derived_arrays`.
    """

    table: TableStore
    version: int = -1
    """Row log position up to which the arrays are right."""
    _layout: int = -1

    def sync(self) -> None:
        """Catch up with the table."""
        table, log = self.table, self.table.row_log
        if self.version == log.version:
            return
        if self._layout != table.layout:
            self._layout = table.layout
            self.rebind()
        missed = log.version - self.version if self.version >= 0 else table.extent
        few = log.since(self.version) if missed <= policy.ROWWISE_ROWS else None
        if few is not None:
            for row in few if missed == 1 else set(few):
                self.compute_row(row)
        else:
            rows = log.positions_since(self.version, table.size) if self.version >= 0 else None
            if rows is not None:
                self.compute(rows)
            else:
                for start in range(0, max(table.extent, 1), policy.PORTION):
                    self.compute(slice(start, min(start + policy.PORTION, table.extent)))
        self.version = log.version

    @abstractmethod
    def rebind(self) -> None:
        """Take the table's columns, and make room for ``table.capacity`` rows, keeping what is there.

        Called at first and whenever ``table.layout`` changed.
        """

    @abstractmethod
    def compute(self, index: slice | npt.NDArray[np.intp]) -> None:
        """Compute the rows at *index*, each once; some may have no node.

        A slice is one of those that make up all rows, the first of which begins at 0.
        """

    @abstractmethod
    def compute_row(self, row: int) -> None:
        """Compute one row: called for every pod that is placed, so without arrays."""


@record(eq=False)
class DerivedArrayCache(Generic[Table]):
    """The derived arrays of one table, by a key that always means the same."""

    _table: Table
    _kept: dict[Hashable, DerivedArrays] = field(factory=dict)
    _requested_rows: dict[Hashable, int] = field(factory=dict)
    """Of arrays that are not kept yet: the number of rows for which they were wanted."""

    def get(self, key: Hashable, make: Callable[[Table], Derived]) -> Derived:
        """Return the arrays of that key, made if need be, and up to date."""
        found: Any = self._kept.get(key)
        if found is None:
            if len(self._kept) >= policy.KEPT_COLUMNS:
                del self._kept[next(iter(self._kept))]
            found = self._kept[key] = make(self._table)
        found.sync()
        return found  # type: ignore[no-any-return]  # what make gives for that key

    def if_busy(self, key: Hashable, make: Callable[[Table], Derived], rows: int) -> Derived | None:
        """As :meth:`get` once they were wanted for more rows than the table has, *rows* now."""
        if key not in self._kept:
            requested = self._requested_rows.pop(key, 0) + rows
            if requested <= self._table.size:
                if len(self._requested_rows) >= policy.KEPT_COLUMNS:
                    del self._requested_rows[next(iter(self._requested_rows))]
                self._requested_rows[key] = requested
                return None
        return self.get(key, make)
