"""Index of rejected classes: those of waiting pods for which no row is feasible, and rows that changed since.

A pod of such a class need not be tried before a row changes so that it passes. A changed row is evaluated for
all classes in one batch, as in the score matrix. The invariant: ``_passing`` has each changed row with the
classes that it suits, and ``_count`` and ``_sum`` are its sums by class. Otherwise a pod would wait although
a node has room, or be tried in vain. docs/explanation/waiting-together.md has the design.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from ..errors import InvariantError
from ..state import NodeTable, Rows
from .equivalence.evaluate.batch import BatchEvaluator
from .equivalence.evaluate.query import Query
from .equivalence.node_columns import NodeColumns
from .equivalence.row_memo import RowMemo
from .equivalence.status_codes import EvaluationFailed

Stamp = tuple[int, ...]
Numbers = npt.NDArray[np.intp]
_NONE: Final[Numbers] = np.empty(0, np.intp)


@record(eq=False)
class _Group:
    """Owners whose classes share their node columns."""

    node_columns: NodeColumns
    by_state: bool
    """Whether rows in equal states pass for the same owners."""
    answers: int
    """As in :class:`RejectedClasses`."""
    numbers: list[int] = field(factory=list)
    """Of the owners."""
    queries: list[Query] = field(factory=list)
    _batch: BatchEvaluator | None = None
    _layout: int = -1
    _all: Numbers = field(factory=lambda: _NONE)
    _memo: RowMemo[Numbers] = field(factory=lambda: RowMemo(0))

    def add(self, number: int, query: Query) -> None:
        """Add the class of one more owner."""
        self.numbers.append(number)
        self.queries.append(query)
        self._batch = None

    def renumbered(self, new: Numbers) -> _Group | None:
        """Return the group of the owners with a new number (old number → new, or -1), if there are any."""
        left = [
            (int(new[number]), query)
            for number, query in zip(self.numbers, self.queries, strict=True)
            if new[number] >= 0
        ]
        if not left:
            return None
        numbers, queries = zip(*left, strict=True)
        return _Group(self.node_columns, self.by_state, self.answers, list(numbers), list(queries))

    def passing(self, row: int) -> Numbers:
        """Return the owners for which *row* passes; raises EvaluationFailed."""
        if self.node_columns.codes[row]:
            return _NONE
        table = self.node_columns.table
        if self._batch is None or self._layout != table.layout:
            self._batch, self._layout = BatchEvaluator(self.queries), table.layout
            self._all = np.array(self.numbers, np.intp)
            self._memo = RowMemo(self.answers // len(self.numbers) + 1)
        return self._memo.find(table.row_state(row) if self.by_state else None, self._evaluate, row)

    def _evaluate(self, row: int) -> Numbers:
        assert self._batch is not None
        return self._all[self._batch.passing(row)]


@record(eq=False)
class RejectedClasses:
    """Owners of classes that no row suits, but for those that changed since they were added.

    All owners are dropped as soon as anything but rows changes. O(owners) for a changed row, in one batch.
    """

    table: NodeTable
    stamp: Callable[[], Stamp]
    """Version of the row log, and versions of all else that answers may depend on."""
    most_rows: int
    """Changed rows that are evaluated; with more, all owners are dropped. Owners in ``few``: as many."""
    answers: int
    """Memoised at most, for pairs of an owner and a row state."""
    spare: int = 64
    """Owners beyond twice those that were of use at the last :meth:`keep`, before the next one is due."""
    drops: int = 0
    """How often owners were dropped; read-only."""
    few: Collection[Any] | None = ()
    """Owners for which some row passes, as of the last :meth:`sync`; ``None``: there are many. Read-only."""
    _owners: list[Any] = field(factory=list)
    """By number."""
    _number_of: dict[Any, int] = field(factory=dict)
    _dropped: set[Any] = field(factory=set)
    """Owners that have a number in case that they are added again."""
    _groups: dict[tuple[NodeColumns, bool], _Group] = field(factory=dict)
    _passing: dict[int, list[Numbers]] = field(factory=dict)
    """Row → the owners for which it passes; only rows with any."""
    _of_use: int = 0
    """Owners that the last :meth:`keep` left."""
    _count: Numbers = field(factory=lambda: np.zeros(8, np.intp))
    """By owner, the number of rows that pass."""
    _sum: Numbers = field(factory=lambda: np.zeros(8, np.intp))
    """By owner, the sum of the numbers of these rows: of one row, that row."""
    _as_of: Stamp = ()

    def clear(self) -> None:
        """Drop all owners."""
        if self._owners:
            self.drops += 1
            self._owners.clear()
            self._number_of.clear()
            self._dropped.clear()
            self._groups.clear()
            self._passing.clear()
            self._count[:] = self._sum[:] = 0
            self._of_use = 0
        self.few = ()

    def drop(self, owners: Iterable[Any]) -> None:
        """Drop some *owners*, if they are here."""
        dropped = self._number_of.keys() & owners
        if dropped:
            self._dropped |= dropped
            self.drops += 1

    @property
    def may_be_stale(self) -> bool:
        """Return whether :meth:`keep` is due: a changed row is evaluated for unused owners, too."""
        return len(self._owners) > 2 * self._of_use + self.spare

    def keep(self, owners: Collection[Any]) -> None:
        """Drop all but *owners*. O(owners here)."""
        kept = [number for owner, number in self._number_of.items() if owner in owners and owner in self]
        numbers: Numbers = np.array(kept, np.intp)
        new = np.full(len(self._owners), -1, np.intp)
        new[numbers] = np.arange(len(kept))
        self._owners = [self._owners[number] for number in kept]
        self._number_of = {owner: number for number, owner in enumerate(self._owners)}
        self._dropped.clear()
        groups = [(key, left) for key, group in self._groups.items() if (left := group.renumbered(new))]
        self._groups = dict(groups)
        rows = [(row, _renumbered(passing, new)) for row, passing in self._passing.items()]
        self._passing = {row: passing for row, passing in rows if passing}
        for figures in (self._count, self._sum):
            figures[: len(kept)] = figures[numbers]
            figures[len(kept) :] = 0
        self._of_use = len(kept)
        self.drops += 1
        self._note_few()

    def add(self, owner: Any, columns: NodeColumns, query: Query, *, by_state: bool) -> None:
        """Add the owner of a class for which no row is feasible now. O(owners) at the next changed row.

        *by_state*: rows in equal states that the node columns let pass get equal answers.
        """
        self.sync()
        if owner in self._number_of:
            self._dropped.discard(owner)
            return
        number = self._number_of[owner] = len(self._owners)
        self._owners.append(owner)
        if number >= len(self._count):
            self._count = np.concatenate((self._count, np.zeros_like(self._count)))
            self._sum = np.concatenate((self._sum, np.zeros_like(self._sum)))
        group = self._groups.get((columns, by_state))
        if group is None:
            group = self._groups[columns, by_state] = _Group(columns, by_state, self.answers)
        group.add(number, query)

    def renew(self, owner: Any) -> None:
        """Forget which changed rows pass for *owner*, if it is here: an attempt was made as of now."""
        self.sync()
        number = self._number_of.get(owner)
        if number is None or not self._count[number]:
            return
        left = {row: [each[each != number] for each in passing] for row, passing in self._passing.items()}
        self._passing = {
            row: some for row, each in left.items() if (some := [one for one in each if len(one)])
        }
        self._count[number] = self._sum[number] = 0
        self._note_few()

    def skip(self) -> None:
        """Leave out what changed since the last :meth:`sync`, because it was taken back since."""
        self._as_of = self.stamp()

    def __contains__(self, owner: Any) -> bool:
        return owner in self._number_of and owner not in self._dropped

    def suits_none(self, owner: Any) -> bool:
        """Return whether *owner* is here, and no row passes for it as of the last :meth:`sync`. O(1)."""
        number = self._number_of.get(owner)
        return number is not None and not self._count[number] and owner not in self._dropped

    def only_row(self, owner: Any) -> int | None:
        """Return the one row that passes for *owner*; ``None``: there are others or none, or it is unknown.

        O(1): what changed since the last :meth:`sync` is not looked at.
        """
        number = self._number_of.get(owner)
        if number is None or self._count[number] != 1 or self._as_of != self.stamp():
            return None
        return int(self._sum[number])

    def sync(self) -> Collection[int]:
        """Catch up with the table; return the rows that changed."""
        stamp, before = self.stamp(), self._as_of
        if stamp == before:
            return ()
        self._as_of = stamp
        if stamp[1:] != before[1:]:
            self.clear()
        if not self._owners:
            return ()
        changed = self.table.row_log.since(before[0])
        if changed is None or len(rows := set(changed)) > self.most_rows:
            self.clear()
            return ()
        try:
            for row in rows:
                self._evaluate(row)
        except EvaluationFailed:
            self.clear()
            return ()
        self._note_few()
        return rows

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless owners, groups and the rows that pass agree. O(owners)."""
        numbers = range(len(self._owners))
        grouped = [number for group in self._groups.values() for number in group.numbers]
        if sorted(grouped) != list(numbers) or list(self._number_of.values()) != list(numbers):
            raise InvariantError(f"{len(grouped)} of {len(numbers)} rejected classes are in a group")
        if not self._dropped <= self._number_of.keys():
            raise InvariantError("a dropped class has no number")
        count, total = np.zeros_like(self._count), np.zeros_like(self._sum)
        for row, passing in self._passing.items():
            for owners in passing:
                count[owners] += 1
                total[owners] += row
        if (count != self._count).any() or (total != self._sum).any():
            raise InvariantError("rows that pass for rejected classes do not add up")

    def _evaluate(self, row: int) -> None:
        passing = [owners for group in self._groups.values() if len(owners := group.passing(row))]
        for owners in self._passing.pop(row, ()):
            self._count[owners] -= 1
            self._sum[owners] -= row
        for owners in passing:
            self._count[owners] += 1
            self._sum[owners] += row
        if passing:
            self._passing[row] = passing

    def _note_few(self) -> None:
        if not self._passing:
            self.few = ()
            return
        numbers = self._count.nonzero()[0]
        few = len(numbers) <= self.most_rows
        self.few = [self._owners[number] for number in numbers.tolist()] if few else None


def _renumbered(passing: Iterable[Numbers], new: Numbers) -> list[Numbers]:
    """Return *passing* with the new numbers (old number → new, or -1), without what is empty then."""
    numbers = [new[owners] for owners in passing]
    return [left for each in numbers if len(left := each[each >= 0])]


@record(eq=False)
class RejectedClass:
    """One of the rejected classes, as its pods are decided."""

    classes: RejectedClasses
    owner: Any
    _row: int = -1
    """What :meth:`only_row` found last."""

    def only_row(self) -> int | None:
        """See :meth:`RejectedClasses.only_row`."""
        row = self.classes.only_row(self.owner)
        if row is not None:
            self._row = row
        return row

    def feasible_rows(self) -> Rows:
        """Return the row that :meth:`only_row` found last."""
        return Rows.at(self.classes.table, np.array([self._row], np.intp))
