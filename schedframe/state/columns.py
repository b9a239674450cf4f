"""Columns derived from nodes, built at first use; the change logs tell which rows to compute again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import repeat
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from ..api import Node
from . import policy
from .node_info import NodeInfo
from .read_only import read_only
from .table_store import TableStore

V = TypeVar("V", bound=Hashable)
Scalar = TypeVar("Scalar", bound=np.generic)
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

ABSENT = -1
"""The code of no value."""


@record(eq=False)
class DictionaryColumn(Generic[V]):
    """A dictionary-encoded property of nodes: ``values[codes[row]]``, or absent where the code is -1.

    For properties with few distinct values (zones, taint lists): evaluate once per value, then take per row.
    Catching up is O(changed nodes). Values that no node has any more are dropped when they outnumber the
    rows.
    """

    _table: TableStore
    _value_of: Callable[[Node], V | None]
    _among: Mapping[int, object] | None = None
    """Row → the object that determines its value, shared by many rows; ``None``: the node of any row does."""
    codes: Codes = field(init=False)
    """int32, shape ``(capacity,)``, read-only: valid up to the table's size."""
    values: list[V] = field(factory=list)
    epoch: int = 0
    """Changes when codes are assigned again, so that everything kept per code is stale."""
    version: int = -1
    """Position in the table's log of node changes up to which this column is true."""
    _codes: Codes = field(factory=lambda: np.empty(0, np.int32))
    """The array behind ``codes``."""
    _wide: npt.NDArray[np.intp] | None = None
    """``codes`` in NumPy's index type, from the first :meth:`take` for all rows on."""
    _code_of: dict[V, int] = field(factory=dict)
    _answers: dict[Hashable, npt.NDArray[Any]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.codes = read_only(self._codes)

    def sync(self) -> DictionaryColumn[V]:
        """Catch up with the table."""
        log = self._table.node_log
        if self.version == log.version:
            return self
        rows = log.since(self.version) if self.version >= 0 else None
        if rows is None or len(self.values) > 2 * self._table.capacity:
            self._rebuild()
        else:
            self.grow()
            for row in rows:
                self._set(row)
        self.version = log.version
        return self

    def code_of(self, value: V) -> int:
        """Return the code of *value*, -1 if no node has it."""
        return self._code_of.get(value, ABSENT)

    def mask_of(self, values: Collection[V], index: slice | npt.NDArray[np.intp]) -> Mask:
        """Return per row of *index* whether it has one of *values*."""
        wanted = [code for value in values if (code := self._code_of.get(value)) is not None]
        codes = self.codes[index]
        if not wanted:
            return np.zeros(len(codes), np.bool_)
        if len(wanted) == 1:
            mask: Mask = codes == wanted[0]
            return mask
        return self.take(self._table_of(wanted), index)

    def decide(self, accept: Callable[[V], bool], absent: bool, index: slice | npt.NDArray[np.intp]) -> Mask:
        """Return per row of *index* ``accept(value)``, *absent* where there is none; O(values + rows)."""
        verdicts = np.fromiter((accept(value) for value in self.values), np.bool_, len(self.values))
        return self.take(np.append(verdicts, absent), index)

    def answers(
        self, question: Hashable, answer: Callable[[V], Any], absent: Any, dtype: npt.DTypeLike = np.bool_
    ) -> npt.NDArray[Any]:
        """Return a table for :meth:`take`: ``answer(value)`` per code, and *absent* at the end. Read-only.

        Cached under *question*, which must always come with an equivalent *answer*: only new values are
        evaluated. O(new values).
        """
        known = self._answers.get(question)
        if known is not None and len(known) == len(self.values) + 1:
            return known
        if known is None and len(self._answers) >= policy.KEPT_COLUMNS:
            del self._answers[next(iter(self._answers))]
        count, old = len(self.values), 0 if known is None else len(known) - 1
        table = self._answers[question] = np.empty(count + 1, dtype)
        if known is not None:
            table[:old] = known[:old]
        table[old:count] = [answer(value) for value in self.values[old:]]
        table[count] = absent
        table.flags.writeable = False
        return table

    def take(
        self,
        per_code: npt.NDArray[Scalar],
        index: slice | npt.NDArray[np.intp],
        out: npt.NDArray[Scalar] | None = None,
    ) -> npt.NDArray[Scalar]:
        """Return the entry of a table (one per value, the last one for "absent") for each row of *index*.

        Written to *out* if that is given.
        """
        if not isinstance(index, slice):
            return per_code.take(self.codes.take(index), out=out, mode="wrap")
        # NumPy converts narrow codes at each call, which costs more than the rest.
        wide = self._wide
        if wide is None:
            if index.stop - index.start < self._table.size:
                return per_code.take(self.codes[index], out=out, mode="wrap")
            wide = self._wide = self.codes.astype(np.intp)
        return per_code.take(wide[index], out=out, mode="wrap")

    def _table_of(self, codes: list[int]) -> Mask:
        table = np.zeros(len(self.values) + 1, np.bool_)
        table[codes] = True
        return table

    def grow(self) -> None:
        """Make ``codes`` as long as the table's columns."""
        if len(self.codes) < self._table.capacity:
            codes = np.full(self._table.capacity, ABSENT, np.int32)
            codes[: len(self._codes)] = self._codes
            self._codes, self.codes = codes, read_only(codes)
            self._wide = None

    def _rebuild(self) -> None:
        # In passes that run in C, because the first pod of a large cluster waits for this.
        rows, keys, values = self._values()
        found = dict.fromkeys(keys if values is None else values.values())
        found.pop(None, None)
        self.values = list(found)
        codes: dict[Any, int] = dict(zip(found, range(len(found)), strict=True))
        self._code_of = codes
        if values is not None:
            codes = {key: codes.get(value, ABSENT) for key, value in values.items()}
        self._codes = np.full(self._table.capacity, ABSENT, np.int32)
        each = map(codes.get, keys, repeat(ABSENT))
        self._codes[rows] = np.fromiter(each, np.int32, len(keys))
        self.codes = read_only(self._codes)
        self._answers, self._wide = {}, None
        self.epoch += 1

    def _values(self) -> tuple[slice | npt.NDArray[np.intp], Sequence[Any], dict[int, V | None] | None]:
        """Return rows that may have a value; their values, or keys and the values by key."""
        table, among = self._table, self._among
        if among is None:
            rows, nodes = table.nodes()
            return rows, list(map(self._value_of, nodes)), None
        parts = list(map(id, among.values()))
        some = {part: table.node_at(row) for part, row in dict(zip(parts, among, strict=True)).items()}
        values = {part: None if node is None else self._value_of(node) for part, node in some.items()}
        return np.fromiter(among, np.intp, len(parts)), parts, values

    def _set(self, row: int) -> None:
        node = self._table.node_at(row)
        value = None if node is None else self._value_of(node)
        code = ABSENT if value is None else self._code_of.get(value, len(self.values))
        if value is not None and code == len(self.values):
            self._code_of[value] = code
            self.values.append(value)
        self._codes[row] = code
        if self._wide is not None:
            self._wide[row] = code


@record(eq=False)
class DerivedColumn:
    """A number per row computed from the node and its pods, 0 where there is no node.

    Catching up is O(changed rows) calls.
    """

    _table: TableStore
    _value_of: Callable[[NodeInfo], float]
    _dtype: npt.DTypeLike
    array: npt.NDArray[np.generic] = field(init=False)
    """Shape ``(capacity,)``, read-only."""
    version: int = -1
    _values: npt.NDArray[np.generic] = field(init=False)
    """What ``array`` shows."""

    def __attrs_post_init__(self) -> None:
        self._values = np.zeros(0, self._dtype)
        self.array = read_only(self._values)

    def sync(self) -> DerivedColumn:
        """Catch up with the table."""
        log = self._table.row_log
        if self.version == log.version:
            return self
        rows = log.since(self.version) if self.version >= 0 else None
        self.grow()
        table = self._table
        for row in range(table.extent) if rows is None else set(rows):
            self._values[row] = self._value_of(table.info(row)) if table.node_at(row) is not None else 0
        self.version = log.version
        return self

    def grow(self) -> None:
        """Make ``array`` as long as the table's columns."""
        if len(self._values) < self._table.capacity:
            values = np.zeros(self._table.capacity, self._dtype)
            values[: len(self._values)] = self._values
            self._values, self.array = values, read_only(values)
