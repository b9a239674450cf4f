"""Topology domains: nodes that share a value of a label, all nodes or a subset of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol

import numpy as np
import numpy.typing as npt
from attrs import field
from typing_extensions import TypeVar

from .._base.value import record
from ..api import Node
from . import policy
from .change_log import ChangeLog
from .columns import ABSENT, DictionaryColumn
from .read_only import read_only

Scalar = TypeVar("Scalar", bound=np.generic)
Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class HasIndex(Protocol):
    """Rows of a table: see :class:`.Rows`."""

    @property
    def index(self) -> slice | npt.NDArray[np.intp]:
        """Positions of the rows."""
        ...


AnyRows = TypeVar("AnyRows", bound=HasIndex, default=Any)


class LabelledTable(Protocol):
    """The part of a :class:`.NodeTable` that domains read."""

    size: int
    node_log: ChangeLog

    def label(self, key: str) -> DictionaryColumn[str]:
        """Return the values of a node label, up to date."""
        ...

    def node_at(self, row: int) -> Node | None:
        """Return the node of a row, ``None`` for a hole."""
        ...

    def rows(self) -> HasIndex:
        """Return all rows that have a node."""
        ...


@record(frozen=True)
class NodeSubset(Generic[AnyRows]):
    """Some of the nodes, chosen by the node object alone; both forms must choose the same nodes."""

    key: Hashable
    """Identifies the subset: equal keys must always choose the same nodes."""
    accepts: Callable[[Node], bool] = field(eq=False)
    mask: Callable[[AnyRows], Mask] = field(eq=False)
    """``mask(rows)``, with :class:`.Rows`: one truth value per row, shape ``(len(rows),)``."""


@record(eq=False)
class Domains:
    """The domains of a topology key, the values of that label, with the number of nodes of *subset* in each.

    ``subset=None``: all nodes. Catching up costs O(nodes that changed since), O(rows) after many changes or
    when the codes of the label's values were assigned again. Memory: 4 bytes per row.
    """

    _table: LabelledTable
    topology_key: str
    subset: NodeSubset | None = None
    codes: Codes = field(init=False)
    """Per row: code of the label's value, or -1 where there is no such node. Valid up to its own length,
    read-only."""
    nodes: Counts = field(init=False)
    """Per code: number of nodes, 0 for a value that is no domain; at least as long as ``labels.values``,
    read-only."""
    count: int = 0
    """Number of domains: values that any node has."""
    total: int = 0
    """Number of nodes in all domains together."""
    epoch: int = -1
    """That of the label's column."""
    version: int = -1
    """Position in the table's log of node changes up to which this is true."""
    _labels: DictionaryColumn[str] | None = None
    _codes: Codes = field(factory=lambda: np.zeros(0, np.int32))
    _nodes: Counts = field(factory=lambda: np.zeros(0, np.int64))
    """What ``codes`` and ``nodes`` show."""
    _wide: npt.NDArray[np.intp] | None = None
    """``codes`` in NumPy's index type, from the first :meth:`take` for all rows on."""

    def __attrs_post_init__(self) -> None:
        self.codes, self.nodes = read_only(self._codes), read_only(self._nodes)

    def take(self, per_code: npt.NDArray[Scalar], rows: HasIndex) -> npt.NDArray[Scalar]:
        """Return the entry by code for each row, the last one for rows outside of all domains; O(rows)."""
        if not isinstance(rows.index, slice):
            return per_code.take(self.codes.take(rows.index))
        wide = self._wide
        if wide is None:
            wide = self._wide = self.codes.astype(np.intp)
        return per_code.take(wide[rows.index])

    @property
    def labels(self) -> DictionaryColumn[str]:
        """The label's column, as of the last :meth:`sync`."""
        assert self._labels is not None, "domains are synced before they are read"
        return self._labels

    def sync(self) -> Domains:
        """Catch up with the nodes."""
        log = self._table.node_log
        if self.version == log.version:
            return self
        labels = self._labels = self._table.label(self.topology_key)
        rows = log.since(self.version) if self.version >= 0 else None
        if rows is None or self.epoch != labels.epoch or len(rows) * policy.SPARSE_SHARE > self._table.size:
            self._rebuild(labels)
        else:
            self._fit(labels)
            for row in rows if len(rows) == 1 else set(rows):
                self._set(row, int(labels.codes[row]))
        self.version = log.version
        return self

    def _fit(self, labels: DictionaryColumn[str]) -> None:
        self._nodes = at_least(self._nodes, len(labels.values))
        if len(self._codes) < len(labels.codes):
            codes = np.full(len(labels.codes), ABSENT, np.int32)
            codes[: len(self._codes)] = self._codes
            self._codes = codes
            self._wide = None
        self._show()

    def _set(self, row: int, code: int) -> None:
        if code != ABSENT and self.subset is not None:
            node = self._table.node_at(row)
            if node is None or not self.subset.accepts(node):
                code = ABSENT
        old = int(self._codes[row])
        if old == code:
            return
        self._codes[row] = code
        if self._wide is not None:
            self._wide[row] = code
        nodes = self._nodes
        if old != ABSENT:
            nodes[old] -= 1
            self.count -= not nodes[old]
            self.total -= 1
        if code != ABSENT:
            self.count += not nodes[code]
            nodes[code] += 1
            self.total += 1

    def _rebuild(self, labels: DictionaryColumn[str]) -> None:
        self._codes = labels.codes.copy()
        self._wide = None
        if self.subset is not None:
            rows = self._table.rows()
            codes = self._codes[rows.index]
            codes[~self.subset.mask(rows)] = ABSENT
            self._codes[rows.index] = codes
        self._nodes = np.bincount(self._codes[self._codes != ABSENT], minlength=len(labels.values))
        self.count = int(np.count_nonzero(self._nodes))
        self.total = int(self._nodes.sum())
        self.epoch = labels.epoch
        self._show()

    def _show(self) -> None:
        """Renew the read-only views of arrays that were replaced; a view that is still right stays.

        Callers compare the identity of ``codes`` to notice that codes were assigned again.
        """
        if self.codes.base is not self._codes:
            self.codes = read_only(self._codes)
        if self.nodes.base is not self._nodes:
            self.nodes = read_only(self._nodes)


def at_least(counts: Counts, size: int) -> Counts:
    """Return *counts* with room for *size* entries, zeros added as needed; growth is amortised."""
    if len(counts) >= size:
        return counts
    longer = np.zeros(max(2 * len(counts), size), np.int64)
    longer[: len(counts)] = counts
    return longer
