"""SharedIndexes: node columns, and the indexes over them that classes with equal node signatures share."""

from __future__ import annotations

from attrs import field

from ..._base.value import record
from ...state import RowsByState
from .evaluate.batch import BatchEvaluator
from .index.score_matrix import ScoreMatrix
from .node_columns import NodeColumns
from .policy import IndexKind, Policy, choose_index


@record(eq=False, repr=False)
class SharedIndexes:
    """For all classes with these node columns; rows are grouped by state when a class first needs it."""

    node_columns: NodeColumns
    policy: Policy
    matrix: ScoreMatrix = field(init=False)
    users: int = 0
    """Classes that share this."""
    _rows_by_state: RowsByState | None = None
    _generation: int = -1
    """Of the node columns when the rows were grouped."""
    _retry_at: int = 0
    """Row log position from which on grouping the rows is tried again."""

    def __attrs_post_init__(self) -> None:
        columns = self.node_columns
        self.matrix = ScoreMatrix(
            columns.table, columns, self.policy, lambda queries: BatchEvaluator(queries).evaluate
        )

    @property
    def nbytes(self) -> int:
        """Memory, in bytes."""
        parts = (self.node_columns, self.matrix, self._rows_by_state)
        return sum([part.nbytes for part in parts if part is not None])

    def rows_by_state(self) -> RowsByState | None:
        """Return the rows that pass, by state and node-score key; ``None`` if their states differ too much.

        The node columns must be up to date. O(rows) the first time.
        """
        columns, rows = self.node_columns, self._rows_by_state
        same = self._generation == columns.generation
        if rows is not None and rows.usable and same and rows.score_columns is columns.score_columns:
            return rows
        table = columns.table
        if table.row_log.version < self._retry_at:
            return None
        rows = RowsByState(table, columns.score_columns)
        if not rows.rebuild(columns.codes):
            self._retry_at = table.row_log.version + max(table.size, self.policy.retry_after)
            rows = None
        self._rows_by_state, self._generation = rows, columns.generation
        return rows

    def index_for(self, classes: int, *, by_state: bool = True) -> IndexKind:
        """Return the kind of index for one more class, if *classes* classes share this."""
        rows, by_node = self.node_columns.table.size, bool(self.node_columns.score_columns)
        kind = choose_index(self.policy, rows, classes, by_state=by_state, by_node=by_node)
        return IndexKind.STATE if kind is IndexKind.MATRIX and not self.matrix.can_serve() else kind
