"""EquivalenceClass: what is known of the pods that no cached plugin can tell apart.

A class covers the plugins whose answer for a row depends on that row and the pod alone. Design: README.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import evolve

from ...api import Pod
from ...framework import MAX_SCORE, CycleState, Framework
from ...state import ObjectStore
from .cacheability import CacheablePlan
from .class_key import class_key
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

    A class begins with an index alone where one serves it; its columns are built when a row must be read by
    itself. ``refresh`` is O(dirty rows), plus O(rows) when the highest raw score of a
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
    columns: ClassColumns | None
    """Verdict and score of each row; ``None``: the index was enough so far, or the class is not cacheable."""
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
    ) -> None:
        self.framework, self.plan, self.pod = framework, plan, pod
        self.table = framework.handle.table
        self.shared, self.node_columns, self.policy = shared, shared.node_columns, shared.policy
        self.cacheable = self.evicted = False
        self.referenced, self.generation, self.stamp = True, 0, (-1, -1, -1)
        self.state = CycleState()
        self.new_state: Callable[[], CycleState] = CycleState
        self.columns = self.index = self.rejected = None
        self.groupings = GroupMaxCache(self.policy)
        self._objects = objects
        self._versions: Versions = ()
        self._node_generation = -1
        self._query = Query(self.table, self.node_columns.status_codes, pod)
        self._rowwise: RowwiseEvaluator | None = None  # None: some plugin has no per-node form
        self._by_state = False  # whether rows in equal states get equal answers, but for node scores
        self._memo: RowMemo[int] = RowMemo(self.policy.answers)
        self._overlays: dict[int, NominatedOverlay] = {}
        self._wait = self.policy.first_visits  # visits with columns before the class gets an index
        self._users = 0  # of the shared columns, when the index was chosen
        shared.users += 1
        self._begin()
        if not self._get_index(state_index=shared.users <= self.policy.index_only_classes):
            self.refresh()

    @property
    def nbytes(self) -> int:
        """About how much memory the class takes, in bytes, without what it shares."""
        parts = (self.columns, self.index, self.groupings, *self._overlays.values())
        sizes = sum([part.nbytes for part in parts if part is not None])
        return sizes + self._memo.nbytes() + BYTES_A_CLASS

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
            self._close_slot()
            self.discard()

    def discard(self) -> None:
        """As :meth:`evict` after a fault: nothing of the class is called any more."""
        self.evicted, self.cacheable = True, False
        self.columns = self.index = self.rejected = self._rowwise = None
        self._overlays, self._memo = {}, RowMemo(self.policy.answers)
        self.state, self.groupings = CycleState(), GroupMaxCache(self.policy)
        self.new_state = CycleState
        # These have columns of all rows, which are freed with the last class that shares them. To read one of
        # an evicted class is an error.
        del self.shared, self.node_columns, self._query

    # ---- the index ---------------------------------------------------------------------------------------

    def find_best(self) -> bool:
        """Return whether ``index`` found the best rows; else :meth:`refresh` must."""
        index, shared = self.index, self.shared
        if index is None:
            return False
        stamp = change_stamp(self.table, self._objects)
        if stamp != self.stamp and not self._is_current(stamp):
            return False
        try:
            found = index.best()
            if (not found or self._users != shared.users) and self._use_matrix():
                index = self.index
                found = index is not None and index.best()
        except EvaluationFailed:
            self.cacheable = found = False
        if not found and not (isinstance(index, MatrixSlot) and index.attached):
            # No row is feasible, or too much happened: let the columns serve.
            self.index, self._wait = None, self.policy.miss_visits
        return found

    def visited(self) -> None:
        """Note a use of the columns, which are up to date: get an index if that is frequent."""
        if self.index is None:
            self._wait -= 1
            if self._wait <= 0 and not self._get_index():
                self._wait = self.policy.retry_after

    def _get_index(self, *, state_index: bool = True) -> bool:
        """Get the index that the policy chooses; ``False`` if none serves. O(row states) or O(rows).

        *state_index*: also that one.
        """
        try:
            if not self._use_matrix() and state_index and self._by_state:
                self.index = self._state_index()
        except EvaluationFailed:
            self.cacheable = False
        return self.index is not None

    def _use_matrix(self) -> bool:
        """Attach to the score matrix, if it serves this class better; whether that was done."""
        shared = self.shared
        self._users = shared.users
        if isinstance(self.index, MatrixSlot) and self.index.attached:
            return False
        if shared.index_for(shared.users, by_state=self._by_state) is not IndexKind.MATRIX:
            return False
        query = self._query
        most = MAX_SCORE * sum([entry.weight for entry in query.scores])
        slot = shared.matrix.attach(query, most, partial(partial_scores, query, self.node_columns.codes))
        if slot is not None:
            self.index = slot
        return slot is not None

    def _close_slot(self) -> None:
        if isinstance(self.index, MatrixSlot):
            self.index.close()

    def _state_index(self) -> StateIndex | None:
        rows, most = self.shared.rows_by_state(), self.table.size
        if rows is None or self._rowwise is None or not rows.sync(self.node_columns.codes):
            return None
        if self.columns is None:
            most = max(self.policy.rowwise_rows, most // self.policy.rows_per_state)
        index = StateIndex(rows, self.node_columns, self._rowwise.evaluate, self.policy)
        return index if index.build(most) else None

    # ---- catching up -------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Catch up with the table by columns, built if need be; whether the class can be used."""
        stamp = change_stamp(self.table, self._objects)
        if stamp != self.stamp and not self._is_current(stamp):
            self._begin()
        if not self.cacheable:
            return False
        try:
            if self.columns is None:
                memo = self._memo if self._by_state else None
                self.columns = ClassColumns(self._query, self.node_columns, self.policy, self._rowwise, memo)
            else:
                self.columns.sync()
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

    def _begin(self) -> None:
        """Begin again, with what goes for all rows; neither index nor columns are made."""
        table, plan, columns = self.table, self.plan, self.node_columns
        self._close_slot()
        self.columns = self.index = self._rowwise = None
        self.groupings = GroupMaxCache(self.policy)
        self.generation += 1
        columns.refresh()
        self._node_generation = columns.generation
        self.stamp = change_stamp(table, self._objects)
        self._versions = dependency_versions(plan.dependencies, table, self._objects)
        query = None
        # A plugin may be unable to compare the pod by now; for the first generation the cache has the key.
        signed = self.generation == 1 or class_key("", plan, self.pod) is not None
        if columns.cacheable and signed:
            query = self._query.prepared(plan.cached, plan.pod_plan, columns.passing())
        self.cacheable, self._by_state = query is not None, False
        if query is not None:
            self._query, self.state, self.new_state = query, query.state, query.state.template()
            self._by_state = query.plugins <= plan.by_state and not query.raw_scores
            self._rowwise = RowwiseEvaluator(query) if query.is_rowwise else None
            self._memo.clear()

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if columns, index or groups are not consistent; O(rows)."""
        columns = self.columns
        self.node_columns.check_invariants()
        if self.cacheable and columns is not None:
            columns.check_invariants()
            self.groupings.check_invariants(columns.totals, columns.generation, self.table)
        if self.cacheable and self.index is not None:
            self.index.check_invariants()
        for overlay in self._overlays.values():
            overlay.check_invariants()
