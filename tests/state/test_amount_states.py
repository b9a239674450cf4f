"""Rows by number: equal numbers, equal amounts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.state import AmountStates, NodeTable, amount_states
from schedframe.state.sparse_resources import MOST_ASKED

from .build import FPGA, GPU, make_node, make_pod

NAMES = ("n0", "n1", "n2", "n3")
REQUESTS = ({}, {"cpu": 100}, {"cpu": 100, "memory": 5}, {GPU: 1}, {FPGA: 1, "cpu": 100})
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("node"), st.sampled_from(NAMES), st.sampled_from(({}, {"cpu": 4}, {"cpu": 4, GPU: 2}))
        ),
        st.tuples(st.just("drop"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("pod"), st.sampled_from(NAMES), st.sampled_from(REQUESTS)),
        st.tuples(st.just("end"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("look"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("grow"), st.just(""), st.none()),
    ),
    max_size=40,
)


def seen(table: NodeTable, row: int) -> Any:
    """What the table says of a row, in another way."""
    info = table.info(row)
    return (
        {name: amount for name, amount in info.allocatable.items() if amount},
        {name: amount for name, amount in info.requested.items() if amount},
        info.non_zero_cpu,
        info.non_zero_memory,
        len(info.pods),
    )


@given(steps=STEPS, most=st.sampled_from((1, 2, 1 << 14)))
def test_equal_numbers_mean_equal_amounts_for_good(steps: list[Any], most: int) -> None:
    table = NodeTable()
    states = table.following("states", AmountStates)
    meaning: dict[int, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(amount_states, "MOST_STATES", most)
        for i, (what, name, given) in enumerate(steps):
            row = table.live_row(name)
            if what == "node":
                table.set_node(make_node(name, given))
            elif what == "drop":
                table.remove_node(name)
            elif what == "grow":
                for extra in range(70):
                    table.set_node(make_node(f"extra{extra}-{i}"))
            elif row is not None and what == "pod":
                table.add_pod(name, make_pod(f"p{i}", name, given))
            elif row is not None and what == "end" and table.pods_at(row):
                table.remove_pod(name, next(iter(table.pods_at(row))))
            elif row is not None and what == "look":
                states.sync()
                number = states.number_of(row)
                assert number > 0
                assert states.cells[row] == number
                assert meaning.setdefault(number, seen(table, row)) == seen(table, row)


def test_nodes_in_the_same_state_share_a_number() -> None:
    table = NodeTable()
    for name in NAMES:
        table.set_node(make_node(name, {"cpu": 4}, labels={"name": name}))
    table.add_pod("n0", make_pod("a", "n0", {"cpu": 100}))
    table.add_pod("n1", make_pod("b", "n1", {"cpu": 100}, labels={"app": "web"}))
    states = table.following("states", AmountStates)
    rows = [table.row_of(name) or 0 for name in NAMES]
    one, same, empty, other = (states.number_of(row) for row in rows)
    assert one == same
    assert empty == other != one
    table.remove_pod("n0", "uid-a")
    states.sync()
    assert states.number_of(rows[0]) == empty


def test_there_are_no_numbers_among_very_many_resources() -> None:
    table = NodeTable()
    for i in range(MOST_ASKED + 1):
        table.set_node(make_node(f"n{i}", {f"example.com/r{i}": 1}))
    states = table.following("states", AmountStates)
    assert states.number_of(0) == 0
    assert table.amounts_at(0) is None
    table.remove_node("n1")
    states.sync()
    assert states.number_of(0) == 1
