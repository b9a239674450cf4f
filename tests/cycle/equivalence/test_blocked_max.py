"""The best rows of a column, against looking at all of it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from schedframe.cycle.equivalence import policy
from schedframe.cycle.equivalence.index.base import INFEASIBLE
from schedframe.cycle.equivalence.index.blocked_max import BlockedMax
from schedframe.cycle.search import tie_breaking as ties
from schedframe.errors import InvariantError

VALUES = st.sampled_from((INFEASIBLE, 0, 1, 2, 3, 400))


def drawn(tied: list[int], size: int, rng: Random) -> int | None:
    """The row that is chosen of these, the simple way."""
    if len(tied) < 2:
        return tied[0] if tied else None
    if len(tied) * ties.MOST_DRAWS < size:
        return tied[rng.randrange(len(tied))]
    while (row := int(rng.random() * size)) not in tied:
        pass
    return row


class MaximaMachine(RuleBasedStateMachine):
    """Blocks of two rows, in lists or in arrays; columns that grow."""

    @initialize(
        size=st.integers(0, 40),
        blocks=st.sampled_from((1, 2, 32)),
        largest=st.sampled_from((2, 4)),
        draws=st.sampled_from((0, 2, 16)),
        data=st.data(),
    )
    def begin(self, size: int, blocks: int, largest: int, draws: int, data: st.DataObject) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(ties, "MOST_DRAWS", draws)
        self.patch.setattr(policy, "SMALLEST_BLOCK", 2)
        self.patch.setattr(policy, "LARGEST_BLOCK", largest)
        self.patch.setattr(policy, "BLOCKS", blocks)
        self.model = data.draw(st.lists(VALUES, min_size=size, max_size=size))
        column = np.full(48, INFEASIBLE, np.int64)
        column[:size] = self.model
        self.maxima = BlockedMax(column, size)

    def teardown(self) -> None:
        self.patch.undo()

    @rule(data=st.data())
    def change_rows(self, data: st.DataObject) -> None:
        if self.model:
            rows = st.integers(0, len(self.model) - 1)
            changes = data.draw(st.lists(st.tuples(rows, VALUES), max_size=6))
            self.maxima.update(changes)
            for row, value in changes:
                self.model[row] = value

    @rule(value=VALUES)
    def the_best_one_falls(self, value: int) -> None:
        """What a placed pod does."""
        row = self.maxima.choose(Random(1), len(self.model))
        if row is not None:
            self.maxima.update([(row, value)])
            self.model[row] = value

    @rule(further=st.integers(0, 3), value=VALUES)
    def a_row_joins(self, further: int, value: int) -> None:
        row = len(self.model) + further
        if row < len(self.maxima.values) and value != INFEASIBLE:
            self.maxima.update([(row, value)])
            self.model += [INFEASIBLE] * further + [value]

    @rule(values=st.lists(VALUES, max_size=5))
    def all_rows_change(self, values: list[int]) -> None:
        count = min(len(values), len(self.model))
        self.model[:count] = values[:count]
        self.maxima.values[:count] = values[:count]
        self.maxima.rebuild(len(self.model))

    @rule(seed=st.integers(0, 100), more=st.integers(0, 3))
    def choose(self, seed: int, more: int) -> None:
        """The same draws and the same row as one finds who lists all tied rows."""
        top = max(self.model, default=INFEASIBLE)
        tied = [row for row, value in enumerate(self.model) if value == top != INFEASIBLE]
        rng, other = Random(seed), Random(seed)
        size = len(self.model) + more
        assert self.maxima.choose(rng, size) == drawn(tied, size, other)
        assert rng.getstate() == other.getstate()

    @invariant()
    def top_is_the_highest(self) -> None:
        if hasattr(self, "model"):
            assert self.maxima.top() == max(self.model, default=INFEASIBLE)
            assert self.maxima.values[: len(self.model)].tolist() == self.model
            self.maxima.check_invariants()


TestMaxima = MaximaMachine.TestCase


@pytest.mark.parametrize("size", [3, 64, 65, 2048, 5000, 70_000])
def test_rows_of_any_number(size: int) -> None:
    column = np.zeros(size, np.int64)
    column[[0, size // 2, size - 1]] = 7
    found = BlockedMax(column, size)
    rng = Random(1)
    assert {found.choose(rng, size) for _ in range(60)} == {0, size // 2, size - 1}
    found.update([(size // 2, 3)])
    assert {found.choose(rng, size) for _ in range(40)} == {0, size - 1}
    found.check_invariants()


def test_a_column_that_was_changed_without_update_is_detected() -> None:
    found = BlockedMax(np.zeros(100, np.int64), 100)
    found.update([(5, 1)])
    found.values[70] = 9
    with pytest.raises(InvariantError, match="highest value"):
        found.check_invariants()


@pytest.mark.parametrize("size", [100, 70_000])
def test_wrong_lists_of_best_rows_are_detected(size: int) -> None:
    found = BlockedMax(np.zeros(size, np.int64), size)
    found.update([(5, 1), (6, 1), (size - 1, 1)])
    assert found.choose(Random(1), size) in (5, 6, size - 1)
    found.check_invariants()
    assert found.nbytes > found.values.nbytes
    for rows in found._tied:
        if rows is not None:
            rows[0] += 1
    with pytest.raises(InvariantError, match="not those that are listed"):
        found.check_invariants()
