"""Some rows of the node table: what a columnar plugin is asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define

if TYPE_CHECKING:
    from .node_info import NodeInfo
    from .node_table import NodeTable

Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a view of *array* that cannot be written to and follows its changes."""
    view = array.view()
    view.flags.writeable = False
    return view


@define(eq=False)
class Rows:
    """Rows of *table* in a defined order; each has a node.

    ``column[rows.index]`` takes their part of a column: a read-only view when they follow each other without
    a hole (``index`` is a slice with start and stop), a copy otherwise. Copy it to change it. Iterating gives
    node infos, in Python, one by one.
    """

    table: NodeTable
    index: slice | npt.NDArray[np.intp]
    _count: int

    @classmethod
    def at(cls, table: NodeTable, positions: npt.NDArray[np.intp]) -> Rows:
        """The rows at *positions*, an array that is kept and made read-only."""
        positions.flags.writeable = False
        return cls(table, positions, len(positions))

    @classmethod
    def ascending(cls, table: NodeTable, positions: npt.NDArray[np.intp]) -> Rows:
        """The rows at *positions*, ascending, each once and with a node; if that is all of them, views of
        columns do where :meth:`at` takes copies.
        """
        return table.rows() if len(positions) == table.num_nodes else cls.at(table, positions)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[NodeInfo]:
        info = self.table.info
        for row in self.positions.tolist():
            yield info(row)

    @property
    def positions(self) -> npt.NDArray[np.intp]:
        """Row numbers, shape ``(len(self),)``."""
        if isinstance(self.index, slice):
            return np.arange(self.index.start, self.index.stop, dtype=np.intp)
        return self.index

    @property
    def is_all(self) -> bool:
        """Whether these are all rows of the table, none of them a hole."""
        return isinstance(self.index, slice) and self._count == self.table.size

    def row_at(self, position: int) -> int:
        """The row number at *position* among these rows; O(1)."""
        index = self.index
        return index.start + position if isinstance(index, slice) else int(index[position])

    def take(self, column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """These rows' part of a column of shape ``(capacity,)``: a read-only view of it, or a copy."""
        # take: twice as fast as indexing, or more
        return column[self.index] if isinstance(self.index, slice) else column.take(self.index)

    def select(self, chosen: npt.NDArray[Any]) -> Rows:
        """The rows at which *chosen* (a mask over these rows, or positions among them) says so."""
        if isinstance(self.index, slice):
            positions = chosen.nonzero()[0] if chosen.dtype == np.bool_ else chosen
            return Rows.at(self.table, positions + self.index.start if self.index.start else positions)
        return Rows.at(self.table, self.index[chosen])

    def portions(self, most: int) -> Iterator[Rows]:
        """The same rows in the same order, at most so many at a time."""
        if self._count <= most:
            yield self
            return
        index = self.index
        first = index.start if isinstance(index, slice) else 0
        for start in range(first, first + self._count, most):
            part = slice(start, min(start + most, first + self._count))
            count = part.stop - part.start
            yield Rows(self.table, part if isinstance(index, slice) else index[part], count)

    def names(self) -> list[str]:
        """Node names, in order; O(rows)."""
        name_of = self.table.name_of
        return [name_of(row) for row in self.positions.tolist()]


class LazyRows(Rows):
    """Rows whose number is known and whose positions are found out only if somebody asks."""

    __slots__ = ("_find", "_found")

    def __init__(self, table: NodeTable, count: int, find: Callable[[], npt.NDArray[np.intp]]) -> None:
        self._find = find
        self._found: npt.NDArray[np.intp] | None = None
        self.table = table
        self._count = count

    @property
    def index(self) -> npt.NDArray[np.intp]:  # type: ignore[override]  # a slot there, computed here
        """The positions, found at first use."""
        if self._found is None:
            self._found = self._find()
            self._found.flags.writeable = False
        return self._found
