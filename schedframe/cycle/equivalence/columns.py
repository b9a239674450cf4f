"""ClassColumns: verdict and score of every row for one class; data without plugins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...errors import InvariantError
from ...framework import Status, Verdicts
from ...framework.plan import ScoreEntry
from ...state import LazyRows, NodeTable, Rows
from ..search.tie_breaking import INFEASIBLE
from .node_columns import Column, NodeColumns, RawScores
from .status_codes import Codes

Positions = npt.NDArray[np.intp]


class ClassColumns:
    """Codes and totals of all rows for one class. Only its :class:`.ColumnUpdater` changes them.

    Memory: 12 bytes a row beside the node columns, and 8 for each normalised plugin of the class.
    """

    def __init__(
        self, table: NodeTable, node_columns: NodeColumns, raw_scores: tuple[ScoreEntry, ...] = ()
    ) -> None:
        self.table = table
        self.node_columns = node_columns
        self.codes = node_columns.codes.copy()
        """By row: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node."""
        # One element of a memoryview costs a third of what it does in an array, making one as much as ten.
        self.code_cells = self.codes.data
        self.feasible = int(np.count_nonzero(self.codes[: table.size] == 0))
        """Number of rows that pass."""
        self.totals: Column = np.full(len(self.codes), INFEASIBLE, np.int64)
        """Sums of all scores, :data:`INFEASIBLE` for a row that is rejected."""
        self.total_cells = self.totals.data
        self.generation = 0
        """How often all totals may have changed; in between the table's row log names the rows that did."""
        self.from_pods = RawScores.zeros(raw_scores, len(self.codes))
        """Normalised scores that depend on the pods of a row; their raw scores are the class's own."""
        self.normalized = (*node_columns.normalized, *self.from_pods)
        self.highest = (0,) * len(self.normalized)
        """By normalised plugin the highest raw score of a feasible row when the totals were computed."""
        self.node_scores: Column = np.empty(0, np.int64)
        """The part of each total that the node columns give."""
        self.node_score_cells = self.node_scores.data
        self._highest_moved = True
        self._passing: Rows | None = None
        self._verdicts: Verdicts | None = None
        self.take_node_scores()

    @property
    def nbytes(self) -> int:
        """Memory, in bytes, without the node columns."""
        return self.codes.nbytes + self.totals.nbytes + sum([each.raw.nbytes for each in self.from_pods])

    @property
    def statuses(self) -> list[Status]:
        """By code, from 1 on."""
        return self.node_columns.status_codes.statuses

    # ---- codes -------------------------------------------------------------------------------------------

    def feasible_rows(self) -> Rows:
        """Return the rows that pass, ascending; positions are computed at first use."""
        if self._passing is None:
            # Without a reference to these columns: in a cycle, the arrays of an evicted class would stay
            # until the garbage collector runs.
            codes = self.codes[: self.table.size]
            self._passing = LazyRows(self.table, self.feasible, lambda: (codes == 0).nonzero()[0])
        return self._passing

    def verdicts(self) -> Verdicts:
        """Return the codes as verdicts of all nodes; the same object as long as they do not change."""
        if self._verdicts is None:
            rows = self.table.rows()
            self._verdicts = Verdicts(rows, self.codes[rows.index], self.statuses)
            self._verdicts.settle()
        return self._verdicts

    def reset(self, index: slice | Positions) -> None:
        """Give the rows at *index* the codes of the node columns, and no totals; O(rows at *index*)."""
        before = int(np.count_nonzero(self.codes[index] == 0))
        self.codes[index] = self.node_columns.codes[index]
        self.totals[index] = INFEASIBLE
        self.generation += 1
        self._note_change(index, int(np.count_nonzero(self.codes[index] == 0)) - before)

    def reject(self, rows: Rows, codes: Codes) -> Rows:
        """Give *rows*, just reset, these *codes*; return those that pass."""
        before = int(np.count_nonzero(rows.take(self.codes) == 0))
        self.codes[rows.index] = codes
        passing = rows.select(codes == 0)
        self._note_change(slice(0), len(passing) - before)
        return passing

    def set_code(self, row: int, old: int, new: int) -> None:
        """Give *row* the code *new* instead of *old*."""
        self.codes[row] = new
        self._note_change(slice(row, row + 1 if 0 in (old, new) else row), (new == 0) - (old == 0))

    def _note_change(self, index: slice | Positions, more: int) -> None:
        """Note that *more* rows pass, and that the ones at *index* may have come or gone."""
        self.feasible += more
        self._passing = self._verdicts = None
        for each, highest in zip(self.normalized, self.highest, strict=True):
            if each.raw[index].max(initial=0) >= max(highest, 1):
                self._highest_moved = True

    # ---- scores ------------------------------------------------------------------------------------------

    def partial_score(self, row: int) -> int:
        """Return the total of a row without what its node gives, or its code, negated."""
        code = int(self.codes[row])
        return -code if code > 0 else int(self.totals[row] - self.node_scores[row]) if code == 0 else code

    @property
    def highest_from_pods(self) -> list[tuple[RawScores, int]]:
        """Each of ``from_pods`` with its highest raw score."""
        if not self.from_pods:
            return []
        return list(zip(self.from_pods, self.highest[len(self.node_columns.normalized) :], strict=True))

    def take_node_scores(self) -> None:
        """Take the scores of nodes again, by the highest raw scores as of the last totals."""
        highest = self.highest[: len(self.node_columns.normalized)]
        self.node_scores = self.node_columns.totals(highest)
        self.node_score_cells = self.node_scores.data
        self._highest_moved = True

    def follow_highest(self) -> None:
        """Normalise again if the highest raw score of a plugin moved; O(rows) if it may have."""
        if not (self.from_pods or (self._highest_moved and self.node_columns.score_columns)):
            return
        feasible = self.feasible_rows().positions
        highest = tuple([int(each.raw[feasible].max(initial=0)) for each in self.normalized])
        if highest != self.highest:
            totals = self.totals[feasible] - self.node_scores[feasible]
            for each, top in self.highest_from_pods:
                totals -= each.weighted_rows(each.raw[feasible], top)
            self.highest = highest
            self.take_node_scores()
            totals += self.node_scores[feasible]
            for each, top in self.highest_from_pods:
                totals += each.weighted_rows(each.raw[feasible], top)
            self.totals[feasible] = totals
            self.generation += 1
        self._highest_moved = False

    def totals_of(self, rows: Rows) -> Column:
        """Totals of some feasible rows, normalised over just them; read-only."""
        totals = rows.take(self.totals)
        for each, highest in zip(self.normalized, self.highest, strict=True):
            if highest:
                raw = rows.take(each.raw)
                here = int(raw.max())
                if here != highest:
                    totals = totals + each.weighted_rows(raw, here) - each.weighted_rows(raw, highest)
        return totals

    def best_where(self, rows: Rows, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which of *rows* are the best of those feasible ones at which *mask* is true."""
        if not any(self.highest):
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
        """Raise :class:`InvariantError` if counts, highest scores or totals do not fit the codes; O(rows)."""
        size = self.table.size
        codes = self.codes[:size]
        positions = (codes == 0).nonzero()[0]
        if len(positions) != self.feasible or self.feasible_rows().positions.tolist() != positions.tolist():
            raise InvariantError("the rows that pass are not those with code 0")
        if ((self.totals[:size] == INFEASIBLE) != (codes != 0)).any():
            raise InvariantError("rows that are rejected have a total, or rows that pass have none")
        if any(
            int(each.raw[positions].max(initial=0)) != highest
            for each, highest in zip(self.normalized, self.highest, strict=True)
        ):
            raise InvariantError("the highest raw scores are not those of the rows that pass")
