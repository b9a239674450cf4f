from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedframe.api import Namespace, ObjectMeta, Pod, PriorityClass
from schedframe.errors import InvariantError
from schedframe.state import NodeInfo, NodeTable, ObjectStore, substituted_row
from schedframe.state.resource_columns import LARGEST_SUM

from . import strategies as s
from .build import make_node, make_pod
from .model import NaiveTable, assert_table_agrees


class ObjectStoreMachine(RuleBasedStateMachine):
    KINDS = (Namespace, PriorityClass)

    def __init__(self) -> None:
        super().__init__()
        self.store = ObjectStore()
        self.model: dict[tuple[str, str], object] = {}
        self.changes: dict[str, list[str]] = {kind.KIND: [] for kind in self.KINDS}

    @rule(kind=st.sampled_from(KINDS), name=st.sampled_from("abc"))
    def set(self, kind: type[Namespace | PriorityClass], name: str) -> None:
        obj = kind(ObjectMeta(name=name))
        self.store.set(obj)
        self.model[kind.KIND, name] = obj
        self.changes[kind.KIND].append(name)

    @rule(kind=st.sampled_from(KINDS), name=st.sampled_from("abc"))
    def remove(self, kind: type[Namespace | PriorityClass], name: str) -> None:
        known = self.model.pop((kind.KIND, name), None) is not None
        assert self.store.remove(kind.KIND, name) == known
        self.changes[kind.KIND] += [name] * known

    @invariant()
    def agrees(self) -> None:
        for kind, changes in self.changes.items():
            here = {name: obj for (of, name), obj in self.model.items() if of == kind}
            assert self.store.list(kind) == list(here.values())
            assert self.store.version(kind) == len(changes)
            for version in range(len(changes) + 1):
                assert self.store.changed_since(kind, version) == changes[version:]
            for name in "abc":
                assert self.store.get(kind, name) is here.get(name)


TestObjectStore = ObjectStoreMachine.TestCase


def test_changes_longer_ago_than_is_remembered() -> None:
    store = ObjectStore()
    for i in range(10_000):
        store.set(Namespace(ObjectMeta(name=f"n{i}")))
    assert store.changed_since("Namespace", 0) is None
    assert store.changed_since("Namespace", 9_998) == ["n9998", "n9999"]
    assert len(store.changed_since("Namespace", 10_000 - 4096) or ()) == 4096


def test_a_kind_without_objects() -> None:
    store = ObjectStore()
    assert store.list("Widget") == []
    assert store.get("Widget", "x") is None
    assert store.version("Widget") == 0
    assert store.changed_since("Widget", 0) == []
    assert not store.remove("Widget", "x")


# ---- substituted_row ---------------------------------------------------------------------------------------

pod_lists = st.lists(s.pods, unique_by=lambda pod: pod.uid, max_size=6)


@given(pod_lists, pod_lists)
def test_the_table_holds_exactly_the_pods_of_the_node_info(running: list[Pod], tried: list[Pod]) -> None:
    table, model = NodeTable(), NaiveTable()
    for name in ("n0", "n1"):
        model.nodes[name] = make_node(name)
        table.set_node(model.nodes[name])
    for pod in running:
        table.add_pod("n1", pod)
        model.add_pod("n1", pod)
    with substituted_row(table, NodeInfo.of(model.nodes["n1"], tried)) as row:
        assert row == 1
        during = NaiveTable(model.nodes, {"n1": {pod.uid: pod for pod in tried}})
        assert set(table.pods_at(row).values()) == set(tried)
        table.check_invariants()
        assert table.requested("cpu")[row] == min(during.requested("n1").get("cpu", 0), LARGEST_SUM)
        assert table.ports.keys() == during.ports("n1").keys()
    assert_table_agrees(table, model)
    table.check_invariants()


def test_a_node_info_of_the_table_costs_nothing() -> None:
    table = NodeTable()
    table.set_node(make_node("n0"))
    version = table.row_log.version
    with substituted_row(table, table.info(0)) as row:
        assert row == 0
    assert table.row_log.version == version


def test_pods_of_one_uid_that_use_different_amounts() -> None:
    table = NodeTable()
    table.set_node(make_node("n0"))
    table.add_pod("n0", make_pod("p", "n0", {"cpu": 1}))
    with substituted_row(table, NodeInfo.of(make_node("n0"), [make_pod("p", "n0", {"cpu": 5})])):
        assert table.requested("cpu")[0] == 5
    assert table.requested("cpu")[0] == 1


def test_the_table_is_as_before_when_the_plugin_failed() -> None:
    table = NodeTable()
    table.set_node(make_node("n0"))
    with (
        pytest.raises(ZeroDivisionError),
        substituted_row(table, NodeInfo.of(make_node("n0"), [make_pod("p")])),
    ):
        raise ZeroDivisionError
    assert table.pod_count[0] == 0


def test_within_a_trial_that_goes_on_afterwards() -> None:
    table = NodeTable()
    table.set_node(make_node("n0"))
    mark = table.mark()
    with substituted_row(table, NodeInfo.of(make_node("n0"), [make_pod("p")])):
        assert table.pod_count[0] == 1
    table.add_pod("n0", make_pod("q"))
    table.rollback(mark)
    assert table.pod_count[0] == 0


def test_a_node_that_the_table_lacks() -> None:
    with (
        pytest.raises(InvariantError, match="node n0 is not in the table"),
        substituted_row(NodeTable(), NodeInfo.of(make_node("n0"))),
    ):
        pass
