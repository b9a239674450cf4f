"""The scenarios of KEP 48, and the args."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedframe_node_resources_allocatable import NodeResourcesAllocatable

from schedframe import ConfigError, Simulation

NAME = "NodeResourcesAllocatable"


def configuration(**args: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": NAME}]}},
                "pluginConfig": [{"name": NAME, "args": args}],
            }
        ],
    }


def node(name: str, cpu: int, memory: str = "64Gi") -> dict[str, Any]:
    room = {"cpu": str(cpu), "memory": memory, "pods": "110"}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}}


def pod(name: str, cpu: int = 0) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}


def simulation(*nodes: dict[str, Any], **args: Any) -> Simulation:
    installed = {entry.name for entry in entry_points(group="schedframe.plugins")}
    plugins = {} if NAME in installed else {NAME: NodeResourcesAllocatable}
    return Simulation(nodes, configuration(**args), plugins=plugins)


def scores(world: Simulation) -> dict[str, int]:
    decision = world.evaluate(pod("asked")).decision
    assert decision is not None
    assert decision.scores is not None
    return dict(zip(decision.scores.rows.names(), decision.scores.total.tolist(), strict=True))


def test_small_nodes_are_filled_first_so_that_all_pods_fit() -> None:
    world = simulation(node("small", 10), node("large", 200))
    placements = world.schedule([pod(f"p{cpu}-{i}", cpu) for i, cpu in enumerate((5, 5, 100, 100))])
    assert [placed.node_name for placed in placements] == ["small", "small", "large", "large"]


def test_scores_do_not_depend_on_running_pods() -> None:
    world = simulation(node("small", 10), node("large", 200))
    before = scores(world)
    world.schedule([pod("a", 5), pod("b", 50)])
    assert scores(world) == before == {"small": 100, "large": 0}


def test_most_is_the_opposite() -> None:
    nodes = (node("a", 10), node("b", 20), node("c", 50))
    assert scores(simulation(*nodes, mode="Most")) == {"a": 0, "b": 25, "c": 100}
    assert scores(simulation(*nodes, mode="Least")) == {"a": 100, "b": 75, "c": 0}


def test_weights_define_the_size() -> None:
    nodes = (node("much-cpu", 64, "1Gi"), node("much-memory", 1, "640Gi"))
    by_cpu = [{"name": "cpu", "weight": 1}]
    by_memory = [{"name": "memory", "weight": 1}]
    assert scores(simulation(*nodes, mode="Most", resources=by_cpu)) == {"much-cpu": 100, "much-memory": 0}
    assert scores(simulation(*nodes, mode="Most", resources=by_memory)) == {"much-cpu": 0, "much-memory": 100}


def test_equal_nodes_score_the_same() -> None:
    assert set(scores(simulation(node("a", 4), node("b", 4))).values()) == {0}


@given(st.lists(st.tuples(st.integers(0, 96), st.integers(0, 512)), min_size=1, max_size=5))
@settings(max_examples=10, deadline=None)
def test_both_forms_agree(sizes: list[tuple[int, int]]) -> None:
    world = simulation(*(node(f"n{i}", cpu, f"{memory}Gi") for i, (cpu, memory) in enumerate(sizes)))
    (framework,) = world.scheduler.core.frameworks.values()
    plugin = framework.plan.plugins[NAME]
    rows = world.scheduler.core.cache.table.rows()
    assert plugin.score_rows(rows).tolist() == [plugin.score(info) for info in rows]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"mode": "Fewest"}, "mode"),
        ({"resources": []}, "resources"),
        ({"resources": [{"name": "cpu", "weight": 0}]}, r"resources\[0\]\.weight"),
        ({"resources": [{"weight": 1}]}, r"resources\[0\]\.name"),
    ],
)
def test_wrong_args_are_refused_with_their_path(args: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        simulation(**args)
