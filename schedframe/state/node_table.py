"""The cluster in columns: one row per node, one array per quantity, changed in place by each pod and node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
from attrs import field
from typing_extensions import override

from .._base.brief import brief_of
from .._base.value import record
from ..api import Node, Pod
from . import policy
from .columns import DerivedColumn, DictionaryColumn
from .derived_arrays import Derived, DerivedArrayCache
from .invariants import check_store, same
from .label_groups import LabelGroups
from .node_info import NodeInfo
from .read_only import read_only
from .table_store import TableStore

Scalar = TypeVar("Scalar", bound=np.generic)


@record(eq=False)
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
        """Return the rows at *positions*, an array that is kept and made read-only."""
        positions.flags.writeable = False
        return cls(table, positions, len(positions))

    @classmethod
    def ascending(cls, table: NodeTable, positions: npt.NDArray[np.intp]) -> Rows:
        """Return the rows at *positions*, ascending, each once and with a node.

        If these are all rows, :meth:`take` returns views of columns instead of copies.
        """
        return table.rows() if len(positions) == table.num_nodes else cls.at(table, positions)

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return brief_of(self, len=self._count, table=self.table)

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
        """Return whether these are all rows of the table, none of them a hole."""
        return isinstance(self.index, slice) and self._count == self.table.size

    def row_at(self, position: int) -> int:
        """Return the row number at *position* among these rows; O(1)."""
        index = self.index
        return index.start + position if isinstance(index, slice) else int(index[position])

    def position_of(self, row: int) -> int:
        """Return the position of a row that is among these, which are ascending; O(log rows)."""
        index = self.index
        return row - index.start if isinstance(index, slice) else int(index.searchsorted(row))

    def take(self, column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Return these rows' part of a column of shape ``(capacity,)``: a read-only view of it, or a copy."""
        # ndarray.take is at least twice as fast as indexing.
        return column[self.index] if isinstance(self.index, slice) else column.take(self.index)

    def select(self, chosen: npt.NDArray[Any]) -> Rows:
        """Return the rows that *chosen* selects: a mask over these rows, or positions among them."""
        if isinstance(self.index, slice):
            positions = chosen.nonzero()[0] if chosen.dtype == np.bool_ else chosen
            return Rows.at(self.table, positions + self.index.start if self.index.start else positions)
        return Rows.at(self.table, self.index[chosen])

    def portions(self, most: int | None = None) -> Iterator[Rows]:
        """Yield the same rows in the same order, at most *most* at a time.

        By default as many as a processor caches between two passes over their columns.
        """
        most = policy.PORTION if most is None else most
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
        """Return node names, in order; O(rows)."""
        return self.table.names_of(self.positions.tolist())


class LazyRows(Rows):
    """Rows whose number is known and whose positions are computed at first use."""

    __slots__ = ("_compute", "_positions")

    def __init__(self, table: NodeTable, count: int, compute: Callable[[], npt.NDArray[np.intp]]) -> None:
        self._compute = compute
        self._positions: npt.NDArray[np.intp] | None = None
        self.table = table
        self._count = count

    @property
    def index(self) -> npt.NDArray[np.intp]:  # type: ignore[override]  # a slot there, computed here
        """The positions, computed at first use."""
        if self._positions is None:
            self._positions = self._compute()
            self._positions.flags.writeable = False
        return self._positions


_HOLE: Final = ""
"""Name of a row that has none, while it is taken."""


@record(eq=False)
class NodeTable(TableStore):
    """The nodes and their pods in columns; the one truth about how full the cluster is.

    Columns, arrays and label groups that are derived from rows are made at first use, and catch up with the
    rows that changed since whenever they are read. See :class:`.TableStore` for rows.
    """

    _columns: dict[Hashable, DictionaryColumn[Any] | DerivedColumn] = field(factory=dict)
    _labels: dict[str, DictionaryColumn[str]] = field(factory=dict)
    """By label, :data:`policy.LABEL_COLUMNS` at most."""
    _more_labels: WeakValueDictionary[str, DictionaryColumn[str]] = field(factory=WeakValueDictionary)
    """Of other labels, as long as anything refers to them: what keeps a column expects the same one again."""
    _derived_arrays: DerivedArrayCache[NodeTable] = field(init=False)
    _all: Rows | None = None
    _groups: LabelGroups | None = None

    def __attrs_post_init__(self) -> None:
        TableStore.__attrs_post_init__(self)
        self._derived_arrays = DerivedArrayCache(self)

    def copied(self) -> NodeTable:
        """Return an independent copy of the rows, with logs of its own and without what is derived.

        Nodes and pods are shared. About 3 ms for 5,000 nodes with 20 pods each.
        """
        copy = NodeTable(self.size, self.extent, self.capacity, num_nodes=self.num_nodes)
        copy.pods_with_affinity, copy.affinity_changes = self.pods_with_affinity, self.affinity_changes
        for log in (copy.row_log, copy.node_log, copy.replaced_log):
            log.fit(self.capacity)
        copy.images, copy.tainted = self.images.copied(), dict(self.tainted)
        copy.ports = {
            port: {row: dict(users) for row, users in rows.items()} for port, rows in self.ports.items()
        }
        copy._amounts = self._amounts.copied()
        copy._row_of, copy._names = dict(self._row_of), list(self._names)
        copy._nodes, copy._infos = list(self._nodes), [None] * self.extent
        copy._pods = [None if pods is None else pods.copy() for pods in self._pods]
        copy._free = list(self._free)
        copy._alive, copy._unschedulable = self._alive.copy(), self._unschedulable.copy()
        copy.alive, copy.unschedulable = read_only(copy._alive), read_only(copy._unschedulable)
        return copy

    @classmethod
    def of_rows(
        cls,
        rows: Iterable[tuple[str | None, Node | None, Iterable[Pod]]],
        free: Iterable[int],
        image_sizes: Mapping[str, int],
    ) -> NodeTable:
        """Return a table with these rows: name, node and pods of each, in this order.

        *free*: the rows without a name, in the order in which they became free. *image_sizes* as the former
        table knew them. O(nodes + pods).
        """
        table = cls()
        for name, node, pods in rows:
            row = table._take_row(name or _HOLE)
            if name is None:
                del table._row_of[_HOLE]
                table._names[row] = None
            if node is not None:
                table.set_node(node)
            for pod in pods:
                table.add_pod(name or _HOLE, pod)
        table._free = list(free)
        table.images.set_sizes(image_sizes)
        return table

    def rows(self) -> Rows:
        """Return all rows that have a node."""
        if self._all is None:
            if self.num_nodes == self.size:
                self._all = Rows(self, slice(0, self.size), self.size)
            else:
                self._all = Rows.at(self, np.flatnonzero(self.alive[: self.size]))
        return self._all

    def label(self, key: str) -> DictionaryColumn[str]:
        """Return the values of a node label, up to date."""
        column = self._labels.get(key)
        return (self._add_label(key) if column is None else column).sync()

    def _add_label(self, key: str) -> DictionaryColumn[str]:
        if len(self._labels) >= policy.LABEL_COLUMNS:
            self._more_labels.update(self._labels)
            self._labels.clear()
        column = self._more_labels.pop(key, None)
        if column is None:
            column = DictionaryColumn(self, lambda node: node.labels.get(key))
        self._labels[key] = column
        return column

    def distinct(
        self,
        key: Hashable,
        value_of: Callable[[Node], Any],
        among: Mapping[int, object] | None = None,
    ) -> DictionaryColumn[Any]:
        """Return a dictionary-encoded property of nodes, made at first use and up to date.

        *key* identifies it: the same key must always come with an equivalent *value_of*. *among*: the rows
        that may have such a property, each with the part of its node that determines it, maintained by the
        table (:attr:`tainted`).
        """
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = DictionaryColumn(self, value_of, among)
        assert isinstance(column, DictionaryColumn)
        return column.sync()

    def derived(
        self, key: Hashable, value_of: Callable[[NodeInfo], float], dtype: npt.DTypeLike = np.int64
    ) -> npt.NDArray[Any]:
        """Return a number per row computed from node and pods, made at first use and up to date."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = DerivedColumn(self, value_of, dtype)
        assert isinstance(column, DerivedColumn)
        return column.sync().array

    def derived_arrays(self, key: Hashable, make: Callable[[NodeTable], Derived]) -> Derived:
        """Return the derived arrays kept under *key*, made at first use and up to date.

        The same key must always come with an equivalent *make*. Of many, the oldest are dropped.
        """
        return self._derived_arrays.get(key, make)

    def derived_arrays_if_busy(
        self, key: Hashable, make: Callable[[NodeTable], Derived], rows: int
    ) -> Derived | None:
        """As ``derived_arrays``, but ``None`` until more rows were asked about in all than the table has.

        For what costs about as much to make as to do without once: *rows* is how many are asked about now.
        """
        return self._derived_arrays.if_busy(key, make, rows)

    @property
    def label_groups(self) -> LabelGroups:
        """Pods counted by what selectors see of them; O(pods) at first use, kept in step from then on."""
        if self._groups is None:
            self._groups = self._listener = LabelGroups.of(self)
        return self._groups

    @override
    def _grow(self, capacity: int) -> None:
        TableStore._grow(self, capacity)
        for column in (*self._columns.values(), *self._labels.values(), *self._more_labels.values()):
            column.grow()

    @override
    def _membership_changed(self) -> None:
        self._all = None

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless every column equals a recomputation; O(everything)."""
        check_store(self)
        live = [row for row in self.used_rows() if self.node_at(row) is not None]
        same("rows()", self.rows().positions.tolist(), live)
        if self._groups is not None:
            self._groups.check_invariants()

    def __repr__(self) -> str:
        return brief_of(self, nodes=self.num_nodes, rows=self.size)
