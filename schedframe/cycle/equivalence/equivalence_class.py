"""EquivalenceClass: what is known of the pods that no cached plugin can tell apart.

A class covers the plugins whose answer for a row depends on that row and the pod alone. Design: README.md.
"""

from __future__ import annotations

from attrs import evolve

from ..._plugin_faults import plugin_faults
from ...api import Pod
from ...framework import CycleState, Framework
from ...state import ObjectStore, Rows
from ..search.tie_breaking import Scores
from .cacheability import CacheablePlan
from .class_key import class_key
from .column_updates import ColumnUpdater
from .columns import ClassColumns
from .dependencies import Stamp, Versions, change_stamp, dependency_versions
from .evaluate.columnar import partial_scores
from .evaluate.query import Query
from .evaluate.rowwise import RowwiseEvaluator
from .index.base import OnlyRow, ScoreIndex
from .index.group_max import GroupMaxCache
from .index.score_matrix import MatrixSlot
from .index.state_index import StateIndex
from .nominated import NominatedOverlay
from .policy import BYTES_A_CLASS, IndexKind
from .row_memo import RowMemo
from .shared import SharedIndexes
from .status_codes import EvaluationFailed


class EquivalenceClass:
    """Key, columns and index of one class.

    A class without columns is *index only*: its index finds the best rows, and the columns are built when a
    row must be read by itself. ``refresh`` is O(dirty rows), plus O(rows) when the highest raw score of a
    normalised plugin moved.
    """

    cacheable: bool
    """``False``: a plugin failed, rejects the pod outright or names nodes; the full search decides."""
    referenced: bool
    """Whether the class was used since the last eviction pass."""
    evicted: bool
    """Whether the class was dropped: the cache must be asked for another."""
    generation: int
    """Number of rebuilds."""
    stamp: Stamp
    """:func:`.change_stamp` as of the last visit; the same object as long as it is equal."""
    state: CycleState
    """What the cached plugins wrote at pre_filter and pre_score."""
    index_only: bool
    """Whether the index finds the best rows, and there are no columns so far."""
    columns: ClassColumns | None
    """Verdict and score of each row; ``None``: index only, or not cacheable."""
    index: ScoreIndex | None
    """Finds the best rows without the columns; ``None``: these do."""
    rejected: OnlyRow | None
    """Finds the only feasible row for pods that waited; ``None``: none waited."""

    def __init__(
        self,
        framework: Framework,
        plan: CacheablePlan,
        pod: Pod,
        objects: ObjectStore,
        shared: SharedIndexes,
        *,
        index_only: bool = True,
    ) -> None:
        self.framework, self.plan, self.pod = framework, plan, pod
        self.table = framework.handle.table
        self.shared, self.node_columns, self.policy = shared, shared.node_columns, shared.policy
        self.cacheable = self.evicted = self.index_only = False
        self.referenced, self.generation, self.stamp = True, 0, (-1, -1, -1)
        self.state = CycleState()
        self.new_state = self.state.template()
        self.columns = self.index = self.rejected = None
        self.groupings = GroupMaxCache(self.policy)
        self._objects = objects
        self._versions: Versions = ()
        self._row_version = self._node_version = self._node_generation = -1
        self._query = Query(self.table, self.node_columns.status_codes, pod)
        self._updater: ColumnUpdater | None = None
        self._rowwise: RowwiseEvaluator | None = None  # None: some plugin has no per-node form
        self._by_state = False  # whether rows in equal states get equal answers, but for node scores
        self._memo: RowMemo[int] = RowMemo(self.policy.answers)
        self._overlays: dict[int, NominatedOverlay] = {}
        self._visits = 0  # with columns, since there is no index; negative: it shall not get one for so long
        self._matrix_tried = False
        shared.users += 1
        if self._begin():
            self.index_only = self._get_index(state_index=index_only)
            if not self.index_only:
                self._build_columns()

    @property
    def nbytes(self) -> int:
        """About how much memory the class takes, in bytes, without what it shares."""
        parts = (self.columns, self.index, self.groupings, *self._overlays.values())
        sizes = sum([part.nbytes for part in parts if part is not None])
        return sizes + self._memo.nbytes() + BYTES_A_CLASS

    def feasible_rows(self) -> Rows:
        """Return the rows that the index found feasible in this cycle."""
        try:
            assert self.index is not None
            return self.index.feasible_rows()
        except plugin_faults() as error:
            if self.shared.on_fault is None:
                raise
            return self.shared.on_fault(self, error)

    def only_filter(self) -> Query | None:
        """Return the query without scores, if one plugin filters rows beside those that read the node object.

        Then all rows that these let pass, and none of which is feasible, have one rejecting plugin.
        """
        query = self._query
        return evolve(query, scores=(), raw_scores=()) if len(query.filters) == 1 else None

    def overlay(self, priority: int) -> NominatedOverlay:
        """Return the class as pods of that priority see it, with nominated pods; the caller syncs it."""
        if priority not in self._overlays:
            if len(self._overlays) >= self.policy.score_keys:
                self._overlays.clear()
            self._overlays[priority] = NominatedOverlay(self.table)
        return self._overlays[priority]

    def evict(self) -> None:
        """Give the memory back; specs of pods may refer to this object for long."""
        if not self.evicted:
            self.shared.users -= 1
            if self.index is not None:
                self.index.close()
            self.discard()

    def discard(self) -> None:
        """As :meth:`evict` after a fault: nothing of the class is called any more."""
        self.evicted, self.cacheable = True, False
        self.columns = self.index = self.rejected = self._updater = self._rowwise = None
        self._overlays, self._memo = {}, RowMemo(self.policy.answers)
        self.state, self.groupings = CycleState(), GroupMaxCache(self.policy)

    # ---- the index ---------------------------------------------------------------------------------------

    def find_best(self) -> bool:
        """Return whether ``index`` found the best rows; else :meth:`refresh` must."""
        index, shared = self.index, self.shared
        if index is None:
            return False
        stamp = change_stamp(self.table, self._objects)
        if stamp != self.stamp and not (self.index_only and self._is_current(stamp)):
            return False
        try:
            found = index.best()
            many = shared.users >= self.policy.matrix_min_classes and not self._matrix_tried
            if found and many and shared.are_many and self._use_matrix():
                index = self.index
                found = index is not None and index.best()
        except EvaluationFailed:
            self.cacheable = found = False
        if not found and not (isinstance(index, MatrixSlot) and index.attached):
            # The slot was evicted; or no row is feasible, or too much happened: let the columns serve.
            self.index = None
            self._visits = 0 if isinstance(index, MatrixSlot) else -self.policy.miss_visits
        return found

    def visited(self) -> None:
        """Note a use of the columns, which are up to date: get an index if that is frequent."""
        if self.index is None:
            self._visits += 1
            if self._visits >= self.policy.first_visits and not self._get_index():
                self._visits = -self.policy.retry_after

    def _get_index(self, *, state_index: bool = True) -> bool:
        """Get the index that the policy chooses; ``False`` if none serves. O(row states) or O(rows).

        *state_index*: also that one.
        """
        kind = self.shared.index_for(self.shared.users, by_state=self._by_state)
        if kind is IndexKind.MATRIX and self._use_matrix():
            return True
        rows = self.shared.rows_by_state() if state_index and kind is not IndexKind.ROWS else None
        if rows is None or self._rowwise is None or not rows.sync(self.node_columns.codes):
            return False
        states, columns, evaluate = rows.states(), self.columns, self._rowwise.evaluate
        most = max(self.policy.rowwise_rows, self.table.size // self.policy.rows_per_state)
        if columns is None and len(states) > most:
            return False
        known = evaluate if columns is None else columns.partial_score
        index = StateIndex(rows, self.node_columns, evaluate, self.policy)
        try:
            if not index.build({state: known(rows.one_of(state)) for state in states}):
                return False
        except EvaluationFailed:
            self.cacheable = False
            return False
        self.index = index
        return True

    def _use_matrix(self) -> bool:
        """Attach to the score matrix, if it serves this class; whether that was done."""
        shared = self.shared
        if not self._by_state or shared.index_for(shared.users) is not IndexKind.MATRIX:
            return False
        self._matrix_tried = True
        scores = self._partial_scores()
        if scores is None:
            return False
        most = 100 * sum([entry.weight for entry in self._query.scores])
        slot = self.shared.matrix().attach(self._query, scores, most, self._partial_scores)
        if slot is not None:
            self.index = slot
        return slot is not None

    def _partial_scores(self) -> Scores | None:
        try:
            return partial_scores(self._query, self.node_columns.codes)
        except EvaluationFailed:
            self.cacheable = False
            return None

    # ---- catching up -------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Catch up with the table by columns, built if need be; whether the class can be used."""
        table, columns = self.table, self.columns
        stamp = change_stamp(table, self._objects)
        if self.index_only or (stamp != self.stamp and not self._is_current(stamp)):
            return self._rebuild()
        since = self._row_version
        if since == table.row_log.version or not self.cacheable:
            return self.cacheable
        assert columns is not None
        assert self._updater is not None
        self._row_version = table.row_log.version
        if self._node_version != table.node_log.version:
            self._node_version = table.node_log.version
            columns.take_node_scores()
        try:
            return self._updater.catch_up(since) or self._rebuild()
        except EvaluationFailed:
            self.cacheable = False
        return self.cacheable

    def _is_current(self, stamp: Stamp) -> bool:
        """Return whether nothing changed that all rows have in common; refreshes the node columns."""
        versions = dependency_versions(self.plan.dependencies, self.table, self._objects)
        columns = self.node_columns
        if not columns.refresh() or self._node_generation != columns.generation or self._versions != versions:
            return False
        self.stamp = stamp
        return True

    # ---- building ----------------------------------------------------------------------------------------

    def _begin(self) -> bool:
        """Prepare what all rows have in common; return whether the class can be used."""
        table, plan, columns = self.table, self.plan, self.node_columns
        if self.index is not None:
            self.index.close()
        self.columns = self.index = self._updater = self._rowwise = None
        self.groupings = GroupMaxCache(self.policy)
        self.generation += 1
        columns.refresh()
        self._node_generation = columns.generation
        self.stamp = change_stamp(table, self._objects)
        self._versions = dependency_versions(plan.dependencies, table, self._objects)
        self._row_version, self._node_version = table.row_log.version, table.node_log.version
        query = None
        if columns.cacheable and class_key("", plan, self.pod) is not None:
            query = self._query.prepared(plan.cached, plan.pod_plan, columns.passing())
        self.cacheable, self.index_only = query is not None, False
        if query is None:
            return False
        self._query, self.state, self.new_state = query, query.state, query.state.template()
        self._by_state = query.plugins <= plan.by_state and not query.raw_scores
        self._rowwise = RowwiseEvaluator(query) if query.is_rowwise else None
        self._memo.clear()
        self._matrix_tried = False
        return True

    def _rebuild(self) -> bool:
        """Begin again, with columns; whether the class can be used. O(rows)."""
        if self._begin():
            self._build_columns()
        return self.cacheable

    def _build_columns(self) -> None:
        query, memo = self._query, self._memo if self._by_state else None
        columns = self.columns = ClassColumns(self.table, self.node_columns, query.raw_scores)
        self._updater = ColumnUpdater(columns, query, self.policy, self._rowwise, memo)
        try:
            self._updater.evaluate_all()
        except EvaluationFailed:
            self.cacheable = False

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if columns, index or groups are not consistent; O(rows)."""
        columns = self.columns
        if self.cacheable and columns is not None:
            columns.check_invariants()
            self.groupings.check_invariants(columns.totals, columns.generation, self.table)
        if self.cacheable and self.index is not None:
            self.index.check_invariants()
