"""Scores by terminating and nominated pods."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest
from schedframe_pod_state import PodState
from schedframe_pod_state.plugin import scale

from schedframe import Simulation

CONFIG: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "PodState"}]}}}],
}


def node(name: str) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}}


def pod(name: str, on: str = "", nominated: str = "", **metadata: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "c"}]},
    }
    if on:
        made["spec"]["nodeName"] = on
    if nominated:
        made["spec"]["priority"] = 5
        made["status"] = {"nominatedNodeName": nominated}
    return made


@pytest.fixture
def world() -> Simulation:
    installed = {entry.name for entry in entry_points(group="schedframe.plugins")}
    plugins = {} if "PodState" in installed else {"PodState": PodState}
    return Simulation([node("n1"), node("n2"), node("n3")], CONFIG, plugins=plugins)


GOING = {"deletionTimestamp": "2030-01-01T00:00:00Z"}


def scores(world: Simulation) -> dict[str, int]:
    evaluation = world.evaluate(pod("asked"))
    assert evaluation.decision is not None
    assert evaluation.decision.scores is not None
    table = evaluation.decision.scores
    return dict(zip(table.rows.names(), table.total.tolist(), strict=True))


def test_nodes_with_more_terminating_pods_score_higher(world: Simulation) -> None:
    world.add(pod("a", "n1", **GOING), pod("b", "n1", **GOING), pod("c", "n2", **GOING), pod("d", "n3"))
    assert scores(world) == {"n1": 100, "n2": 50, "n3": 0}


def test_nodes_with_nominated_pods_score_lower(world: Simulation) -> None:
    world.add(pod("a", nominated="n1"), pod("b", nominated="nowhere"))
    assert scores(world) == {"n1": 0, "n2": 100, "n3": 100}


def test_both_count_together(world: Simulation) -> None:
    world.add(pod("a", "n1", **GOING), pod("b", nominated="n1"), pod("c", "n2", **GOING))
    assert scores(world) == {"n1": 0, "n2": 100, "n3": 0}


def test_a_pod_counts_from_the_start_of_its_termination(world: Simulation) -> None:
    world.add(pod("a", "n1"))
    assert scores(world) == {"n1": 0, "n2": 0, "n3": 0}
    world.add(pod("a", "n1", **GOING))
    assert scores(world) == {"n1": 100, "n2": 0, "n3": 0}
    world.remove_pod("default/a")
    assert scores(world) == {"n1": 0, "n2": 0, "n3": 0}


def test_both_forms_agree(world: Simulation) -> None:
    world.add(pod("a", "n1", **GOING), pod("b", nominated="n2"), pod("c", "n3"), node("n4"))
    world.remove_node("n2")
    (framework,) = world.scheduler.core.frameworks.values()
    plugin = framework.plan.plugins["PodState"]
    rows = world.scheduler.core.cache.table.rows()
    assert plugin.score_rows(rows).tolist() == [plugin.score(info) for info in rows]


@pytest.mark.parametrize(
    ("raw", "expected"), [([3, -1, 1], [100, 0, 50]), ([2, 2], [0, 0]), ([-3, -2, 0], [0, 33, 100]), ([], [])]
)
def test_scaling(raw: list[int], expected: list[int]) -> None:
    array = np.array(raw, np.int64)
    scale(array)
    assert array.tolist() == expected
