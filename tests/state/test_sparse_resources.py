"""Resources that few nodes have: the same numbers whether they are kept in columns or not."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.state import policy
from schedframe.state.sparse_resources import SparseResources

CAPACITY = 32
NAMES = [f"example.com/{letter}" for letter in "abcde"]
names = st.sampled_from(NAMES)
rows = st.integers(0, CAPACITY - 1)
steps = st.one_of(
    st.tuples(st.just("offer"), rows, st.dictionaries(names, st.integers(0, 3), max_size=3)),
    st.tuples(st.just("request"), rows, st.tuples(names, st.integers(0, 3))),
    st.tuples(st.just("release"), rows, names),
    st.tuples(st.just("ask"), st.just(0), names),
    st.tuples(st.just("grow"), st.just(0), st.just(0)),
)


@given(st.lists(steps, max_size=40))
def test_reads_and_dropped_columns(happening: list[tuple[str, int, object]]) -> None:
    """A model in dictionaries; the two resources read last keep their columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "KEPT_COLUMNS", 2)
        resources = SparseResources(CAPACITY)
        nodes: dict[int, dict[str, int]] = {}
        requested: Counter[tuple[str, int]] = Counter()
        for kind, row, what in happening:
            if kind == "offer":
                assert isinstance(what, dict)
                resources.set_allocatable(row, what, nodes.get(row, {}))
                nodes[row] = what
            elif kind == "request":
                assert isinstance(what, tuple)
                resources.request(row, what[0], what[1])
                requested[what[0], row] += what[1]
            elif kind == "release":
                assert isinstance(what, str)
                resources.request(row, what, -requested.pop((what, row), 0))
            elif kind == "grow":
                resources.grow(resources.capacity + 1)
            else:
                assert isinstance(what, str)
                assert_columns(resources, what, nodes, requested)
        for name in NAMES:
            assert_columns(resources, name, nodes, requested)
        known = {name for found in nodes.values() for name, amount in found.items() if amount}
        assert set(resources) >= known | {name for (name, _), amount in requested.items() if amount}


def assert_columns(
    resources: SparseResources,
    name: str,
    nodes: dict[int, dict[str, int]],
    requested: Counter[tuple[str, int]],
) -> None:
    there = {row: amount for row, found in nodes.items() if (amount := found.get(name, 0))}
    used = {row: amount for (one, row), amount in requested.items() if one == name and amount}
    if name in set(resources):
        assert resources.by_row(name) == (there, used)
    columns = resources.get(name)
    if columns is None:
        assert not there
        assert not used
        return
    assert [len(column) for column in columns] == [resources.capacity] * 2
    assert resources.by_row(name) == (there, used)


def test_columns_taken_before_stay_true_until_the_layout_changes() -> None:
    resources = SparseResources(CAPACITY)
    resources.set_allocatable(3, {NAMES[0]: 4}, {})
    found = resources.get(NAMES[0])
    assert found is not None
    layout = resources.layout
    resources.request(3, NAMES[0], 2)
    resources.set_allocatable(5, {NAMES[0]: 1}, {})
    assert resources.layout == layout
    assert [column[[3, 5]].tolist() for column in found] == [[4, 1], [2, 0]]


def test_the_layout_changes_when_columns_are_given_up_or_a_resource_appears() -> None:
    resources = SparseResources(CAPACITY)
    before = resources.layout
    for i in range(policy.KEPT_COLUMNS + 1):
        resources.set_allocatable(0, {f"example.com/{i}": 1}, {})
    assert resources.layout > before
    for i in range(policy.KEPT_COLUMNS):
        resources.get(f"example.com/{i}")
    before = resources.layout
    resources.get("example.com/0")  # the last one asked for now
    resources.get(f"example.com/{policy.KEPT_COLUMNS}")
    assert resources.layout > before
    assert not resources.resources["example.com/1"].has_columns
    assert resources.resources["example.com/0"].has_columns


def test_a_resource_that_many_rows_have_gets_columns_without_a_read() -> None:
    resources = SparseResources(CAPACITY)
    for row in range(CAPACITY):
        resources.set_allocatable(row, {NAMES[0]: 1}, {})
    assert resources.resources[NAMES[0]].has_columns
    assert resources.by_row(NAMES[0])[0] == dict.fromkeys(range(CAPACITY), 1)


def test_an_unused_resource_is_dropped() -> None:
    resources = SparseResources(CAPACITY)
    resources.set_allocatable(0, {NAMES[0]: 1}, {})
    resources.request(0, NAMES[0], 1)
    resources.set_allocatable(0, {}, {NAMES[0]: 1})
    assert list(resources) == [NAMES[0]]
    resources.request(0, NAMES[0], -1)
    assert not list(resources)
    assert resources.get(NAMES[0]) is None


def test_an_unused_resource_is_dropped_with_its_columns() -> None:
    """Of nodes that came and went, each with a resource of its own, nothing stays, however many had it."""
    resources = SparseResources(CAPACITY)
    for name in NAMES[:2]:
        for row in range(CAPACITY):
            resources.set_allocatable(row, {name: 1}, {})
            resources.request(row, name, 1)
    assert resources.resources[NAMES[0]].has_columns
    found, layout = resources.get(NAMES[0]), resources.layout
    assert found is not None
    for row in range(CAPACITY):
        resources.request(row, NAMES[0], -1)
        assert not resources.is_absent(NAMES[0])
        resources.set_allocatable(row, {}, {NAMES[0]: 1})
    assert list(resources) == [NAMES[1]]
    assert resources.is_absent(NAMES[0])
    assert resources.layout > layout
    assert not found[0].any()
    assert not found[1].any()
