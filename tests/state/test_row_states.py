"""Rows in groups with the same amounts, against looking at all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe.errors import InvariantError
from schedframe.state import NodeTable, RowsByState, RowState, policy
from schedframe.state.policy import KEPT_COLUMNS

from .build import FPGA, GPU, make_node, make_pod

NAMES = tuple(f"n{i}" for i in range(9))
REQUESTS: tuple[dict[str, int], ...] = ({}, {"cpu": 100}, {"cpu": 100, "memory": 5}, {GPU: 1}, {FPGA: 1})
OFFERS: tuple[dict[str, int], ...] = ({}, {"cpu": 4}, {"cpu": 4, GPU: 2})


def rows_of(alike: RowsByState, group: RowState) -> list[int]:
    return [row for row, number in enumerate(alike.numbers) if number == group.number]


class AlikeRowsMachine(RuleBasedStateMachine):
    """Nodes and pods come and go, rows are left out and let in; small blocks, few groups, a short list."""

    @initialize(
        most=st.sampled_from((4, 4096)),
        few=st.sampled_from((1, 8)),
    )
    def begin(self, most: int, few: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(policy, "ROW_STATES", most)
        self.patch.setattr(policy, "SMALLEST_STATE_BLOCK", few)
        self.patch.setattr(policy, "PORTION", 4)
        self.patch.setattr(policy, "ROWS_PER_STATE", 1)
        self.table, self.out, self.pods = NodeTable(), set[int](), 0
        for name in NAMES[:5]:
            self.table.set_node(make_node(name, {"cpu": 4}))
        self.alike = RowsByState(self.table)
        self.alike.rebuild(self.codes())
        self.known = set(self.alike.states())
        self.seen = self.alike.activations

    def teardown(self) -> None:
        self.patch.undo()

    def codes(self) -> Any:
        codes = np.where(self.table.alive, 0, -1).astype(np.int32)
        codes[list(self.out)] = 1
        return codes

    @rule(name=st.sampled_from(NAMES), offer=st.sampled_from(OFFERS), out=st.booleans())
    def set_node(self, name: str, offer: dict[str, int], out: bool) -> None:
        row = self.table.set_node(make_node(name, offer))
        (self.out.add if out else self.out.discard)(row)

    @rule(name=st.sampled_from(NAMES))
    def remove_node(self, name: str) -> None:
        row = self.table.live_row(name)
        if row is not None:
            self.table.remove_node(name)
            self.out.discard(row)

    @rule(name=st.sampled_from((*NAMES, "unknown")), request=st.sampled_from(REQUESTS))
    def add_pod(self, name: str, request: dict[str, int]) -> None:
        self.pods += 1
        self.table.add_pod(name, make_pod(f"p{self.pods}", name, request))

    @rule(name=st.sampled_from((*NAMES, "unknown")))
    def remove_pod(self, name: str) -> None:
        row = self.table.row_of(name)
        if row is not None and self.table.pods_at(row):
            self.table.remove_pod(name, next(iter(self.table.pods_at(row))))

    @rule(nodes=st.integers(1, 70))
    def grow(self, nodes: int) -> None:
        for i in range(nodes):
            self.table.set_node(make_node(f"more{i}", {"cpu": 4}))

    @rule()
    def begin_anew(self) -> None:
        self.alike.rebuild(self.codes())

    @rule()
    def hear_of_births(self) -> None:
        """Who takes in what is listed knows all groups that have rows."""
        if not self.alike.sync(self.codes()):
            return
        activated = self.alike.activated_since(self.seen)
        if activated is None:
            self.known = set(self.alike.states())
        else:
            self.known |= set(activated)
        self.seen = self.alike.activations
        assert {group for group in self.known if group.count} == set(self.alike.states())

    @precondition(lambda self: hasattr(self, "alike") and self.alike.usable)
    @rule(data=st.data())
    def look_for_rows(self, data: st.DataObject) -> None:
        if not self.alike.sync(self.codes()):
            return
        groups = self.alike.states()
        some = data.draw(st.lists(st.sampled_from(groups), unique=True, min_size=1)) if groups else []
        rows = sorted(row for group in some for row in rows_of(self.alike, group))
        if some:
            assert [self.alike.nth(some, n) for n in range(len(rows))] == rows
        assert self.alike.rows_of(some).tolist() == rows
        for group in some:
            assert self.alike.one_of(group) in rows_of(self.alike, group)

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "alike") and self.alike.sync(self.codes()):
            self.alike.check_invariants(self.codes())


TestAlikeRows = AlikeRowsMachine.TestCase


def table_of(*requests: dict[str, int]) -> NodeTable:
    """A node with a pod for each."""
    table = NodeTable()
    for i, request in enumerate(requests):
        table.set_node(make_node(f"n{i}", {"cpu": 4}))
        table.add_pod(f"n{i}", make_pod(f"p{i}", f"n{i}", request))
    return table


def open_rows(table: NodeTable) -> Any:
    return np.where(table.alive, 0, -1).astype(np.int32)


def test_nodes_with_the_same_are_a_group() -> None:
    table = table_of({"cpu": 1}, {"cpu": 2}, {"cpu": 1}, {"cpu": 1, GPU: 1})
    alike = RowsByState(table)
    codes = open_rows(table)
    assert not alike.usable
    assert alike.nbytes == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "ROWS_PER_STATE", 1)
        assert alike.rebuild(codes)
    assert sorted(rows_of(alike, group) for group in alike.states()) == [[0, 2], [1], [3]]
    assert alike.nbytes > 0
    codes[0] = 1
    table.remove_pod("n1", "uid-p1")
    table.add_pod("n1", make_pod("q", "n1", {"cpu": 1}))
    table.row_log.append(0)
    assert alike.sync(codes)
    assert sorted(rows_of(alike, group) for group in alike.states()) == [[1, 2], [3]]


def test_rows_that_all_differ_are_not_worth_it() -> None:
    table = table_of(*({"cpu": i} for i in range(50)))
    alike = RowsByState(table)
    assert not alike.rebuild(open_rows(table))
    assert not alike.sync(open_rows(table))


@pytest.mark.parametrize("most", [4, 8])
def test_rows_that_come_to_differ_are_given_up(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ROW_STATES", most)
    table = table_of(*({"cpu": 1} for _ in range(20)))
    alike = RowsByState(table)
    assert alike.rebuild(open_rows(table))
    usable = []
    for i in range(20):
        table.add_pod(f"n{i}", make_pod(f"q{i}", f"n{i}", {"cpu": i}))
        usable.append(alike.sync(open_rows(table)))
    assert usable == sorted(usable, reverse=True)
    assert usable[most // 2 - 1]
    assert not usable[-1]
    assert alike.states() == []


def test_groups_without_rows_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ROW_STATES", 4)
    table = table_of({"cpu": 1}, {"cpu": 1})
    alike = RowsByState(table)
    assert alike.rebuild(open_rows(table))
    for i in range(40):
        table.add_pod("n0", make_pod(f"q{i}", "n0", {"cpu": 1}))
        assert alike.sync(open_rows(table))
        alike.check_invariants(open_rows(table))


def test_among_very_many_resources_there_are_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ROWS_PER_STATE", 1)
    table = NodeTable()
    for i in range(KEPT_COLUMNS + 1):
        table.set_node(make_node(f"n{i}", {f"example.com/r{i // 2}": 1}))
    alike = RowsByState(table)
    assert alike.rebuild(open_rows(table))
    for i in range(KEPT_COLUMNS + 1):
        table.set_node(make_node(f"n{i}", {f"example.com/r{i}": 1}))
    assert not alike.sync(open_rows(table))
    assert not alike.rebuild(open_rows(table))


def test_there_is_no_row_beyond_the_last() -> None:
    alike = RowsByState(table := table_of({"cpu": 1}, {"cpu": 1}))
    assert alike.rebuild(open_rows(table))
    groups = alike.states()
    assert [alike.nth(groups, n) for n in range(2)] == [0, 1]
    assert alike.rows_of([]).tolist() == []
    with pytest.raises(InvariantError, match="fewer rows"):
        alike.nth(groups, 2)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda group, alike: setattr(group, "count", 4), "other rows than it counts"),
        (lambda group, alike: group.blocks.reverse(), "other rows than it counts"),
        (
            lambda group, alike: alike.table.add_pod("n0", make_pod("q", "n0", {"cpu": 1})),
            "different resources",
        ),
        (lambda group, alike: alike.numbers.__setitem__(1, 7), "numbers of no state"),
        (lambda group, alike: alike.table.set_node(make_node("new")), "not those that have no code"),
    ],
)
def test_what_is_wrong_is_noticed(spoil: Any, message: str) -> None:
    table = table_of({"cpu": 1}, {"cpu": 1}, {"cpu": 1})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "SMALLEST_STATE_BLOCK", 4)
        alike = RowsByState(table)
        assert alike.rebuild(open_rows(table))
    alike.check_invariants(open_rows(table))
    spoil(alike.states()[0], alike)
    with pytest.raises(InvariantError, match=message):
        alike.check_invariants(open_rows(table))


def test_where_a_row_goes_is_known_by_its_group_and_what_the_pod_requests() -> None:
    """Of rows that another change took elsewhere, or by another pod, nothing follows."""
    table = table_of(*({"cpu": 1} for _ in range(8)))
    alike = RowsByState(table)
    assert alike.rebuild(open_rows(table))

    def after(*changes: tuple[str, int]) -> list[list[int]]:
        for what, row in changes:
            if what == "leaves":
                table.remove_pod(f"n{row}", f"uid-p{row}")
            elif what == "grows":
                table.set_node(make_node(f"n{row}", {"cpu": 8}))
            else:
                table.add_pod(f"n{row}", make_pod(f"{what}{row}", f"n{row}", {"cpu": int(what)}))
            assert alike.sync(open_rows(table))
            alike.check_invariants(open_rows(table))
        return sorted(rows_of(alike, group) for group in alike.states())

    assert after(("leaves", 0), ("1", 1), ("1", 2)) == [[0], [1, 2], [3, 4, 5, 6, 7]]
    assert after(("2", 3), ("2", 4), ("1", 5)) == [[0], [1, 2, 5], [3, 4], [6, 7]]
    assert after(("1", 0)) == [[0, 6, 7], [1, 2, 5], [3, 4]]
    assert after(("grows", 6), ("1", 7), ("1", 6)) == [[0], [1, 2, 5, 7], [3, 4], [6]]


def test_how_many_pods_there_are_counts_where_no_more_may_come() -> None:
    table = NodeTable()
    for name in ("n0", "n1", "n2"):
        table.set_node(make_node(name, {"cpu": 8, "pods": 3}))
    for name, node, cpu in (("a", "n0", 2), ("b", "n1", 1), ("c", "n1", 1), ("d", "n2", 2)):
        table.add_pod(node, make_pod(name, node, {"cpu": cpu, "memory": cpu}))
    alike = RowsByState(table)
    assert alike.rebuild(open_rows(table))
    assert sorted(rows_of(alike, group) for group in alike.states()) == [[0, 1, 2]]
    # The same pod comes to each: n1 is full then, the others are not.
    for name, node in (("x", "n0"), ("y", "n1"), ("z", "n2")):
        table.add_pod(node, make_pod(name, node, {"cpu": 1}))
        assert alike.sync(open_rows(table))
        alike.check_invariants(open_rows(table))
    assert sorted(rows_of(alike, group) for group in alike.states()) == [[0, 2], [1]]


def test_a_pod_comes_once_though_the_table_forgets_what_else_happened() -> None:
    table = table_of(*({"cpu": 1} for _ in range(8)))
    alike = RowsByState(table)
    assert alike.rebuild(open_rows(table))
    for name, node in (("q", "n1"), ("r", "n1"), ("s", "n0")):
        table.add_pod(node, make_pod(name, node, {"cpu": 1}))
        assert alike.sync(open_rows(table))
    table.row_log.forget()
    assert alike.sync(open_rows(table))
    alike.check_invariants(open_rows(table))
    assert sorted(rows_of(alike, group) for group in alike.states()) == [[0], [1], [2, 3, 4, 5, 6, 7]]
