"""ColumnUpdater: evaluates rows and writes the answers to the columns of a class."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from attrs import define

from ...state import Rows
from ...state.policy import PORTION
from ..search.tie_breaking import INFEASIBLE
from .columns import ClassColumns, Positions
from .evaluate.columnar import filter_codes, raw_scores, weighted_sum
from .evaluate.query import Query
from .evaluate.rowwise import RowwiseEvaluator
from .policy import Policy
from .row_memo import RowMemo
from .status_codes import NO_NODE


@define(eq=False)
class ColumnUpdater:
    """The only writer of :class:`ClassColumns`. The node columns must be up to date.

    :class:`EvaluationFailed` leaves the columns in disorder: the class is not cacheable until it is rebuilt.
    """

    columns: ClassColumns
    query: Query
    policy: Policy
    rowwise: RowwiseEvaluator | None = None
    """``None``: some plugin has no per-node form."""
    memo: RowMemo[int] | None = None
    """``None``: rows in equal states may get different answers."""
    _arrays: tuple[Any, ...] = ()
    """Of which ``_views`` are the memoryviews."""
    _views: tuple[Any, ...] = ()
    _calls: int = 0

    # ---- all rows ----------------------------------------------------------------------------------------

    def filter_all(self) -> list[Rows]:
        """Set the codes of new columns, in portions; the rows that pass."""
        return [self._filter(part) for part in self.query.table.rows().portions(PORTION)]

    def score_all(self, passing: list[Rows]) -> None:
        """Set the totals of new columns, the rows that pass being those of :meth:`filter_all`."""
        columns = self.columns
        for part in passing:
            self._score(part)
        columns.generation += 1
        columns.recount()
        columns.follow_highest()

    def evaluate_all(self) -> None:
        """Evaluate all rows again; all filters have a columnar form. O(rows)."""
        columns, query = self.columns, self.query
        rows, size = query.table.rows(), query.table.size
        # Whether any code is not 0, at half the cost of any().
        all_passed = columns.feasible == len(rows) and not np.count_nonzero(rows.take(columns.codes))
        node_codes = columns.node_columns.codes
        codes = filter_codes(query, rows, rows.take(node_codes).copy())
        all_pass = not np.count_nonzero(codes)
        columns.set_counts([len(codes)] if all_pass else np.bincount(codes).tolist())
        passing = rows if all_pass else rows.select(codes == 0)
        totals = columns.totals
        if len(passing) < size:
            columns.codes[:size] = node_codes[:size]
            totals[:size] = INFEASIBLE
        if not (all_pass and all_passed):
            columns.codes[rows.index] = codes
        in_place = isinstance(passing.index, slice)
        out = totals[passing.index] if in_place else None
        sums = weighted_sum(query.scores, query.state, query.pod, passing, out)
        sums = self._completed(sums, passing)
        if not in_place:
            totals[passing.index] = sums
        columns.generation += 1
        for column in columns.from_pods if all_pass and all_passed else columns.normalized:
            column.recount(passing)

    # ---- dirty rows --------------------------------------------------------------------------------------

    def all_rows_are_cheaper(self, dirty: int) -> bool:
        """Whether :meth:`evaluate_all` costs less than :meth:`evaluate_dirty` for *dirty* dirty rows."""
        return self.query.is_columnar and dirty * self.policy.gather_cost >= self.query.table.num_nodes

    def evaluate_dirty(self, positions: Positions, *, counting: bool) -> None:
        """Evaluate the rows at *positions* by columns; O(dirty rows), and a pass for the best of all.

        *counting*: count raw scores as rows come and go; else the caller recounts.
        """
        columns = self.columns
        codes, before = columns.codes, columns.codes[positions]
        if counting:
            for column in columns.from_pods:
                column.count_rows(positions[before == 0], -1)
        for code, count in enumerate(np.bincount(before + 1)[1:].tolist()):
            columns.count(code, -count)
        codes[positions] = columns.node_columns.codes[positions]
        columns.totals[positions] = INFEASIBLE
        passing = self._filter(Rows.ascending(self.query.table, positions[codes[positions] >= 0]))
        self._score(passing)
        if counting:
            columns.count_node_scores(positions, before)
            for column in columns.from_pods:
                column.count_rows(passing.positions, 1)
        columns.generation += 1

    def evaluate_rows(self, rows: Collection[int], *, counting: bool) -> None:
        """As :meth:`evaluate_dirty`, row by row by the per-node forms; O(rows x plugins)."""
        columns, rowwise, memo = self.columns, self.rowwise, self.memo
        assert rowwise is not None
        codes, node_codes, totals, node_scores = self._cells()
        moving, state_of = columns.from_pods, self.query.table.row_state
        for row in rows:
            old, new = codes[row], node_codes[row]
            total = INFEASIBLE
            if new == 0:
                if memo is None:
                    answer = rowwise.evaluate(row)
                else:
                    answer = memo.find(state_of(row), rowwise.evaluate, row)
                if answer < 0:
                    new = -answer
                else:
                    total = node_scores[row] + answer
            elif new != NO_NODE:
                new = rowwise.first_rejection(row, new)
            if new != old:
                columns.move(row, old, new, counting=counting)
            if moving:
                raws = rowwise.raw_scores(row) if new == 0 else []
                total += columns.set_raw_scores(row, old, new, raws, counting=counting)
            totals[row] = total

    def _cells(self) -> tuple[Any, ...]:
        """Return codes, codes of the node columns, totals and scores of nodes, as memoryviews.

        One element of a memoryview costs a third of what it does in an array, and making one as much as ten.
        They are kept for classes that are used often: 1.4 kB each.
        """
        columns, arrays = self.columns, self._arrays
        if (
            arrays
            and arrays[0] is columns.codes
            and arrays[1] is columns.node_columns.codes
            and arrays[2] is columns.totals
            and arrays[3] is columns.node_scores
        ):
            return self._views
        arrays = columns.codes, columns.node_columns.codes, columns.totals, columns.node_scores
        views = tuple([array.data for array in arrays])
        self._calls += 1
        if self._calls > self.policy.first_visits:
            self._arrays, self._views = arrays, views
        return views

    # ---- parts -------------------------------------------------------------------------------------------

    def _filter(self, rows: Rows) -> Rows:
        """Set the codes of rows that have those of the node columns, and count them; the rows that pass."""
        columns = self.columns
        codes = filter_codes(self.query, rows, rows.take(columns.codes).copy())
        if not codes.any():
            columns.count(0, len(codes))
            return rows
        columns.codes[rows.index] = codes
        for code, count in enumerate(np.bincount(codes).tolist()):
            columns.count(code, count)
        return rows.select(codes == 0)

    def _score(self, rows: Rows) -> None:
        """Set the totals of feasible rows, normalised by the highest raw scores as of the last totals."""
        sums = weighted_sum(self.query.scores, self.query.state, self.query.pod, rows)
        self.columns.totals[rows.index] = self._completed(sums, rows)

    def _completed(self, sums: Any, rows: Rows) -> Any:
        """*sums*, with the scores of nodes and the normalised ones added in place."""
        columns, query = self.columns, self.query
        if not columns.node_scores_are_zero:
            sums += rows.take(columns.node_scores)
        for column in columns.from_pods:
            raw = column.raw[rows.index] = raw_scores(column.scores.entry, query.state, query.pod, rows)
            sums += column.weighted_rows(raw, column.highest)
        return sums
