"""Filters on nodes to which other pods are nominated: with and without those pods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attrs import define, field

from schedframe import Simulation
from schedframe.api import Pod
from schedframe.framework import Code, CycleState, Framework, RowVerdicts, StateKey, Status, hookimpl
from schedframe.state import NodeInfo, Rows
from schedframe.testing import node, pod

from ..state.build import make_pod
from .fakes import REJECTED, FakeHandle, FakeNominator, framework_of, placeless, plugin, table_of

POD = make_pod("p", priority=10)
HIGH, EQUAL, LOW = (make_pod(f"prio{p}", priority=p) for p in (20, 10, 5))
CROWDED = Status.unschedulable("crowded")
LONELY = Status.unschedulable("lonely")


def handle_with(nominated: dict[str, list[Pod]], nodes: int = 4) -> FakeHandle:
    return FakeHandle(table_of(nodes), FakeNominator(nominated))


def at_most(limit: int) -> Any:
    return plugin(filter=lambda self, node_info: CROWDED if len(node_info.pods) > limit else None)


def at_least(limit: int) -> Any:
    return plugin(filter=lambda self, node_info: LONELY if len(node_info.pods) < limit else None)


def at_most_by_columns(limit: int) -> Any:
    return plugin(
        filter_rows=lambda self, rows: RowVerdicts.where(rows.take(rows.table.pod_count) > limit, CROWDED)
    )


def statuses(framework: Framework, pod: Pod = POD) -> list[Status | None]:
    state = CycleState()
    rows = framework.handle.table.rows()
    verdicts = framework.filter_rows(state, pod, rows)
    found = [verdicts.status_at(i) for i in range(len(rows))]
    assert found == [framework.run_filters_with_nominated_pods(state, pod, info) for info in rows]
    return found


def test_pods_of_equal_or_higher_priority_count_and_the_pod_itself_does_not() -> None:
    handle = handle_with({"n0": [HIGH], "n1": [EQUAL], "n2": [LOW], "n3": [POD]})
    crowded = CROWDED.with_plugin("Room")
    for room in (at_most(0), at_most_by_columns(0)):
        assert statuses(framework_of(handle, Room=room)) == [crowded, crowded, None, None]


def test_the_node_must_do_without_them_too() -> None:
    """They may go elsewhere: what only fits because of them does not fit."""
    handle = handle_with({"n1": [HIGH]})
    lonely = LONELY.with_plugin("Company")
    assert statuses(framework_of(handle, Company=at_least(1))) == [lonely] * 4
    handle.table.add_pod("n1", make_pod("runs", "n1"))
    assert statuses(framework_of(handle, Company=at_least(1))) == [lonely, None, lonely, lonely]


def test_the_reason_is_that_of_the_way_with_nominated_pods_first() -> None:
    handle = handle_with({"n0": [HIGH]})
    framework = framework_of(handle, Company=at_least(1), Room=at_most(0))
    assert statuses(framework)[:2] == [CROWDED.with_plugin("Room"), LONELY.with_plugin("Company")]


def test_neither_table_nor_state_keep_anything_of_it() -> None:
    handle = handle_with({"n0": [HIGH, EQUAL]})
    key: StateKey[Tally] = StateKey("tally")

    def add_pod(self: Any, state: CycleState, pod_to_add: Pod) -> None:
        state.read(key).pods.append(pod_to_add.name)

    def full(self: Any, state: CycleState, node_info: NodeInfo) -> Status | None:
        return CROWDED if len(state.read(key).pods) + len(node_info.pods) > 3 else None

    framework = framework_of(handle, Room=plugin(pre_filter=lambda self: None, add_pod=add_pod, filter=full))
    state = CycleState()
    state.write(key, Tally())
    # Two nominated pods, each counted in the state and in the node info.
    assert framework.run_filters_with_nominated_pods(state, POD, handle.table.info(0)) == CROWDED.with_plugin(
        "Room"
    )
    assert state.read(key).pods == []
    assert handle.table.info(0).pods == {}
    handle.table.check_invariants()


@define
class Tally:
    pods: list[str] = field(factory=list)

    def clone(self) -> Tally:
        return Tally(list(self.pods))


def test_a_failing_add_pod_is_an_error_on_that_node() -> None:
    def fail(self: Any) -> None:
        raise ValueError("no")

    handle = handle_with({"n1": [HIGH]}, nodes=2)
    framework = framework_of(
        handle, A=plugin(pre_filter=lambda self: None, add_pod=fail, filter=lambda self: None)
    )
    assert list(map(placeless, statuses(framework))) == [
        None,
        Status(Code.ERROR, ('running AddPod on PreFilter plugin "A": ValueError: no',), "A"),
    ]


def test_a_rejection_by_columns_is_withdrawn_where_the_nodes_say_otherwise() -> None:
    """The overlay is the last word on a node with nominated pods, both ways."""

    @define(eq=False)
    class Moody:
        calls: list[str] = field(factory=list)

        @hookimpl
        def filter_rows(self, rows: Rows) -> RowVerdicts:
            return RowVerdicts.where(np.ones(len(rows), np.bool_), REJECTED)

        @hookimpl
        def filter(self, node_info: NodeInfo) -> None:
            self.calls.append(node_info.name)

    handle, moody = handle_with({"n2": [HIGH], "n0": [HIGH], "gone": [HIGH]}), Moody()
    framework = framework_of(handle, Moody=moody)
    verdicts = framework.filter_rows(CycleState(), POD, handle.table.rows())
    assert verdicts.passing().tolist() == [0, 2]
    assert moody.calls == ["n2", "n2", "n0", "n0"]


@pytest.mark.parametrize("positions", [[3, 1], [1, 3], [2], [0]])
def test_only_rows_that_were_asked_about_are_looked_at_again(positions: list[int]) -> None:
    handle = handle_with({"n1": [HIGH], "n3": [HIGH]})
    framework = framework_of(handle, Room=at_most(0))
    rows = Rows.at(handle.table, np.array(positions, np.intp))
    verdicts = framework.filter_rows(CycleState(), POD, rows)
    assert [verdicts.status_at(i) is not None for i in range(len(rows))] == [p in (1, 3) for p in positions]


def test_without_nominations_every_node_is_asked_once() -> None:
    seen: list[str] = []
    handle = handle_with({"n1": [LOW]}, nodes=2)
    framework = framework_of(handle, A=plugin(filter=lambda self, node_info: seen.append(node_info.name)))
    framework.filter_rows(CycleState(), POD, handle.table.rows())
    assert seen == ["n0", "n1"]


def test_a_value_that_cannot_be_cloned_is_a_fault_and_not_the_end() -> None:
    """``clone()`` of a value in the cycle state is code of a plugin, too."""
    key = StateKey[Any]("repository")

    class Repository:
        def clone(self, target: str) -> None:
            """Take an argument, as it is no copy."""

    class Reading:
        @hookimpl
        def pre_filter(self, state: CycleState) -> None:
            state.write(key, Repository())

        @hookimpl
        def filter(self) -> None:
            return None

    urgent = {**pod("urgent"), "status": {"nominatedNodeName": "a"}}
    with Simulation([node("a"), urgent], plugins=[Reading]) as simulation:
        simulation.scheduler.sync()
        report = simulation.cycle(pod("p"))
        assert report.error is not None
        assert report.error.startswith("cloning the cycle state: ")
        (placed,) = simulation.schedule()
        assert placed.node_name == "a"
