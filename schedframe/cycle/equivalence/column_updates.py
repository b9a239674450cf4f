"""ColumnUpdater: evaluates rows and writes the answers to the columns of a class."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from attrs import define

from ...state import Rows
from ...state.policy import PORTION
from ..search.tie_breaking import INFEASIBLE
from .columns import ClassColumns
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

    def catch_up(self, since: int) -> None:
        """Evaluate the rows that changed after position *since* of the row log, by the quickest form."""
        table, policy = self.query.table, self.policy
        missed = table.row_log.version - since
        if self.rowwise is not None and missed <= policy.rowwise_rows:
            rows = table.row_log.since(since)
            if rows is not None:
                self._evaluate_one_by_one(rows if missed == 1 else set(rows))
                self.columns.follow_highest()
                return
        elif not self.query.is_columnar or missed * policy.gather_cost < table.num_nodes:
            positions = table.row_log.positions_since(since, table.size)
            if positions is not None:
                self.columns.reset(positions)
                self._evaluate(Rows.ascending(table, positions[table.alive[positions]]))
                self.columns.follow_highest()
                return
        self.evaluate_all()

    def evaluate_all(self) -> None:
        """Evaluate all rows by columns, in portions; O(rows)."""
        table = self.query.table
        self.columns.reset(slice(table.size))
        for part in table.rows().portions(PORTION):
            self._evaluate(part)
        self.columns.follow_highest()

    def _evaluate(self, rows: Rows) -> None:
        """Set codes and totals of *rows*, which were reset."""
        columns, query = self.columns, self.query
        codes = filter_codes(query, rows, rows.take(columns.codes).copy())
        passing = columns.reject(rows, codes) if np.count_nonzero(codes) else rows
        sums = weighted_sum(query.scores, query.state, query.pod, passing)
        sums += passing.take(columns.node_scores)
        for each, highest in columns.highest_from_pods:
            raw = each.raw[passing.index] = raw_scores(each.entry, query.state, query.pod, passing)
            sums += each.weighted_rows(raw, highest)
        columns.totals[passing.index] = sums

    def _evaluate_one_by_one(self, rows: Collection[int]) -> None:
        """Set codes and totals of *rows* by the per-node forms; O(rows x plugins)."""
        columns, rowwise, memo = self.columns, self.rowwise, self.memo
        assert rowwise is not None
        codes, totals = columns.code_cells, columns.total_cells
        node_codes, node_scores = columns.node_columns.cells, columns.node_score_cells
        moving, state_of = columns.highest_from_pods, self.query.table.row_state
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
                columns.set_code(row, old, new)
            if moving and new == 0:
                for (each, highest), raw in zip(moving, rowwise.raw_scores(row), strict=True):
                    each.raw[row] = raw
                    total += each.weighted(raw, highest)
            totals[row] = total
