"""Differences between two runs: pods, and measures."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from typing_extensions import override

from .._base.brief import brief_of
from .._base.checked import checked
from .._base.tables import Table, Tabular
from .._base.value import record
from ..errors import InputError
from ..traces import ColumnTable, Figures
from ..traces.columns import NONE, Array, Names, read_only

COMPARED: Final = ("node", "start", "end", "state", "evictions", "waited_for")
"""Columns of pods in which two runs are compared."""


class Comparable(Protocol):
    """A run, or one that was read again."""

    @property
    def pods(self) -> ColumnTable:
        """A row for each pod that arrived."""

    @property
    def summary(self) -> Figures:
        """The measures."""

    def digest(self) -> str:
        """Return the SHA-256 of the run."""


@record(frozen=True, eq=False)
class Comparison(Tabular):
    """The measures of a base and of another run; ``pods`` has the pods that differ.

    In ``pods`` each column of the runs is there twice, as ``node_a`` and ``node_b``; ``wait_change`` is the
    waiting time of the other run less that of the base, in µs. Rows are in the order of the first difference
    in time. ``waited_for`` is the plugin that rejected the pod last. ``only_a`` and ``only_b`` count pods of
    one run.
    """

    base: Figures
    other: Figures
    pods: ColumnTable
    same: int
    """Pods that have no difference."""
    only_a: int
    only_b: int
    is_equal: bool
    """Whether the digests of the runs are equal."""

    @override
    def _table(self) -> Table:
        names = [*self.base, *(name for name in self.other if name not in self.base)]
        rows = [
            (name, *self._pair(name), self.base.units.get(name) or self.other.units.get(name, ""))
            for name in names
        ]
        columns = {"figure": str, "a": float, "b": float, "change": float, "times": float, "unit": str}
        return Table(columns, list(rows))

    def _pair(self, name: str) -> tuple[float | None, float | None, float | None, float | None]:
        a, b = (float(each[name]) if name in each else None for each in (self.base, self.other))
        if a is None or b is None:
            return a, b, None, None
        return a, b, b - a, b / a if a else None

    @override
    def __repr__(self) -> str:
        return brief_of(self, same=self.same, different=len(self.pods), is_equal=self.is_equal)


@checked
def compare(base: Comparable, other: Comparable) -> Comparison:
    """Return what differs between two runs of one trace.

    Pods are the same if their numbers in the trace are, and their names if there are any. Raises
    :class:`InputError` if the runs have no pod in common.
    """
    a, b = base.pods, other.pods
    keys, rows_a, rows_b = np.intersect1d(a["pod"], b["pod"], assume_unique=True, return_indices=True)
    if not len(keys) and len(a) and len(b):
        raise InputError("other", "the runs have no pod in common", "compare two runs of one trace")
    _refuse_other_names(a.taken(rows_a), b.taken(rows_b))
    columns, differs = _pairs(a.taken(rows_a), b.taken(rows_b))
    when = np.minimum(*(_moments(columns, side) for side in "ab"))
    chosen = np.flatnonzero(differs)
    chosen = chosen[np.argsort(when[chosen], kind="stable")]
    decoded = {
        f"{n}_{side}": columns.names[f"{n}_{side}"]
        for n in COMPARED
        for side in "ab"
        if f"{n}_{side}" in columns.names
    }
    table = ColumnTable(
        read_only({n: c[chosen] for n, c in columns.columns.items()}), decoded, columns.optional
    )
    return Comparison(
        base.summary,
        other.summary,
        table,
        len(keys) - len(chosen),
        len(a) - len(keys),
        len(b) - len(keys),
        base.digest() == other.digest(),
    )


def _refuse_other_names(a: ColumnTable, b: ColumnTable) -> None:
    """Raise :class:`InputError` if equal numbers have other names: these are runs of two traces."""
    if "name" in a.columns and "name" in b.columns and (a["name"] != b["name"]).any():
        index = int((a["name"] != b["name"]).argmax())
        names = [str(each.decoded("name")[index]) for each in (a, b)]
        problem = f"pod {a['pod'][index]} is {names[0]} in one run and {names[1]} in the other"
        raise InputError("other", problem, "compare two runs of one trace")


def _pairs(a: ColumnTable, b: ColumnTable) -> tuple[ColumnTable, Array]:
    """Return the columns of both runs beside each other, and which rows differ."""
    table: dict[str, Array] = {"pod": a["pod"]}
    if "name" in a.columns:
        table["name"] = a["name"]
    names: dict[str, tuple[str, ...]] = {}
    differs = np.zeros(len(a), bool)
    for column in COMPARED:
        left, right = a[column], b[column]
        if column in a.names:
            common = Names()
            left, right = (_recoded(each, column, common) for each in (a, b))
            names[f"{column}_a"] = names[f"{column}_b"] = common.all()
        table[f"{column}_a"], table[f"{column}_b"] = left, right
        differs |= left != right
    table["wait_change"] = b["wait"] - a["wait"]
    optional = frozenset(f"{column}_{side}" for column in ("start", "end") for side in "ab")
    return ColumnTable(read_only(table), names, optional), differs


def _recoded(table: ColumnTable, column: str, common: Names) -> Array:
    """Return a column of ids as ids of *common* names."""
    known = common.ids(table.names[column])
    ids = table[column]
    return np.where(ids == NONE, NONE, known[ids] if len(known) else NONE).astype(np.int32)


def _moments(columns: ColumnTable, side: str) -> Array:
    """Return the first time at which a pod of a run did something; those that did nothing are last."""
    start = columns[f"start_{side}"]
    result: Array = np.where(start == NONE, np.iinfo(np.int64).max, start)
    return result
