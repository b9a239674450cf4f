"""StateIndex: the best rows of a class by row state; no row is looked at where only its resources count."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from operator import attrgetter
from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import field

from ...._base.value import record
from ....errors import InvariantError
from ....state import LazyRows, Rows, RowsByState, RowState
from ...search.tie_breaking import Scores, many
from ..node_columns import NodeColumns
from ..policy import BYTES_AN_ANSWER, Policy

Key = tuple[int, ...]

_NUMBER: Final = attrgetter("number")


@record(eq=False)
class ScoreBuckets:
    """The feasible states with one node-score key, in buckets of equal partial scores."""

    listed: set[RowState] = field(factory=set)
    """All of them; some may have no rows any more."""
    highest: int = 0
    """The score of the states that :meth:`best` returned last."""
    _buckets: dict[int, list[RowState]] = field(factory=dict)
    _heap: list[int] = field(factory=list)
    """Partial scores, negated."""

    def add(self, state: RowState, score: int) -> None:
        """Add a state that has rows; O(log of distinct scores)."""
        self.listed.add(state)
        bucket = self._buckets.get(score)
        if bucket is None:
            self._buckets[score] = [state]
            heappush(self._heap, -score)
        else:
            bucket.append(state)

    def best(self) -> list[RowState]:
        """Return the states with the score ``highest``; empty if none has rows. O(1), amortised.

        The last one has rows; others may have none any more.
        """
        heap, buckets = self._heap, self._buckets
        while heap:
            self.highest = -heap[0]
            states = buckets[self.highest]
            while states and not states[-1].count:
                self.listed.discard(states.pop())
            if states:
                return states
            del buckets[-heappop(heap)]
        return []

    def prune(self) -> None:
        """Drop the states without rows from what :meth:`best` returns."""
        states = self.best()
        self.listed.difference_update([state for state in states if not state.count])
        states[:] = [state for state in states if state.count]


@record(eq=False)
class StateIndex:
    """Partial scores by row state, best ones first.

    O(states that rows entered since the last visit + node-score keys) for each pod, for any number of dirty
    rows and of rows. The columns of the class are not maintained in the meantime.
    """

    rows: RowsByState
    node_columns: NodeColumns
    evaluate: Callable[[int], int]
    """Partial score of a row that the node columns let pass; the negated code if it is rejected."""
    policy: Policy
    found: list[RowState] = field(factory=list)
    """The best states, as of the last :meth:`best`; the last one has rows."""
    _scores: dict[int, int] = field(factory=dict)
    """Partial score by number of the state; the negated code of a rejected one."""
    _by_key: dict[Key, ScoreBuckets] = field(factory=dict)
    _node_scores: list[tuple[ScoreBuckets, int]] | None = None
    """The buckets that have rows, with the scores of their nodes; ``None``: to be computed."""
    _seen: int = 0
    """Activations of states taken in."""

    @property
    def nbytes(self) -> int:
        """About how much memory this takes, without the rows by state."""
        return BYTES_AN_ANSWER * len(self._scores)

    def build(self, most: int) -> bool:
        """Begin with the states that have rows, which are *most* at most.

        ``False`` if there are more, no state is feasible, or too many node-score keys are.
        """
        return self._take_in(self.rows.states(), most) and bool(self._by_key)

    # ---- ScoreIndex --------------------------------------------------------------------------------------

    def best(self) -> bool:
        """Find the states whose rows are the best; ``False`` if the columns of the class must tell.

        The node columns must be up to date.
        """
        rows = self.rows
        if rows.score_columns is not self.node_columns.score_columns or not rows.sync(
            self.node_columns.codes
        ):
            return False
        if self._seen != rows.activations:
            activated = rows.activated_since(self._seen)
            if activated is None or not self._take_in(activated, self.policy.rowwise_rows):
                return False
        self.found = self._best_states()
        return bool(self.found)

    def draw(self, rng: Random) -> int:
        """Return one of the rows in the best states, by the rule of :mod:`~.tie_breaking`."""
        rows, states = self.rows, self.found
        size = rows.table.size
        ties, enough = 0, many(size)
        for state in states:
            ties += state.count
            if ties >= enough:
                numbers, random, wanted = rows.numbers, rng.random, set(map(_NUMBER, states))
                while numbers[row := int(random() * size)] not in wanted:
                    pass
                return row
        if ties == 1:
            return rows.one_of(states[-1])
        living = [state for state in states if state.count]
        if len(living) < len(states):
            # The next draw will not pass over these again.
            for buckets in self._by_key.values():
                buckets.prune()
        return rows.nth(living, rng.randrange(ties))

    def feasible_rows(self) -> Rows:
        """Return the rows in feasible states, as of the last :meth:`best`."""
        rows, states = self.rows, self._living()
        count = sum([state.count for state in states])
        return LazyRows(rows.table, count, lambda: rows.rows_of(states))

    def scores_at(self, positions: npt.NDArray[np.intp]) -> Scores:
        """Return the scores of these feasible rows; O(rows)."""
        buckets = {id(each): score for each, score in self._node_scores or ()}
        by_key = {key: buckets.get(id(each), 0) for key, each in self._by_key.items()}
        rows = positions.tolist()
        found = [self._score_at(row) + by_key[self.rows.state_at(row).score_key] for row in rows]
        return np.array(found, np.int64)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a feasible state is not listed, or the best are not found."""
        if self._seen != self.rows.activations:
            return
        if self.rows.score_columns is not self.node_columns.score_columns:
            return  # the next best() finds nothing
        fresh = StateIndex(self.rows, self.node_columns, self._score_at, self.policy)
        fresh.build(len(self._scores))
        if self._living() != fresh._living():
            raise InvariantError("the feasible states are not those that are listed")
        best, others = self._best_states(), fresh._best_states()
        if {state for state in best if state.count} != set(others):
            raise InvariantError("the best states are not those with the highest score")

    def _score_at(self, row: int) -> int:
        return self._scores[self.rows.state_at(row).number]

    def _living(self) -> set[RowState]:
        return {state for each in self._by_key.values() for state in each.listed if state.count}

    # ---- the best states ---------------------------------------------------------------------------------

    def _best_states(self) -> list[RowState]:
        while True:
            best: list[RowState] = []
            most = -1
            for buckets, score in self._node_scores or self._compute_node_scores():
                states = buckets.best()
                if not states:
                    break
                total = score + buckets.highest
                if total > most:
                    best, most = states, total
                elif total == most:
                    best = [*best, *states]
            else:
                return best
            # Normalised scores of nodes depend on which of the keys have feasible rows.
            self._node_scores = None

    def _compute_node_scores(self) -> list[tuple[ScoreBuckets, int]]:
        present = {key: buckets for key, buckets in self._by_key.items() if buckets.best()}
        scores = self.node_columns.node_scores(tuple(present)) if present else []
        self._node_scores = list(zip(present.values(), scores, strict=True))
        return self._node_scores

    # ---- catching up -------------------------------------------------------------------------------------

    def _take_in(self, activated: list[RowState], most: int) -> bool:
        """List the states that rows entered; ``False`` if more than *most* are to be evaluated."""
        rows, scores = self.rows, self._scores
        if len(scores) > self.policy.answers:
            return False
        living = [state for state in activated if state.count]
        unknown = [state for state in living if state.number not in scores]
        if len(unknown) > most:
            return False
        for state in unknown:
            scores[state.number] = self.evaluate(rows.one_of(state))
        for state in living:
            score = scores[state.number]
            if score >= 0 and not self._list(state, score):
                return False
        self._seen = rows.activations
        return True

    def _list(self, state: RowState, score: int) -> bool:
        """Add a feasible state; ``False`` if there are too many node-score keys."""
        buckets = self._by_key.get(state.score_key)
        if buckets is None:
            if len(self._by_key) >= self.policy.score_keys:
                return False
            buckets = self._by_key[state.score_key] = ScoreBuckets()
        if state not in buckets.listed:
            if not buckets.listed:
                self._node_scores = None
            buckets.add(state, score)
        return True
