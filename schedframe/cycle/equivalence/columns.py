"""ClassColumns: verdict and score of every row for one class."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from ...errors import InvariantError
from ...framework import Status, Verdicts
from ...state import LazyRows, Rows
from ...state.greatest import greatest
from ...state.policy import PORTION
from ..search.tie_breaking import INFEASIBLE
from .evaluate.columnar import filter_codes, raw_scores, weighted_sum
from .evaluate.query import Query
from .evaluate.rowwise import RowwiseEvaluator
from .node_columns import Column, NodeColumns, RawScores
from .policy import Policy
from .row_memo import RowMemo
from .status_codes import NO_NODE, Codes

Positions = npt.NDArray[np.intp]


class ClassColumns:
    """Codes and totals of all rows for one class, maintained from the change log of the table.

    ``sync`` is O(dirty rows), plus O(rows) when the highest raw score of a normalised plugin moved.
    :class:`EvaluationFailed`, also when these are made, leaves them in disorder: the class is not cacheable
    until it is rebuilt. Memory: 12 bytes a row beside the node columns, and for each normalised plugin of the
    class 16.
    """

    def __init__(
        self,
        query: Query,
        node_columns: NodeColumns,
        policy: Policy,
        rowwise: RowwiseEvaluator | None = None,
        memo: RowMemo[int] | None = None,
    ) -> None:
        """Evaluate all rows.

        *rowwise*: ``None`` if some plugin has no per-node form; *memo*: ``None`` if rows in equal states may
        get different answers.
        """
        self.table = query.table
        self.node_columns = node_columns
        self.codes = node_columns.codes.copy()
        """By row: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node."""
        # One element of a memoryview costs a third of what it does in an array, making one as much as ten.
        self._code_cells = self.codes.data
        self.feasible = int(np.count_nonzero(self.codes[: self.table.size] == 0))
        """Number of rows that pass."""
        self.totals: Column = np.full(len(self.codes), INFEASIBLE, np.int64)
        """Sums of all scores, :data:`INFEASIBLE` for a row that is rejected."""
        self._total_cells = self.totals.data
        self.generation = 0
        """How often all totals may have changed; in between the table's row log names the rows that did."""
        self._from_pods = RawScores.zeros(query.raw_scores, len(self.codes))
        self.normalized = (*node_columns.normalized, *self._from_pods)
        """Raw scores of the node columns, and those that depend on the pods of a row, the class's own."""
        self.highest = (0,) * len(self.normalized)
        """By normalised plugin the highest raw score of a feasible row when the totals were computed."""
        self.node_scores: Column = np.empty(0, np.int64)
        """The part of each total that is normalised, or that the node columns give."""
        self._node_score_cells = self.node_scores.data
        self._query, self._policy, self._rowwise, self._memo = query, policy, rowwise, memo
        self._highest_moved = True
        self._passing: Rows | None = None
        self._verdicts: Verdicts | None = None
        self._row_version, self._node_version = self.table.row_log.version, self.table.node_log.version
        self._take_node_scores()
        self._evaluate(slice(self.table.extent), self.table.rows())

    @property
    def nbytes(self) -> int:
        """Memory, in bytes, without the node columns."""
        return self.codes.nbytes + self.totals.nbytes + sum([2 * each.raw.nbytes for each in self._from_pods])

    @property
    def statuses(self) -> list[Status]:
        """By code, from 1 on."""
        return self.node_columns.status_codes.statuses

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

    def totals_of(self, rows: Rows) -> Column:
        """Totals of some feasible rows, normalised over just them; read-only."""
        totals = rows.take(self.totals)
        for each, highest in zip(self.normalized, self.highest, strict=True):
            if highest:
                raw = rows.take(each.raw)
                here = int(greatest(raw))
                if here != highest:
                    totals = totals + each.weighted(raw, here) - each.weighted(raw, highest)
        return totals

    def best_where(self, rows: Rows, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which of *rows* are the best of those feasible ones at which *mask* is true."""
        if not any(self.highest):
            # Most often the best row of all is among them: three passes, and no column is gathered.
            every = rows.take(self.totals)
            tied: npt.NDArray[np.bool_] = (every == greatest(every)) & mask
            if np.count_nonzero(tied):  # half of what any() costs
                return tied
        chosen = mask.nonzero()[0]
        totals = self.totals_of(rows.select(chosen))
        best = np.zeros(len(mask), np.bool_)
        best[chosen[totals == greatest(totals)]] = True
        return best

    # ---- catching up -------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Catch up with the table by the quickest form. The node columns must be up to date."""
        table, policy, since = self.table, self._policy, self._row_version
        missed = table.row_log.version - since
        if not missed:
            return
        self._row_version = table.row_log.version
        if self._node_version != table.node_log.version:
            self._node_version = table.node_log.version
            self._take_node_scores()
        if self._rowwise is not None and missed <= policy.rowwise_rows:
            rows = table.row_log.since(since)
            if rows is not None:
                self._evaluate_one_by_one(rows if missed == 1 else set(rows), self._rowwise)
                self._follow_highest()
                return
        elif not self._query.is_columnar or missed * policy.gather_cost < table.num_nodes:
            positions = table.row_log.positions_since(since, table.size)
            if positions is not None:
                self._evaluate(positions, Rows.ascending(table, positions[table.alive[positions]]))
                return
        self._evaluate(slice(table.extent), table.rows())

    def _evaluate(self, index: slice | Positions, rows: Rows) -> None:
        """Evaluate *rows*, which of the ones at *index* have nodes, by columns in portions."""
        query, before = self._query, np.count_nonzero(self.codes[index] == 0)
        self.codes[index] = self.node_columns.codes[index]
        self.totals[index] = INFEASIBLE
        self.generation += 1
        for part in rows.portions(PORTION):
            codes = filter_codes(query, part, part.take(self.codes).copy())
            passing = part
            if np.count_nonzero(codes):
                self.codes[part.index] = codes
                passing = part.select(codes == 0)
            sums = weighted_sum(query.scores, query.state, query.pod, passing)
            self.totals[passing.index] = np.add(sums, passing.take(self.node_scores), out=sums)
            self._score_pods(passing)
        self._note_change(index, int(np.count_nonzero(self.codes[index] == 0) - before))
        self._follow_highest()

    def _evaluate_one_by_one(self, rows: Collection[int], rowwise: RowwiseEvaluator) -> None:
        """Set codes and totals of *rows* by the per-node forms; O(rows x plugins)."""
        memo, table = self._memo, self.table
        codes, totals = self._code_cells, self._total_cells
        node_codes, node_scores = self.node_columns.cells, self._node_score_cells
        for row in rows:
            old, new, total = codes[row], node_codes[row], INFEASIBLE
            if new == 0:
                if memo is None:
                    answer = rowwise.evaluate(row)
                else:
                    answer = memo.find(table.row_state(row), rowwise.evaluate, row)
                if answer < 0:
                    new = -answer
                else:
                    total = node_scores[row] + answer
            elif new != NO_NODE:
                # A plugin of the class may come before the one that the node columns know.
                code: Codes = np.array([new], np.int32)
                new = int(filter_codes(self._query, Rows.at(table, np.array([row], np.intp)), code)[0])
            if new != old:
                codes[row] = new
                self._note_change(slice(row, row + 1 if 0 in (old, new) else row), (new == 0) - (old == 0))
            totals[row] = total
        if self._from_pods:
            passing = [row for row in rows if codes[row] == 0]
            self._score_pods(Rows.at(table, np.array(passing, np.intp)))

    def _score_pods(self, rows: Rows) -> None:
        """Complete the totals of *rows*, which pass, by normalised plugins that depend on their pods."""
        query, index = self._query, rows.index
        for each, highest in zip(
            self._from_pods, self.highest[len(self.node_columns.normalized) :], strict=True
        ):
            raw = raw_scores(each.entry, query.state, query.pod, rows)
            more = each.weighted(raw, highest) - each.weighted(each.raw[index], highest)
            each.raw[index] = raw
            self.totals[index] += more
            self.node_scores[index] += more

    def _note_change(self, index: slice | Positions, more: int) -> None:
        """Note that *more* rows pass, and that the ones at *index* may have come or gone."""
        self.feasible += more
        self._passing = self._verdicts = None
        for each, highest in zip(self.normalized, self.highest, strict=True):
            if each.raw[index].max(initial=0) >= max(highest, 1):
                self._highest_moved = True

    def _take_node_scores(self) -> None:
        """Take the scores of nodes again, and normalise, by the highest raw scores as of the last totals."""
        count = len(self.node_columns.normalized)
        self.node_scores = self.node_columns.totals(self.highest[:count])
        for each, highest in zip(self._from_pods, self.highest[count:], strict=True):
            self.node_scores = self.node_scores + each.weighted(each.raw, highest)
        self._node_score_cells = self.node_scores.data
        self._highest_moved = True

    def _follow_highest(self) -> None:
        """Normalise again if the highest raw score of a plugin moved; O(rows) if it may have."""
        if not (self._from_pods or (self._highest_moved and self.node_columns.score_columns)):
            return
        feasible = self.feasible_rows().positions
        highest = tuple([int(each.raw[feasible].max(initial=0)) for each in self.normalized])
        if highest != self.highest:
            totals = self.totals[feasible] - self.node_scores[feasible]
            self.highest = highest
            self._take_node_scores()
            self.totals[feasible] = totals + self.node_scores[feasible]
            self.generation += 1
        self._highest_moved = False

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
