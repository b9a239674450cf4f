"""The best rows by group, against looking at all rows."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from schedframe.cycle.equivalence import policy
from schedframe.cycle.equivalence.index.group_max import GroupMax, GroupMaxCache
from schedframe.cycle.search import tie_breaking as ties
from schedframe.cycle.search.tie_breaking import INFEASIBLE, Scores
from schedframe.errors import InvariantError
from schedframe.state import NodeTable

from ..build import make_node

VALUES = st.sampled_from((INFEASIBLE, 0, 1, 2, 400))
CODES = st.integers(-1, 3)


def drawn(tied: list[int], size: int, rng: Random) -> int | None:
    """The row that is chosen of these, the simple way."""
    if len(tied) < 2:
        return tied[0] if tied else None
    if len(tied) * ties.MOST_DRAWS < size:
        return tied[rng.randrange(len(tied))]
    while (row := int(rng.random() * size)) not in tied:
        pass
    return row


class GroupedMachine(RuleBasedStateMachine):
    """Blocks of two rows and more."""

    @initialize(
        cells=st.lists(st.tuples(VALUES, CODES), min_size=1, max_size=40), draws=st.sampled_from((0, 2, 16))
    )
    def begin(self, cells: list[tuple[int, int]], draws: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(ties, "MOST_DRAWS", draws)
        self.patch.setattr(policy, "SMALLEST_BLOCK", 2)
        self.patch.setattr(policy, "BLOCKS", 8)
        self.values = np.array([value for value, _ in cells] + [INFEASIBLE] * 4, np.int64)
        self.codes = np.array([code for _, code in cells] + [7] * 4, np.int32)
        self.grouped = GroupMax((self.codes,), policy.DEFAULT)
        assert self.grouped.rebuild(self.values, len(cells))

    def teardown(self) -> None:
        self.patch.undo()

    @rule(data=st.data())
    def change_rows(self, data: st.DataObject) -> None:
        last = len(self.values) - 5
        changes = data.draw(st.lists(st.tuples(st.integers(0, last), VALUES, CODES), max_size=6))
        for row, value, code in changes:
            self.values[row], self.codes[row] = value, code
        assert self.grouped.update([row for row, _, _ in changes], self.values)

    @rule(row=st.sampled_from((0, 1, 3)))
    def go_beyond(self, row: int) -> None:
        """Rows that are not grouped: those with a score have to be, others may be what a trial gave back."""
        beyond = len(self.values) - 4 + row
        assert self.grouped.update([beyond], self.values)
        with_score = self.values.copy()
        with_score[beyond] = 1
        assert not self.grouped.update([beyond], with_score)

    @rule(gains=st.lists(st.integers(0, 3), min_size=5, max_size=5), draw=st.integers(0, 100))
    def choose(self, gains: list[int], draw: int) -> None:
        codes = self.grouped.present()
        free = (self.values != INFEASIBLE).nonzero()[0].tolist()
        assert set(codes) == {(int(self.codes[row]),) for row in free}
        if not codes:
            return
        totals = {row: int(self.values[row]) + gains[int(self.codes[row])] for row in free}
        best = [row for row, total in totals.items() if total == max(totals.values())]
        rng, other, size = Random(draw), Random(draw), len(self.values)
        assert self.grouped.choose([gains[code] for (code,) in codes], rng, size) == drawn(best, size, other)
        assert rng.getstate() == other.getstate()

    @rule(passing=st.sets(CODES), draw=st.integers(0, 100))
    def choose_among_some(self, passing: set[int], draw: int) -> None:
        gains = [0 if code in passing else None for (code,) in self.grouped.present()]
        groups = self.grouped.chosen(gains)
        rows = [
            row
            for row in (self.values != INFEASIBLE).nonzero()[0].tolist()
            if int(self.codes[row]) in passing
        ]
        assert self.grouped.rows_of(groups).tolist() == rows
        assert sum(group.rows for group in groups) == len(rows)
        if not rows:
            return
        best = [row for row in rows if self.values[row] == self.values[rows].max()]
        rng, other, size = Random(draw), Random(draw), len(self.values)
        assert self.grouped.choose(gains, rng, size) == drawn(best, size, other)
        assert rng.getstate() == other.getstate()

    @invariant()
    def equals_a_rebuild(self) -> None:
        self.grouped.check_invariants(self.values)


TestGrouped = GroupedMachine.TestCase


def table_of(nodes: int) -> NodeTable:
    table = NodeTable()
    for i in range(nodes):
        table.set_node(make_node(f"n{i}"))
    return table


def column(table: NodeTable) -> Scores:
    return np.arange(table.capacity, dtype=np.int64)


def of(ways: GroupMaxCache, codes: Any, values: Scores, table: NodeTable) -> GroupMax | None:
    return ways.of(codes, values, 0, table)


def touch(table: NodeTable, times: int = 1) -> None:
    for _ in range(times):
        table.set_node(make_node("n0"))


def test_a_grouping_is_maintained_from_its_second_visit_on() -> None:
    table, ways = table_of(5), GroupMaxCache(policy.DEFAULT)
    maxima, codes = column(table), np.zeros(table.capacity, np.int64)
    assert of(ways, (codes,), maxima, table) is None
    found = of(ways, (codes,), maxima, table)
    assert found is not None
    assert found.present() == [(0,)]
    assert ways.nbytes == found.nbytes > 0
    codes[3] = 1
    table.set_node(make_node("n3"))
    assert of(ways, (codes,), maxima, table) is found
    assert sorted(found.present()) == [(0,), (1,)]
    found.check_invariants(maxima)


def test_a_grouping_is_built_again_after_many_changes() -> None:
    table, ways = table_of(5), GroupMaxCache(policy.DEFAULT)
    maxima, codes = column(table), np.zeros(table.capacity, np.int64)
    assert [of(ways, (codes,), maxima, table) is None for _ in range(2)] == [True, False]
    touch(table, policy.DEFAULT.rowwise_rows + 1)
    assert [of(ways, (codes,), maxima, table) is None for _ in range(2)] == [True, False]
    assert [ways.of((codes,), maxima, 1, table) is None for _ in range(2)] == [True, False]


def test_nodes_that_joined_are_taken_in() -> None:
    table, ways = table_of(3), GroupMaxCache(policy.DEFAULT)
    maxima, codes = column(table), np.zeros(table.capacity, np.int64)
    of(ways, (codes,), maxima, table)
    of(ways, (codes,), maxima, table)
    table.set_node(make_node("n3"))
    maxima[3] = 1000
    of(ways, (codes,), maxima, table)
    found = of(ways, (codes,), maxima, table)
    assert found is not None
    found.present()
    assert found.choose([0], Random(1), table.size) == 3


def test_too_many_groups_are_not_counted_again_for_long() -> None:
    table, ways = table_of(5), GroupMaxCache(policy.Policy(groups=2, retry_after=2))
    maxima, codes = column(table), np.arange(table.capacity)
    assert [of(ways, (codes,), maxima, table) for _ in range(2)] == [None, None]
    codes[:] = 0
    assert [of(ways, (codes,), maxima, table) is None for _ in range(3)] == [True, True, False]
    codes[:3] = 1, 2, 3
    for i in range(3):
        table.set_node(make_node(f"n{i}"))
    assert of(ways, (codes,), maxima, table) is None


def test_few_groupings_are_kept_and_short_arrays_are_refused() -> None:
    table, ways = table_of(2), GroupMaxCache(policy.DEFAULT)
    maxima = column(table)
    assert of(ways, (np.zeros(1, np.int64),), maxima, table) is None
    first = np.zeros(table.capacity, np.int64)
    of(ways, (first,), maxima, table)
    others = [first.copy() for _ in range(policy.DEFAULT.groupings)]
    for codes in others:
        of(ways, (codes,), maxima, table)
    assert of(ways, (first,), maxima, table) is None
    assert of(ways, (others[-1],), maxima, table) is not None


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 3000])
def test_without_columns_all_rows_are_one_group(size: int) -> None:
    random, values = Random(size), np.full(size, INFEASIBLE, np.int64)
    groups = GroupMax((), policy.DEFAULT)
    assert groups.rebuild(values, size)
    assert groups.present() == []
    for step in range(60):
        rows = [random.randrange(size) for _ in range(1 + step % 3)]
        values[rows] = random.choice((INFEASIBLE, 0, 1, 2))
        assert groups.update(rows, values)
        groups.check_invariants(values)
        tied = (values == values.max()).nonzero()[0].tolist() if values.max() != INFEASIBLE else []
        assert groups.present() == [()] * bool(tied)
        if tied:
            assert groups.choose([0], Random(step), size) == drawn(tied, size, Random(step))


def test_damage_is_detected() -> None:
    values, codes = np.arange(4, dtype=np.int64), np.array([0, 0, 1, 1])
    damaged = GroupMax((codes,), policy.DEFAULT)
    damaged.rebuild(values, 4)
    values[0] = 9
    with pytest.raises(InvariantError):
        damaged.check_invariants(values)
