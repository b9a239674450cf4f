from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.state import NodeInfo, NodeTable, policy
from schedframe.state.columns import DictionaryColumn

from .build import make_node, make_pod


def table_with_zones(*zones: str | None) -> NodeTable:
    table = NodeTable()
    for i, zone in enumerate(zones):
        table.set_node(make_node(f"n{i}", labels={} if zone is None else {"zone": zone}))
    return table


def values(table: NodeTable) -> list[str | None]:
    column = table.label("zone")
    codes = column.codes[table.rows().index].tolist()
    return [column.values[code] if code >= 0 else None for code in codes]


def test_one_code_per_value_and_minus_one_for_absent() -> None:
    table = table_with_zones("a", None, "b", "a")
    column = table.label("zone")
    assert column.codes[:4].tolist() == [0, -1, 1, 0]
    assert column.values == ["a", "b"]
    assert (column.code_of("b"), column.code_of("c")) == (1, -1)


def test_a_column_is_made_once_and_follows_the_nodes() -> None:
    table = table_with_zones("a", "b")
    column = table.label("zone")
    table.set_node(make_node("n0", labels={"zone": "c"}))
    table.remove_node("n1")
    table.set_node(make_node("n2"))
    assert table.label("zone") is column
    assert values(table) == ["c", None]


@given(asked=st.lists(st.integers(0, 9), max_size=40), held=st.sets(st.integers(0, 9), max_size=4))
def test_of_many_labels_only_columns_that_are_referred_to_stay_the_same(
    asked: list[int], held: set[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "LABEL_COLUMNS", 3)
        table, holders = NodeTable(), dict[int, DictionaryColumn[str]]()
        for step, number in enumerate(asked):
            table.set_node(make_node(f"n{step}", labels={f"l{number}": str(step)}))
            column = table.label(f"l{number}")
            if number in held:
                assert holders.setdefault(number, column) is column
            of_nodes = [None if node is None else node.labels.get(f"l{number}") for node in table.nodes()[1]]
            codes = column.codes[table.rows().index].tolist()
            assert [column.values[code] if code >= 0 else None for code in codes] == of_nodes
            del column
            assert len(table._labels) <= 3
            assert set(table._more_labels) <= {f"l{each}" for each in held}
        for number in range(100):
            table.add_pod(f"unknown{number}", make_pod(f"p{number}"))
        for number, column in holders.items():
            assert len(column.codes) == table.capacity
            assert table.label(f"l{number}") is column


def test_pods_do_not_touch_columns_of_nodes() -> None:
    table = table_with_zones("a")
    calls = []
    column = table.distinct("names", lambda node: calls.append(node.name) or node.name)
    table.add_pod("n0", make_pod("p", "n0"))
    table.add_pod("unknown", make_pod("q", "unknown"))
    assert table.distinct("names", lambda node: node.name).sync() is column
    assert calls == ["n0"]


def test_columns_have_the_length_of_the_table_although_only_pods_came() -> None:
    table = table_with_zones("a")
    column = table.label("zone")
    for i in range(100):
        table.add_pod(f"unknown{i}", make_pod(f"p{i}"))
    assert len(table.label("zone").codes) == table.capacity == 128
    assert column.codes[1:101].tolist() == [-1] * 100


def test_values_that_no_node_has_any_more_are_dropped() -> None:
    table = table_with_zones("first")
    column = table.label("zone")
    epoch = column.epoch
    for i in range(1100):
        table.set_node(make_node("n0", labels={"zone": f"z{i}"}))
        table.label("zone")
    assert len(column.values) < 1100
    assert column.epoch > epoch
    assert values(table) == ["z1099"]


def test_codes_stay_while_the_epoch_does() -> None:
    table = table_with_zones("a", "b")
    column = table.label("zone")
    epoch, code = column.epoch, column.code_of("b")
    table.set_node(make_node("n0", labels={"zone": "c"}))
    table.set_node(make_node("n9", labels={"zone": "d"}))
    assert (table.label("zone").epoch, column.code_of("b")) == (epoch, code)


zone_lists = st.lists(st.none() | st.sampled_from("abcd"), max_size=12)


@given(zone_lists, st.sets(st.sampled_from("abcx")), st.booleans(), st.data())
def test_masks_against_the_labels_themselves(
    zones: list[str | None], wanted: set[str], absent: bool, data: st.DataObject
) -> None:
    table = table_with_zones(*zones)
    picked = data.draw(st.lists(st.integers(0, len(zones) - 1)) if zones else st.just([]))
    column = table.label("zone")
    for index, seen in ((table.rows().index, zones), (np.array(picked, np.intp), [zones[i] for i in picked])):
        assert column.mask_of(wanted, index).tolist() == [zone in wanted for zone in seen]
        decided = column.decide(lambda zone: zone in wanted, absent, index)
        assert decided.tolist() == [absent if zone is None else zone in wanted for zone in seen]
        answered = column.take(column.answers("wanted", wanted.__contains__, absent), index)
        assert answered.tolist() == decided.tolist()


def cpu_left(info: NodeInfo) -> float:
    return info.allocatable["cpu"] - info.requested.get("cpu", 0)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_derived_column_follows_nodes_and_pods(dtype: type[np.generic]) -> None:
    table = table_with_zones("a", "b")

    def column() -> list[float]:
        return table.derived("left", cpu_left, dtype)[:3].tolist()

    assert column() == [4000, 4000, 0]
    table.add_pod("n1", make_pod("p", "n1", {"cpu": 500}))
    assert column() == [4000, 3500, 0]
    table.add_pod("later", make_pod("q", "later", {"cpu": 1}))
    assert column() == [4000, 3500, 0]
    table.set_node(make_node("later"))
    assert column() == [4000, 3500, 3999]
    assert table.derived("left", cpu_left, dtype).dtype == dtype


def test_derived_column_survives_unused_rows() -> None:
    """Made over a hole, and caught up after a row was given back."""
    table = table_with_zones("a", "b", "c")
    table.remove_node("n1")
    assert table.derived("left", cpu_left)[:3].tolist() == [4000, 0, 4000]
    table.remove_node("n2")
    assert table.derived("left", cpu_left)[:3].tolist() == [4000, 0, 0]


def test_derived_column_asks_only_about_touched_rows() -> None:
    table = table_with_zones("a", "b", "c")
    asked: list[str] = []

    def note(info: NodeInfo) -> float:
        asked.append(info.name)
        return 0

    table.derived("note", note)
    del asked[:]
    table.add_pod("n1", make_pod("p"))
    table.add_pod("n1", make_pod("q"))
    table.derived("note", note)
    table.derived("note", note)
    assert asked == ["n1"]
