"""NodeColumns: codes and scores that depend on the Node object alone, shared by equivalence classes.

Pods of a thousand sizes that tolerate and prefer the same nodes see equal node columns; only what depends on
the pods of a row is kept for each class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import field

from ..._base.value import record
from ...api import Pod
from ...errors import InvariantError
from ...framework import Normalization
from ...framework.plan import ScoreEntry
from ...state import LazyRows, NodeTable, ObjectStore, Rows
from ...state.change_log import distinct
from ...state.policy import PORTION
from .cacheability import CacheablePlan
from .dependencies import Stamp, Versions, change_stamp, dependency_versions
from .evaluate.columnar import filter_codes, raw_scores, weighted_sum
from .evaluate.query import Query
from .status_codes import NO_NODE, Codes, EvaluationFailed, StatusCodes

Column = npt.NDArray[np.int64]


@record(frozen=True, eq=False)
class RawScores:
    """Raw scores of one normalised plugin by row."""

    entry: ScoreEntry
    how: Normalization
    raw: Column

    @classmethod
    def zeros(cls, entries: tuple[ScoreEntry, ...], size: int) -> tuple[RawScores, ...]:
        """Return a column of zeros for each of the normalised plugins *entries*."""
        return tuple(
            cls(entry, entry.normalization, np.zeros(size, np.int64))
            for entry in entries
            if entry.normalization is not None
        )

    def weighted(self, raw: Column, highest: int) -> Column:
        """Return the normalised and weighted scores of rows, given the *highest*; a fresh array."""
        return self.how.scaled(raw, highest) * self.entry.weight


@record(eq=False)
class NodeColumns:
    """Codes and scores of all rows for pods with equal signatures for the plugins of ``node_plan``.

    ``refresh`` is O(1) while no node changes, else O(changed nodes). Memory: 20 bytes a row, 8 more for each
    normalised plugin and for their sum.
    """

    table: NodeTable
    plan: CacheablePlan
    pod: Pod
    objects: ObjectStore
    cacheable: bool = False
    """``False`` if a plugin failed or rejects the pod at pre_filter."""
    generation: int = 0
    """Number of rebuilds."""
    status_codes: StatusCodes = field(init=False)
    codes: Codes = field(init=False)
    """By row: 0 passes, *k* is rejected with ``status_codes.statuses[k - 1]``, -1 has no node."""
    cells: memoryview[int] = field(init=False)
    """Of ``codes``."""
    normalized: tuple[RawScores, ...] = ()
    score_columns: tuple[Column, ...] = ()
    """The columns of scores, raw ones included, in which some row has, or had, another score than 0."""
    _query: Query = field(init=False, repr=False)
    _fixed: Column = field(init=False)
    """Weighted sum of the scores that are not normalised."""
    _totals: dict[tuple[int, ...], Column] = field(factory=dict)
    """Of the last combination of highest raw scores."""
    _stamp: Stamp = (-1, -1, -1)
    _versions: Versions = ()
    _node_version: int = -1

    def __attrs_post_init__(self) -> None:
        self.status_codes = StatusCodes(self.plan.order)
        self._query = Query(self.table, self.status_codes, self.pod)
        self._build()

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        columns = [self._fixed, *(each.raw for each in self.normalized), *self._totals.values()]
        return self.codes.nbytes + sum(column.nbytes for column in columns)

    def totals(self, highest: tuple[int, ...]) -> Column:
        """Weighted sum of the scores of every row, given the highest raw score of each normalised plugin.

        A plugin whose highest is 0 gives all rows the same, which is left out. Valid until the next
        :meth:`refresh`; read-only.
        """
        if not any(highest):
            return self._fixed
        total = self._totals.get(highest)
        if total is None:
            total = self._fixed.copy()
            for each, top in zip(self.normalized, highest, strict=True):
                if top:
                    total += each.weighted(each.raw, top)
            self._totals = {highest: total}
        return total

    def node_scores(self, keys: Sequence[tuple[int, ...]]) -> list[int]:
        """Return the scores of rows with these *keys*, which are all that feasible rows have.

        A key is a value of each of ``score_columns``. All scores are lower than the true ones by one number.
        """
        total = np.zeros(len(keys), np.int64)
        raw = {id(each.raw): each for each in self.normalized}
        for column, values in zip(self.score_columns, np.array(keys, np.int64).T, strict=True):
            scores = raw.get(id(column))
            if scores is None:
                total += values
            elif highest := int(values.max()):
                total += scores.weighted(values, highest)
        found: list[int] = total.tolist()
        return found

    def passing(self) -> Rows:
        """Return the rows that are not rejected, ascending; O(rows)."""
        passes = self.codes[: self.table.size] == 0
        return LazyRows(self.table, int(np.count_nonzero(passes)), lambda: passes.nonzero()[0])

    # ---- catching up -------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Catch up with the nodes; whether the columns can be used."""
        table = self.table
        stamp = change_stamp(table, self.objects)
        if stamp == self._stamp:
            return self.cacheable
        changed = table.node_log.since(self._node_version)
        versions = dependency_versions(self.plan.node_dependencies, table, self.objects)
        if changed is None or len(self.codes) < table.size or self._versions != versions:
            self._build()
            return self.cacheable
        self._stamp, self._node_version = stamp, table.node_log.version
        if changed and self.cacheable:
            rows = distinct(np.array(changed, np.int64))
            self.codes[rows] = NO_NODE
            self._evaluate(Rows.ascending(table, rows[table.alive[rows]]), fresh=False)
            self._totals.clear()
        return self.cacheable

    def _build(self) -> None:
        """Evaluate all rows; O(rows)."""
        table, plan = self.table, self.plan.node_plan
        self.generation += 1
        self._stamp = change_stamp(table, self.objects)
        self._versions = dependency_versions(self.plan.node_dependencies, table, self.objects)
        self._node_version = table.node_log.version
        # Room to grow, so that nodes that join are refreshed like any other row.
        size = max(table.capacity, 1)
        self.codes, self._fixed = np.zeros(size, np.int32), np.zeros(size, np.int64)
        self.cells = self.codes.data
        self.codes[table.size :] = NO_NODE
        if table.num_nodes < table.size:
            self.codes[: table.size][~table.alive[: table.size]] = NO_NODE
        self._totals.clear()
        self.score_columns, self.normalized = (), ()
        query = self._query.prepared(plan, plan, table.rows())
        self.cacheable = query is not None
        if query is not None:
            self._query, self.normalized = query, RawScores.zeros(query.raw_scores, size)
            for part in table.rows().portions(PORTION):
                self._evaluate(part, fresh=True)

    def _evaluate(self, rows: Rows, *, fresh: bool) -> None:
        """Filter and score *rows*; *fresh*: their codes and scores are all 0 so far."""
        query = self._query
        try:
            codes = filter_codes(query, rows, np.zeros(len(rows), np.int32))
            passing = rows.select(codes == 0) if codes.any() else rows
            sums = [(self._fixed, weighted_sum(query.scores, query.state, query.pod, passing))]
            sums += [(e.raw, raw_scores(e.entry, query.state, query.pod, passing)) for e in self.normalized]
        except EvaluationFailed:
            self.cacheable = False
            return
        # Pages that were never written to take no memory, and most codes and scores are 0.
        if not fresh or passing is not rows:
            self.codes[rows.index] = codes
        for column, scores in sums:
            some = bool(scores.any())
            if not fresh or some:
                column[passing.index] = scores
            if some and not any(column is each for each in self.score_columns):
                self.score_columns = (*self.score_columns, column)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless a rebuild gives the same codes and scores; O(rows)."""
        if not self.refresh():
            return
        fresh, size = NodeColumns(self.table, self.plan, self.pod, self.objects), self.table.size
        mine = [None if code <= 0 else self.status_codes.statuses[code - 1] for code in self.codes[:size]]
        other = [None if code <= 0 else fresh.status_codes.statuses[code - 1] for code in fresh.codes[:size]]
        passing = self.codes[:size] == 0
        if mine != other or (passing != (fresh.codes[:size] == 0)).any():
            raise InvariantError("codes of the node columns are not those of a rebuild")
        for one, two in zip(self._columns(), fresh._columns(), strict=True):
            if (one[:size][passing] != two[:size][passing]).any():
                raise InvariantError("scores of the node columns are not those of a rebuild")

    def _columns(self) -> list[Column]:
        return [self._fixed, *(each.raw for each in self.normalized)]
