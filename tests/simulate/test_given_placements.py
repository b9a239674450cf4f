"""Bindings, and what ``schedule -o json`` has written, are input of a simulation."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Simulation
from schedframe.errors import InputError, InputErrors

NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
    }
    for name in ("a", "b")
]


def pod(name: str, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


def binding(name: str, node: str) -> dict[str, Any]:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}


def result(pods: dict[str, str | None], preempted: list[str]) -> dict[str, Any]:
    rows = [{"namespace": "default", "name": name, "node": node} for name, node in pods.items()]
    summary = {"preempted": [{"pod": f"default/{name}"} for name in preempted]}
    return {"apiVersion": "schedframe/v1", "kind": "ScheduleResult", "pods": rows, "summary": summary}


def nodes_of(simulation: Simulation) -> dict[str, str]:
    return {each.name: each.node_name for each in simulation.cluster.list("Pod")}


@pytest.mark.parametrize("together", [True, False], ids=["with the pods", "after the pods"])
def test_bindings_put_pods_on_their_nodes(together: bool) -> None:
    pods, bindings = [pod("p"), pod("q", "2")], [binding("p", "a")]
    with Simulation([*NODES, *pods, *bindings] if together else [*NODES, *pods]) as simulation:
        if not together:
            simulation.add(*bindings)
        assert nodes_of(simulation) == {"p": "a", "q": ""}
        simulation.schedule()
        assert nodes_of(simulation) == {"p": "a", "q": "b"}


def test_an_earlier_result_is_applied_whole() -> None:
    with Simulation([*NODES, pod("p"), pod("victim"), pod("pending", "9")]) as simulation:
        simulation.add(binding("victim", "a"))
        simulation.add(result({"p": "a", "pending": None}, preempted=["victim"]))
        assert nodes_of(simulation) == {"p": "a", "pending": ""}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (binding("other", "a"), "there is no pod default/other"),
        (binding("p", "c"), "there is no node c for default/p"),
        (binding("placed", "b"), "default/placed is on a already"),
        ({"apiVersion": "v1", "kind": "Binding", "metadata": {}}, "the Binding is not complete"),
        ({**binding("p", "a"), "target": {"name": ["a"]}}, "the Binding is not complete"),
        ({**binding("p", "a"), "metadata": {"name": 5}}, "the Binding is not complete"),
        ({**result({"p": "a"}, []), "pods": [{"name": "p", "namespace": {}, "node": {}}]}, "is not complete"),
    ],
    ids=["pod", "node", "other node", "incomplete", "list for a node", "number for a pod", "no names"],
)
def test_an_impossible_binding_is_refused_and_nothing_added(given: dict[str, Any], problem: str) -> None:
    with Simulation([*NODES, pod("p"), pod("placed"), binding("placed", "a")]) as simulation:
        with pytest.raises((InputError, InputErrors), match=problem):
            simulation.add(pod("new"), given)
        assert nodes_of(simulation) == {"p": "", "placed": "a"}
