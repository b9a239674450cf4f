"""ClassColumns: verdict and score of every row for one class; data without plugins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...errors import InvariantError
from ...framework import Status, Verdicts
from ...framework.plan import ScoreEntry
from ...state import LazyRows, NodeTable, Rows
from ..search.tie_breaking import INFEASIBLE
from .node_columns import NodeColumns
from .normalized import Column, NormalizedScores, RawScores
from .status_codes import Codes

Positions = npt.NDArray[np.intp]


def _passing_positions(codes: Codes) -> Positions:
    """The rows with code 0, ascending; O(rows)."""
    positions: Positions = (codes == 0).nonzero()[0]
    return positions


def sparse_copy(codes: Codes) -> Codes:
    """A copy that writes to no page of zeros if most codes are 0, so that the copy takes no memory there."""
    others = codes.nonzero()[0]
    if 4 * len(others) > len(codes):
        return codes.copy()
    copy: Codes = np.zeros(len(codes), codes.dtype)
    copy[others] = codes[others]
    return copy


class ClassColumns:
    """Codes, totals and counts of all rows for one class. Only its :class:`EquivalenceClass` changes them.

    Memory: 12 bytes a row beside the node columns, and 8 for each normalised plugin of the class.
    """

    def __init__(self, table: NodeTable, node_columns: NodeColumns) -> None:
        self.table = table
        self.node_columns = node_columns
        self.codes = sparse_copy(node_columns.codes)
        """By row: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node."""
        self.totals: Column = np.full(len(self.codes), INFEASIBLE, np.int64)
        """Sums of all scores, :data:`INFEASIBLE` for a row that is rejected."""
        self.generation = 0
        """How often all totals may have changed; in between the table's row log names the rows that did."""
        self.from_nodes = tuple(map(NormalizedScores, node_columns.normalized))
        self.from_pods: tuple[NormalizedScores, ...] = ()
        """Normalised scores that depend on the pods of a row; their raw scores are the class's own."""
        self.normalized = self.from_nodes
        self.node_scores: Column = np.empty(0, np.int64)
        """The part of each total that the node columns give."""
        self.node_scores_are_zero = False
        self._counts = [0]
        self._passing: Rows | None = None
        self._verdicts: Verdicts | None = None
        self.take_node_scores()

    @property
    def nbytes(self) -> int:
        """Memory, in bytes, without the node columns."""
        raw = sum(column.raw.nbytes for column in self.from_pods)
        return self.codes.nbytes + raw + self.totals.nbytes

    @property
    def statuses(self) -> list[Status]:
        """By code, from 1 on."""
        return self.node_columns.status_codes.statuses

    # ---- codes -------------------------------------------------------------------------------------------

    @property
    def feasible(self) -> int:
        """Number of rows that pass."""
        return self._counts[0]

    def feasible_rows(self) -> Rows:
        """The rows that pass, ascending; positions are computed at first use."""
        if self._passing is None:
            # Without a reference to these columns: in a cycle, the arrays of an evicted class would stay
            # until the garbage collector runs.
            codes = self.codes[: self.table.size]
            self._passing = LazyRows(self.table, self._counts[0], lambda: _passing_positions(codes))
        return self._passing

    def feasible_positions(self) -> Positions:
        """Their row numbers; O(rows)."""
        return _passing_positions(self.codes[: self.table.size])

    def counts(self) -> list[int]:
        """Number of rows by code, from 0 on; a copy."""
        return list(self._counts)

    def rejections(self) -> list[tuple[Status, int]]:
        """Each status with the number of rows it rejects; O(statuses)."""
        return [(s, n) for s, n in zip(self.statuses, self._counts[1:], strict=False) if n]

    def verdicts(self) -> Verdicts:
        """The codes as verdicts of all nodes; the same object as long as they do not change."""
        if self._verdicts is None:
            rows = self.table.rows()
            codes = self.codes[rows.index]
            self._verdicts = Verdicts.counted(rows, codes, self.statuses, self.rejections())
        return self._verdicts

    def count(self, code: int, change: int) -> None:
        """Count *change* more rows with *code*."""
        if code < 0:
            return
        while len(self._counts) <= code:
            self._counts.append(0)
        self._counts[code] += change
        self._verdicts = None
        if code == 0:
            self._passing = None

    def set_counts(self, counts: list[int]) -> None:
        """The number of rows by code, from 0 on."""
        self._counts = counts or [0]
        self._passing = self._verdicts = None

    def move(self, row: int, old: int, new: int, *, counting: bool) -> None:
        """Give *row* the code *new* instead of *old*; *counting*: and count the raw scores of its node."""
        self.codes[row] = new
        self.count(old, -1)
        self.count(new, 1)
        if counting and (old == 0 or new == 0):
            for column in self.from_nodes:
                column.count(int(column.raw[row]), -1 if old == 0 else 1)

    # ---- scores ------------------------------------------------------------------------------------------

    def set_normalized(self, entries: Sequence[ScoreEntry]) -> None:
        """The plugins whose normalised scores depend on the pods of a row; once, before any total is set."""
        self.from_pods = tuple(
            NormalizedScores(RawScores(entry, entry.normalization, np.zeros(len(self.codes), np.int64)))
            for entry in entries
            if entry.normalization is not None
        )
        self.normalized = (*self.from_nodes, *self.from_pods)

    def partial_score(self, row: int) -> int:
        """The total of a row without what its node gives, or its code, negated."""
        code = int(self.codes[row])
        return -code if code > 0 else int(self.totals[row] - self.node_scores[row]) if code == 0 else code

    def partial_scores(self) -> Column | None:
        """As :meth:`partial_score` for all rows; ``None`` if none passes. O(rows)."""
        size = self.table.size
        codes = self.codes[:size]
        scores = np.where(codes == 0, self.totals[:size] - self.node_scores[:size], -np.abs(codes))
        return scores if int(scores.max(initial=-1)) >= 0 else None

    def set_raw_scores(self, row: int, old: int, new: int, raws: list[int], *, counting: bool) -> int:
        """Store the *raws* of a row whose code changed from *old* to *new*; the sum once normalised."""
        total = 0
        for i, column in enumerate(self.from_pods):
            if old == 0 and counting:
                column.count(int(column.raw[row]), -1)
            if new == 0:
                raw = column.raw[row] = raws[i]
                if counting:
                    column.count(raw, 1)
                total += column.weighted(raw if column.highest else 0)
        return total

    def count_node_scores(self, positions: Positions, before: Codes) -> None:
        """Count the raw scores of nodes at *positions* that became feasible, or infeasible."""
        now, then = self.codes[positions] == 0, before == 0
        if (now == then).all():
            return
        for column in self.from_nodes:
            column.count_rows(positions[then & ~now], -1)
            column.count_rows(positions[now & ~then], 1)

    def take_node_scores(self) -> None:
        """Take the scores of nodes by the highest raw scores as of the last totals."""
        highest = tuple([column.highest for column in self.from_nodes])
        self.node_scores_are_zero = self.node_columns.is_zero(highest)
        self.node_scores = self.node_columns.totals(highest)

    def recount(self) -> None:
        """Count the raw scores of all feasible rows again; O(rows) for plugins that give any."""
        feasible = self.feasible_rows()
        for column in self.normalized:
            column.recount(feasible)

    def follow_highest(self) -> None:
        """Normalise again if the highest raw score of a plugin moved; O(rows) then."""
        for column in self.normalized:
            if column.moved:
                column.moved = False
                if column.highest != column.present_highest():
                    self._normalize()

    def _normalize(self) -> None:
        feasible = self.feasible_positions()
        totals = self.totals[feasible] - self.node_scores[feasible]
        for column in self.from_pods:
            totals -= column.weighted_rows(column.raw[feasible], column.highest)
        for column in self.normalized:
            column.highest = column.present_highest()
        self.take_node_scores()
        totals += self.node_scores[feasible]
        for column in self.from_pods:
            totals += column.weighted_rows(column.raw[feasible], column.highest)
        self.totals[feasible] = totals
        self.generation += 1

    def totals_of(self, rows: Rows) -> Column:
        """Totals of some feasible rows, normalised over just them; read-only."""
        totals = rows.take(self.totals)
        for column in self.normalized:
            if not column.highest:
                continue
            raw = rows.take(column.raw)
            highest = int(raw.max())
            if highest != column.highest:
                change = column.weighted_rows(raw, highest) - column.weighted_rows(raw, column.highest)
                totals = totals + change
        return totals

    def best_where(self, rows: Rows, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which of *rows* are the best of those feasible ones at which *mask* is true."""
        if not any(column.highest for column in self.normalized):
            # Most often the best row of all is among them: three passes, and no column is gathered.
            every = rows.take(self.totals)
            tied: npt.NDArray[np.bool_] = every == every.max()
            tied &= mask
            if np.count_nonzero(tied):  # half of what any() costs
                return tied
        chosen = mask.nonzero()[0]
        totals = self.totals_of(rows.select(chosen))
        best = np.zeros(len(mask), np.bool_)
        best[chosen[totals == totals.max()]] = True
        return best

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if counts or totals are not those of the codes; O(rows)."""
        size = self.table.size
        codes = self.codes[:size]
        counts = np.bincount(codes[codes >= 0], minlength=len(self._counts)).tolist()
        if counts != self._counts:
            raise InvariantError("the numbers of rows by code are not those of the codes")
        if ((self.totals[:size] == INFEASIBLE) != (codes != 0)).any():
            raise InvariantError("rows that are rejected have a total, or rows that pass have none")
        positions = self.feasible_positions()
        for column in self.normalized:
            values, numbers = np.unique(column.raw[positions], return_counts=True)
            if dict(zip(values.tolist(), numbers.tolist(), strict=True)) != column.counts:
                raise InvariantError("the numbers of rows by raw score are not those of the columns")
