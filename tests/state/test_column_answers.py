"""Answers that a column caches: evaluated once for each value, right after every change."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import Node, ObjectMeta
from schedframe.state import NodeTable


def node(name: str, zone: str | None) -> Node:
    return Node(ObjectMeta(name=name, labels={} if zone is None else {"zone": zone}))


def test_only_new_values_are_evaluated() -> None:
    table = NodeTable()
    asked: Counter[str] = Counter()

    def length(zone: str) -> int:
        asked[zone] += 1
        return len(zone)

    def answers() -> list[int]:
        column = table.label("zone")
        found: list[int] = column.take(
            column.answers("length", length, -1, np.int64), table.rows().index
        ).tolist()
        return found

    for name, zone in (("n0", "a"), ("n1", "bb"), ("n2", "a"), ("n3", None)):
        table.set_node(node(name, zone))
    assert answers() == [1, 2, 1, -1]
    table.set_node(node("n1", "ccc"))
    assert answers() == [1, 3, 1, -1]
    assert asked == {"a": 1, "bb": 1, "ccc": 1}


def test_answers_are_dropped_with_the_codes() -> None:
    table = NodeTable()
    for i in range(2000):  # more values than a column keeps for one node
        table.set_node(node("n", f"z{i}"))
        column = table.label("zone")
        column.answers("last", lambda zone: zone == "z1999", False)
    assert len(column.values) < 2000
    latest = column.answers("last", lambda zone: zone == "z1999", False)
    assert column.take(latest, table.rows().index).tolist() == [True]


def test_the_oldest_question_is_forgotten_first() -> None:
    table = NodeTable()
    table.set_node(node("n", "a"))
    column = table.label("zone")
    asked: Counter[int] = Counter()

    def ask(question: int) -> None:
        def answer(zone: str) -> bool:
            asked[question] += 1
            return True

        column.answers(question, answer, False)

    for question in range(1000):
        ask(question)
    ask(999)
    ask(0)
    assert asked[999] == 1
    assert asked[0] == 2


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abcd"), st.none() | st.sampled_from(("x", "y", "zz", "gone"))), max_size=12
    ),
    absent=st.booleans(),
)
def test_cached_answers_are_those_of_a_new_evaluation(
    steps: list[tuple[str, str | None]], absent: bool
) -> None:
    table = NodeTable()
    for name, zone in steps:
        if zone == "gone":
            table.remove_node(name)
        else:
            table.set_node(node(name, zone))
        rows = table.rows()
        column = table.label("zone")
        cached = column.take(column.answers("double", lambda zone: len(zone) > 1, absent), rows.index)
        fresh = column.decide(lambda zone: len(zone) > 1, absent, rows.index)
        assert cached.tolist() == fresh.tolist()
