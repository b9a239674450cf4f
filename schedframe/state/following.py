"""Arrays that plugins compute from the rows of the table and keep from one pod to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from .table_store import TableStore

Table = TypeVar("Table", bound=TableStore)

Following = TypeVar("Following", bound="FollowingColumns")

MOST = 32
"""So many are kept; of more, the oldest are dropped."""
_FEW = 16
"""Up to so many touched rows are caught up with one by one, more of them by columns."""
PORTION = 1 << 14
"""All rows are worked out so many at a time: what one pass writes is still in the cache at the next."""


@define(eq=False)
class FollowingColumns(ABC):
    """Arrays of somebody's own in which each row depends on that row of the table alone, kept in step.

    For what many pods ask and is costly to work out anew each time. Catching up costs O(touched rows), and
    nobody pays who does not ask. See :meth:`NodeTable.following`.
    """

    table: TableStore
    version: int = -1
    """Position in the table's log of row changes up to which the arrays are true."""
    _layout: int = -1

    def sync(self) -> None:
        """Catch up with the table."""
        table, log = self.table, self.table.row_log
        if self.version == log.version:
            return
        if self._layout != table.layout:
            self._layout = table.layout
            self.lay_out()
        missed = log.version - self.version if self.version >= 0 else table.size
        few = log.since(self.version) if missed <= _FEW else None
        if few is not None:
            for row in few if missed == 1 else set(few):
                self.fill_row(row)
        else:
            rows = log.positions_since(self.version, table.size) if self.version >= 0 else None
            if rows is not None:
                self.fill(rows)
            else:
                for start in range(0, max(table.size, 1), PORTION):
                    self.fill(slice(start, min(start + PORTION, table.size)))
        self.version = log.version

    @abstractmethod
    def lay_out(self) -> None:
        """Take hold of the table's columns, and make room for ``table.capacity`` rows, keeping what is there.

        Called at first and whenever ``table.layout`` changed.
        """

    @abstractmethod
    def fill(self, index: slice | npt.NDArray[np.intp]) -> None:
        """Work out the rows at *index*, each once; some may have no node.

        A slice is one of those that make up all rows, the first of which begins at 0.
        """

    @abstractmethod
    def fill_row(self, row: int) -> None:
        """The same for one row: called for every pod that comes, so without arrays."""


@define(eq=False)
class KeptColumns(Generic[Table]):
    """The columns that are kept for one table, by a key that names them for good."""

    _table: Table
    _kept: dict[Hashable, FollowingColumns] = field(factory=dict)
    _asked: dict[Hashable, int] = field(factory=dict)
    """Of columns that are not kept yet: about how many rows they could have told something."""

    def get(self, key: Hashable, make: Callable[[Table], Following]) -> Following:
        """The columns of that key, made if need be, and up to date."""
        found: Any = self._kept.get(key)
        if found is None:
            if len(self._kept) >= MOST:
                del self._kept[next(iter(self._kept))]
            found = self._kept[key] = make(self._table)
        found.sync()
        return found  # type: ignore[no-any-return]  # what make gives for that key

    def if_busy(self, key: Hashable, make: Callable[[Table], Following], rows: int) -> Following | None:
        """As :meth:`get` once more rows were asked about than there are, *rows* now; until then ``None``."""
        if key not in self._kept:
            asked = self._asked.pop(key, 0) + rows
            if asked <= self._table.size:
                if len(self._asked) >= MOST:
                    del self._asked[next(iter(self._asked))]
                self._asked[key] = asked
                return None
        return self.get(key, make)
