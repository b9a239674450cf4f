"""LazyFilter: per-node filters, called for as few rows as the choice of the best row takes.

A per-node filter that declares nothing must be called for every pod, but not for every row: rows are taken in
descending order of the total that the other plugins give them, until some pass. Design and differences from
a search of all rows: docs/explanation/lazy-filters.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

import numpy as np
import numpy.typing as npt
from attrs import field

from ..._base.plugin_faults import plugin_faults
from ..._base.value import record
from ...api import Pod
from ...framework import Code, CycleState, Status, Verdicts
from ...framework.faults import from_exception, read_status
from ...framework.plan import FilterEntry
from ...state import LazyRows, NodeTable, Rows
from ...state.greatest import greatest
from .tie_breaking import INFEASIBLE, Scores, many, one_where

Positions = npt.NDArray[np.intp]


@record(eq=False)
class LazyFilter:
    """The rows that pass *filters*, each called at most once for a row.

    After a fault of a plugin, ``failed`` is set and the rows are not searched further: the caller evaluates
    all of them, because the first fault by node name is the one that is reported.
    """

    filters: Sequence[FilterEntry]
    state: CycleState
    pod: Pod
    table: NodeTable
    totals: Scores
    """By row; :data:`INFEASIBLE` where another plugin rejects the row."""
    rejected: dict[int, Status] = field(factory=dict)
    """Row → the first rejection or error by one of *filters*."""
    passed: set[int] = field(factory=set)
    failed: bool = False
    _feasible: Rows | None = None

    # ---- single rows -------------------------------------------------------------------------------------

    def passes(self, row: int) -> bool:
        """Return whether the row passes all filters; a row with an error does not."""
        if row not in self.passed and row not in self.rejected:
            self._call([row], 1)
        return row in self.passed

    def first_passing(self, rows: Positions, enough: int) -> list[int]:
        """Return the first *enough* of *rows* that pass, fewer if no more do or a plugin fails."""
        found: list[int] = []
        start, stop = 0, enough
        # In growing portions, since making Python integers of all rows may take longer than the calls.
        while start < len(rows) and len(found) < enough and not self.failed:
            part = rows[start:stop].tolist()
            if not (self.passed.isdisjoint(part) and self.rejected.keys().isdisjoint(part)):
                # Most often the first rows of a level are known, because one of them was the first to pass.
                count = self._count_known(part)
                found += islice(filter(self.passed.__contains__, part[:count]), enough - len(found))
                part = part[count:]
            if self.passed.isdisjoint(part) and self.rejected.keys().isdisjoint(part):
                found += self._call(part, enough - len(found)) if len(found) < enough else ()
            else:
                found += islice(filter(self.passes, part), enough - len(found))
            start, stop = stop, 3 * stop
        return found

    def _count_known(self, rows: list[int]) -> int:
        """Return how many rows are decided before the first one that is not."""
        for position, row in enumerate(rows):
            if row not in self.passed and row not in self.rejected:
                return position
        return len(rows)

    def _call(self, rows: list[int], enough: int) -> list[int]:
        """Call the filters for *rows* until *enough* pass or one fails; return those that pass."""
        filters, state, pod, info_of = self.filters, self.state, self.pod, self.table.info
        found: list[int] = []
        last = status = origin = None
        for row in rows:
            info = info_of(row)
            for entry in filters:
                try:
                    answer = entry.filter(state, pod, info)  # type: ignore[misc]  # they have no other form
                except plugin_faults() as error:
                    self.rejected[row] = from_exception(entry.name, "filter", error, pod, info.name)
                    self.failed = True
                    break
                if answer is None:
                    continue
                # Many plugins return the same object for many rows: it is read once.
                if answer is not last or entry is not origin:
                    last, origin, status = answer, entry, read_status(entry.name, "filter", answer)
                if status is not None:
                    self.rejected[row] = status
                    self.failed |= status.code is Code.ERROR
                    break
            else:
                found.append(row)
                enough -= 1
            if not enough or self.failed:
                break
        self.passed.update(found)
        return found

    # ---- choices -----------------------------------------------------------------------------------------

    def choose(self, rng: Random) -> int | None:
        """Return one of the best rows that pass, by the rule of :mod:`~.tie_breaking`.

        ``None`` if no row passes, or a plugin failed. O(rows), with few calls: all rows with a higher total,
        and as many of the best as that rule must count.
        """
        size, totals = self.table.size, self.totals
        enough = many(size)
        for rows in self._descending(enough):
            level = rows
            if totals[rows[0]] != totals[rows[-1]]:
                first = self.first_passing(rows, 1)
                level = rows[totals[rows] == totals[first[0]]] if first else rows[:0]
            tied = self.first_passing(level, enough)
            if self.failed:
                return None
            if len(tied) >= enough:
                row = one_where(_TiedRows(self, int(totals[tied[0]])), size, rng)
                return None if self.failed else row
            if tied:
                return tied[rng.randrange(len(tied)) if len(tied) > 1 else 0]
        return None

    def several_pass(self) -> bool:
        """Return whether at least two rows pass."""
        found = 0
        for rows in self._descending(many(self.table.size)):
            found += len(self.first_passing(rows, 2 - found))
            if found == 2 or self.failed:
                break
        return found == 2

    def _descending(self, portion: int) -> Iterator[Positions]:
        """Yield the rows that no other plugin rejects by descending total, equal ones together and ascending.

        The first two totals alone, since a row with one of them passes most often, then those of about
        *portion* rows, then the rest. O(rows), and O(rows log rows) for the rest.
        """
        totals = self.totals[: self.table.size]
        best = int(greatest(totals)) if len(totals) else INFEASIBLE
        for _ in range(2):
            if best == INFEASIBLE:
                return
            yield (totals == best).nonzero()[0]
            best = int(totals.max(initial=INFEASIBLE, where=totals < best))
        rows = (self.candidates & (totals <= best)).nonzero()[0]
        values = totals[rows]
        if len(rows) > portion:
            chosen = values >= np.partition(values, len(rows) - portion)[len(rows) - portion]
            yield _sorted(rows[chosen], values[chosen])
            rows, values = rows[~chosen], values[~chosen]
        if len(rows):
            yield _sorted(rows, values)

    @property
    def candidates(self) -> npt.NDArray[np.bool_]:
        """By row: whether no other plugin rejects it."""
        candidates: npt.NDArray[np.bool_] = self.totals[: self.table.size] != INFEASIBLE
        return candidates

    # ---- all rows ----------------------------------------------------------------------------------------

    def feasible_rows(self) -> Rows:
        """Return all rows that pass; calls the filters for those that were not decided."""
        if self._feasible is None:
            passing = [row for row in self.candidates.nonzero()[0].tolist() if self.passes(row)]
            self._feasible = Rows.ascending(self.table, np.array(passing, np.intp))
        return self._feasible

    def merge_into(self, verdicts: Verdicts) -> npt.NDArray[np.bool_]:
        """Merge what is known of rows that all other plugins pass; return what was decided, by position."""
        decided = np.zeros(len(verdicts.codes), np.bool_)
        for row, status in self.rejected.items():
            position = verdicts.rows.position_of(row)
            verdicts.reject(position, status)
            decided[position] = True
        for row in self.passed:
            decided[verdicts.rows.position_of(row)] = True
        return decided

    def rows_on_demand(self) -> Rows:
        """Return the same rows, such that the filters are called when they are first read."""
        return _RowsOnDemand(self)


def _sorted(rows: Positions, values: Scores) -> Positions:
    """Return *rows* by descending value, equal ones in the order in which they are."""
    ordered: Positions = rows[np.argsort(-values, kind="stable")]
    return ordered


@record(eq=False)
class _TiedRows:
    """By row: whether it passes and has the total *best*."""

    filter: LazyFilter
    best: int

    def __getitem__(self, row: int) -> bool:
        return bool(self.filter.totals[row] == self.best) and self.filter.passes(row)


class _RowsOnDemand(LazyRows):
    """The rows that pass a :class:`LazyFilter`; neither their number nor which they are is known before."""

    __slots__ = ("_filter",)

    def __init__(self, lazy: LazyFilter) -> None:
        self._filter = lazy
        self._positions = None
        self._compute = lambda: lazy.feasible_rows().positions
        self.table = lazy.table

    @property
    def _count(self) -> int:  # type: ignore[override]  # a slot there, computed here
        return len(self._filter.feasible_rows())
