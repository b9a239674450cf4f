"""A framework runs over a table and the default handle, without a scheduler."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
from attrs import define, field

from schedframe import (
    CycleState,
    Framework,
    Handle,
    InputError,
    Node,
    NodeTable,
    ObjectMeta,
    Pod,
    Status,
    hookimpl,
)
from schedframe.errors import PluginError
from schedframe.framework import TableHandle

POD = Pod(ObjectMeta(name="web", uid="1"))
FULL = Status.unschedulable("node is full")


@define(eq=False)
class Named:
    """Rejects nodes of another name, and scores 10."""

    name: str

    @hookimpl
    def filter(self, node_info: Any) -> Status | None:
        return None if node_info.node.name == self.name else FULL

    @hookimpl
    def score(self, node_info: Any) -> int:
        return 10


@define(eq=False)
class Last:
    """Sorts the queue, latest first."""

    @hookimpl
    def queue_sort_key(self, pod_info: Any) -> float:
        return -float(pod_info.timestamp)


@define(eq=False)
class Asks:
    """Asks the handle for all that it keeps."""

    handle: Handle
    done: list[str] = field(factory=list)

    @hookimpl
    def reserve(self, pod: Pod, node_name: str) -> None:
        self.handle.activate([pod])
        self.handle.record_event(pod, "Reserved", f"on {node_name}")
        self.handle.call_later(5.0, lambda: self.done.append("later"))
        self.handle.off_core(lambda: "work", self.done.append)
        assert self.handle.runner.run_filters(CycleState(), pod, self.handle.table.info(0)) is None


def table_of(*names: str) -> NodeTable:
    table = NodeTable()
    for name in names:
        table.set_node(Node(ObjectMeta(name=name)))
    return table


def test_filters_and_scores_run_with_their_weights() -> None:
    framework = Framework.of(
        {"Named": Named("a")}, TableHandle(table=table_of("a", "b")), weights={"Named": 3}
    )
    rows = framework.handle.table.rows()
    verdicts = framework.filter_rows(CycleState(), POD, rows)
    assert rows.select(verdicts.passing()).names() == ["a"]
    assert verdicts.reasons() == {"node is full": 1}
    scores = framework.run_scores(CycleState(), POD, rows)
    assert not isinstance(scores, Status)
    assert scores.total.tolist() == [30, 30]


def test_pods_are_sorted_by_priority_unless_a_plugin_sorts() -> None:
    assert Framework.of({}, TableHandle()).profile.queue_sort == "by priority"
    assert Framework.of({"Last": Last()}, TableHandle()).profile.queue_sort == "Last"


def test_a_plugin_that_breaks_the_contract_is_refused() -> None:
    with pytest.raises(PluginError):
        Framework.of({"One": Last(), "Two": Last()}, TableHandle())


def test_the_handle_keeps_what_plugins_ask_for() -> None:
    handle = TableHandle(table=table_of("a"), clock=lambda: 100.0)
    asks = Asks(handle)
    framework = Framework.of({"Asks": asks}, handle)
    handle.attach(framework)
    assert framework.run_reserve(CycleState(), POD, "a") is None
    assert handle.activated == [POD]
    assert handle.events == [(POD, "Reserved", "on a")]
    assert asks.done == ["work"]
    ((when, action),) = handle.later
    action()
    assert (when, asks.done) == (105.0, ["work", "later"])


def test_a_handle_without_a_framework_has_no_runner() -> None:
    with pytest.raises(PluginError, match="call attach"):
        _ = TableHandle().runner


def test_a_time_that_never_comes_is_an_error() -> None:
    with pytest.raises(InputError, match="is not a finite number"):
        TableHandle().call_later(nan, lambda: None)


def test_the_default_cluster_is_empty_and_stays() -> None:
    handle = TableHandle()
    assert not handle.cluster.list("Pod")
    assert handle.cluster is handle.cluster
