"""Which nodes a sampled search meets: it ends at the first error, and nothing behind its end has a status."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from schedframe import Code, Decision, InMemoryCluster, NodeInfo, Scheduler, Status, VirtualClock
from schedframe.framework import RowVerdicts
from schedframe.state import Rows
from tests.cycle.build import config_with, make_node, make_pod, plugin_class

NODES = 120
Answer = Callable[[str], Status | None]


def by_node(answer: Answer) -> type[object]:
    return plugin_class("Odd", filter=lambda self, node_info: answer(node_info.node.name))


def by_row(answer: Answer) -> type[object]:
    def filter(self: object, node_info: NodeInfo) -> Status | None:
        return answer(node_info.node.name)

    def filter_rows(self: object, rows: Rows) -> RowVerdicts:
        statuses = [answer(name) for name in rows.names()]
        codes = np.cumsum([status is not None for status in statuses])
        codes[[status is None for status in statuses]] = 0
        return RowVerdicts(codes, [status for status in statuses if status is not None])

    return plugin_class("Odd", filter=filter, filter_rows=filter_rows)


@pytest.fixture(params=[by_node, by_row])
def decide(request: pytest.FixtureRequest) -> Callable[..., Decision]:
    def decided(answer: Answer, nominated: str = "") -> Decision:
        cluster = InMemoryCluster()
        for i in range(NODES):
            cluster.apply(make_node(f"n{i:03}"))
        cluster.create(make_pod(nominated=nominated))
        config = config_with("Odd", percentageOfNodesToScore=50)
        plugin = request.param(answer)
        scheduler = Scheduler(
            cluster, config, plugins={"Odd": plugin}, clock=VirtualClock(), score_all_nodes=False
        )
        decision = scheduler.schedule_one()
        assert decision is not None
        return decision

    return decided


def rejecting(*names: str) -> Answer:
    return lambda name: Status.unschedulable("odd") if name in names else None


def failing(*names: str) -> Answer:
    return lambda name: Status(Code.ERROR, ("broken",)) if name in names else None


def rejected(decision: Decision) -> set[str]:
    assert decision.verdicts is not None
    return {*decision.verdicts.rows.select(decision.verdicts.codes != 0).names(), *decision.named}


def test_an_error_behind_the_end_ends_no_cycle(decide: Callable[..., Decision]) -> None:
    # 100 of 120 nodes are wanted, and the one after them is the last that is met.
    decision = decide(failing("n101", "n119"))
    assert decision.error is None
    assert decision.evaluated == 100


def test_an_error_before_the_end_ends_the_search(decide: Callable[..., Decision]) -> None:
    decision = decide(failing("n007", "n003"))
    assert decision.error is not None
    assert decision.evaluated == 3


def test_nodes_behind_the_end_have_no_status(decide: Callable[..., Decision]) -> None:
    decision = decide(rejecting("n003", "n100", "n102", "n110"))
    assert rejected(decision) == {"n003", "n100", "n102"}
    assert decision.evaluated == 103


def test_a_refused_nominated_node_behind_the_end_has_a_status(decide: Callable[..., Decision]) -> None:
    decision = decide(rejecting("n003", "n110"), nominated="n110")
    assert rejected(decision) == {"n003", "n110"}
    assert decision.evaluated == 102


def test_a_nominated_node_that_fails_has_none(decide: Callable[..., Decision]) -> None:
    decision = decide(failing("n110"), nominated="n110")
    assert rejected(decision) == set()
    assert decision.evaluated == 100
