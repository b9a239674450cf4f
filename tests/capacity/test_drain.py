"""Drains: carried out in a simulation in the printed order, each pod lands where it was said."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from attrs import evolve

from schedframe import Simulation
from schedframe.api import Node, Pod
from schedframe.capacity import BlockKind, CapacityDrain, drain
from schedframe.errors import InputError
from schedframe.fork import Fork
from schedframe.fork.evicting import made_again
from schedframe.testing import node, pod

from ..fork.worlds import node_manifest, pod_manifest
from ..profiles import scaled
from .worlds import owned


def budget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "db"}}, **spec},
    }


def databases(count: int) -> list[Mapping[str, Any]]:
    return [owned(pod(f"db-{i}").labels(app="db").requests(cpu="1").on_node(f"n{i}")) for i in range(count)]


def nodes(count: int, cpu: int = 4) -> list[Mapping[str, Any]]:
    return [node(f"n{i}", cpu=cpu) for i in range(count)]


def carry_out(simulation: Simulation, plan: CapacityDrain) -> None:
    """Do what *plan* says in *simulation*, and check where each pod lands."""
    for name in plan.nodes:
        present: Node = simulation.cluster.get("Node", name)
        simulation.add(evolve(present, spec=evolve(present.spec, unschedulable=True)))
    for step in plan.steps:
        gone: Pod = simulation.cluster.get("Pod", step.pod)
        assert gone.node_name == step.from_node
        # The controller of a finalizer removes it in time.
        simulation.add(evolve(gone, metadata=gone.metadata.with_finalizers(())))
        simulation.remove_pod(step.pod)
        if step.to_node:
            (placement,) = simulation.schedule([made_again(gone)])
            assert placement.node_name == step.to_node, step
    left = {each.pod for each in plan.blocked} | set(plan.staying)
    on = {each.key for each in simulation.cluster.list("Pod") if each.node_name in plan.nodes}
    assert on == left


def random_simulation(seed: int) -> Simulation:
    rng = Random(seed)
    made = [node_manifest(f"n{i}", rng) for i in range(rng.randrange(2, 8))]
    pods = [pod_manifest(f"old{i}", rng, f"n{rng.randrange(len(made))}") for i in range(rng.randrange(14))]
    return Simulation([*made, *pods], seed=seed, strict=False)


def test_each_pod_lands_where_it_was_said() -> None:
    moved = 0
    for seed in range(scaled(12)):
        simulation = random_simulation(seed)
        names = [each.name for each in simulation.cluster.list("Node")]
        plan = drain(simulation, Random(seed).sample(names, 1 + seed % 2), force=seed % 3 == 0)
        carry_out(simulation, plan)
        moved += len(plan.steps)
    assert moved


def test_pods_go_in_order_of_priority_and_size() -> None:
    small, large = pod("small").requests(cpu="1"), pod("large").requests(cpu="2")
    first = pod("first").requests(cpu="1").priority(5)
    pods = [owned(each.on_node("n0")) for each in (small, large, first)]
    plan = drain([*nodes(2), *pods], "n0")
    assert [each.pod for each in plan.steps] == ["default/first", "default/large", "default/small"]
    assert str(plan.steps[0]) == "default/first from n0 to n1"
    assert plan.is_complete


@pytest.mark.parametrize(
    ("spec", "change"),
    [
        ({"minAvailable": 2}, "lower minAvailable of PodDisruptionBudget default/db from 2 to 1, "),
        ({"minAvailable": "100%"}, "write minAvailable: 1 in PodDisruptionBudget default/db, "),
        ({"maxUnavailable": 0}, "raise maxUnavailable of PodDisruptionBudget default/db from 0 to 1"),
    ],
)
def test_a_budget_blocks(spec: dict[str, Any], change: str) -> None:
    (block,) = drain([*nodes(2), *databases(2), budget(**spec)], ["n0"]).blocked
    assert block.kind is BlockKind.BUDGET
    assert block.message == "PodDisruptionBudget default/db allows no eviction"
    assert block.change.startswith(change)


@pytest.mark.parametrize("spec", [{"minAvailable": 1}, {"minAvailable": "50%"}, {"maxUnavailable": "10%"}])
def test_a_budget_that_allows_one_at_a_time_blocks_nothing(spec: dict[str, Any]) -> None:
    plan = drain([*nodes(4), *databases(2), budget(**spec)], ["n0", "n1"])
    assert plan.is_complete
    assert len(plan.steps) == 2


def test_a_budget_counts_pods_that_are_deleted_for_good() -> None:
    bare = [pod(f"db-{i}").labels(app="db").on_node("n0") for i in range(2)]
    plan = drain([*nodes(2), *bare, budget(minAvailable=1)], "n0", force=True)
    assert [each.to_node for each in plan.steps] == [""]
    assert [each.kind for each in plan.blocked] == [BlockKind.BUDGET]


def test_the_status_of_a_cluster_says_what_a_budget_allows() -> None:
    status = {"observedGeneration": 1, "disruptionsAllowed": 0, "expectedPods": 2, "currentHealthy": 1}
    known = {**budget(minAvailable=1), "status": status}
    assert [each.kind for each in drain([*nodes(2), *databases(2), known], "n0").blocked] == [
        BlockKind.BUDGET
    ]


def test_local_storage_and_a_missing_controller_block_unless_given_up() -> None:
    local = owned(pod("local").on_node("n0"))
    local["spec"] = {**local["spec"], "volumes": [{"name": "scratch", "emptyDir": {}}]}
    cluster = [*nodes(2), local, pod("bare").on_node("n0")]
    kinds = {each.pod: each.kind for each in drain(cluster, "n0").blocked}
    assert kinds == {"default/local": BlockKind.LOCAL_STORAGE, "default/bare": BlockKind.NO_CONTROLLER}
    plan = drain(cluster, "n0", force=True, delete_local_data=True)
    assert {each.pod: each.to_node for each in plan.steps} == {"default/local": "n1", "default/bare": ""}


def test_nowhere_to_go_has_numbers_and_the_smallest_change() -> None:
    large = owned(pod("large").requests(cpu="4").on_node("n0"))
    taken = owned(pod("taken").requests(cpu="1").on_node("n1"))
    (block,) = drain([*nodes(2), large, taken], "n0").blocked
    assert block.kind is BlockKind.NOWHERE_TO_GO
    assert "needs 4 cpu, most free 3 on n1" in str(block)
    assert block.change == "lower the requested cpu from 4 to 3: then it runs on n1"


def test_pods_do_not_move_to_a_node_that_is_drained_too() -> None:
    plan = drain([*nodes(3), *databases(2)], ["n0", "n1"])
    assert {each.to_node for each in plan.steps} == {"n2"}


def test_a_pod_that_tolerates_cordoned_nodes_comes_back() -> None:
    stubborn = owned(pod("stubborn").requests(cpu="4").on_node("n0"))
    stubborn["spec"] = {**stubborn["spec"], "tolerations": [{"operator": "Exists"}]}
    (block,) = drain([*nodes(2, cpu=4), stubborn, pod("other").on_node("n1").requests(cpu="1")], "n0").blocked
    assert block.kind is BlockKind.COMES_BACK
    assert block.message.endswith("would come back to n0")


def test_pods_of_daemon_sets_stay() -> None:
    plan = drain([*nodes(2), owned(pod("daemon").on_node("n0"), "DaemonSet")], "n0")
    assert (plan.steps, plan.staying, plan.is_complete) == ((), ("default/daemon",), True)


def test_the_answer_is_a_table_and_a_document() -> None:
    with Fork.of([*nodes(2), *databases(1)]) as fork:
        plan = drain(fork, "n0")
        assert not fork.diff()
    assert plan.to_dataframe().rows() == [(1, "default/db-0", "n0", "n1")]
    assert plan.to_dict() == {
        "apiVersion": "schedframe.dev/v1alpha1",
        "kind": "CapacityDrain",
        "nodes": ["n0"],
        "complete": True,
        "steps": [{"pod": "default/db-0", "from": "n0", "to": "n1"}],
        "blocked": [],
        "staying": [],
    }


@pytest.mark.parametrize(("names", "problem"), [([], "no node is named"), (["n9"], "there is no node n9")])
def test_mistakes(names: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        drain(nodes(1), names)
