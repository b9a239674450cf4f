"""Behaviour as the original's README and KEP 9 describe it."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
from schedframe_capacity_scheduling import CapacityScheduling, ElasticQuota
from schedframe_capacity_scheduling.preemption import QUOTAS
from schedframe_capacity_scheduling.quotas import OVER_ALL, OVER_MAX

from schedframe import ConfigError, CycleState, Pod, Simulation, from_manifest

GPU = "nvidia.com/gpu"


def configuration(**args: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
                    "postFilter": {
                        "disabled": [{"name": "*"}],
                        "enabled": [{"name": "CapacityScheduling"}],
                    },
                },
                "pluginConfig": [{"name": "CapacityScheduling", "args": args}],
            }
        ],
    }


def node(name: str = "n1", **room: str) -> dict[str, Any]:
    allocatable = {"cpu": "8", "memory": "64Gi", "pods": "110", **room}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def quota(namespace: str, least: dict[str, Any], most: dict[str, Any] | None = None) -> dict[str, Any]:
    spec = {"min": least} | ({} if most is None else {"max": most})
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": namespace, "namespace": namespace},
        "spec": spec,
    }


def pod(key: str, priority: int = 0, **requests: str) -> dict[str, Any]:
    namespace, name = key.split("/")
    containers = [{"name": "c", "resources": {"requests": requests or {"cpu": "2"}}}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": containers, "priority": priority},
    }


def gpu_pod(key: str, gpus: int, priority: int = 0) -> dict[str, Any]:
    made = pod(key, priority)
    made["spec"]["containers"][0]["resources"]["requests"] = {GPU: str(gpus)}
    return made


def simulation(*objects: Any, **args: Any) -> Simulation:
    installed = {entry.name for entry in entry_points(group="schedframe.plugins")}
    name = "CapacityScheduling"
    plugins = {} if name in installed else {name: CapacityScheduling}
    return Simulation(objects, configuration(**args), plugins=plugins)


def running(world: Simulation) -> list[str]:
    return sorted(found.key for found in world.cluster.list("Pod") if found.spec.node_name)


def later(world: Simulation, seconds: float = 15) -> None:
    world.clock.advance(seconds)
    world.scheduler.run_until_idle()


def run(world: Simulation, *pods: dict[str, Any]) -> list[str]:
    """Schedule until victims have terminated and preemptors run; return the running pods."""
    world.schedule(pods)
    later(world)
    return running(world)


@pytest.fixture
def world() -> Simulation:
    """The demo of the README: two quotas of at least 4 and at most 6 CPUs, and 8 CPUs in all."""
    return simulation(
        node(), quota("quota1", {"cpu": 4}, {"cpu": 6}), quota("quota2", {"cpu": 4}, {"cpu": 6})
    )


# ---- the demo --------------------------------------------------------------------------------------------


def test_a_namespace_borrows_up_to_its_max(world: Simulation) -> None:
    placements = world.schedule([pod(f"quota1/p{i}") for i in range(4)])
    assert len(running(world)) == 3
    assert OVER_MAX in placements[3].message


def test_a_namespace_below_its_min_gets_back_what_others_borrowed(world: Simulation) -> None:
    world.schedule([pod(f"quota1/p{i}") for i in range(4)])
    assert len(run(world, pod("quota2/a"), pod("quota2/b"))) == 4
    assert [key for key in running(world) if key.startswith("quota2")] == ["quota2/a", "quota2/b"]


def test_guaranteed_quota_of_others_is_not_preempted(world: Simulation) -> None:
    world.schedule([pod(f"quota1/p{i}") for i in range(2)])
    run(world, *(pod(f"quota2/p{i}", priority=100) for i in range(3)))
    assert [key for key in running(world) if key.startswith("quota1")] == ["quota1/p0", "quota1/p1"]
    assert len(running(world)) == 4


# ---- the stories of the KEP ------------------------------------------------------------------------------


def test_story_1_borrowed_gpus_are_returned_and_guaranteed_ones_stay() -> None:
    world = simulation(
        node(**{GPU: "10"}),
        quota("a", {GPU: 4}, {GPU: 6}),
        quota("b", {GPU: 6}, {GPU: 8}),
    )
    world.schedule([gpu_pod("a/1", 2), gpu_pod("b/1", 3), gpu_pod("a/2", 2)])
    (third, fourth) = world.schedule([gpu_pod("a/3", 2), gpu_pod("a/4", 1)])
    assert third.node_name == "n1"
    assert OVER_MAX in fourth.message
    run(world, gpu_pod("b/2", 3))
    for more in ([], [gpu_pod("b/3", 1)], [gpu_pod("b/4", 2)]):
        run(world, *more)
        used = {name: sum(p.requests.get(GPU, 0) for p in placed(world, name)) for name in "ab"}
        assert used == {"a": 4, "b": 6}


def placed(world: Simulation, namespace: str) -> list[Pod]:
    pods: list[Pod] = world.cluster.list("Pod")
    return [found for found in pods if found.spec.node_name and found.namespace == namespace]


def test_story_2_only_namespaces_above_their_min_lose_pods() -> None:
    world = simulation(
        node(**{GPU: "10"}),
        quota("a", {GPU: 3}, {GPU: 4}),
        quota("b", {GPU: 4}, {GPU: 6}),
        quota("c", {GPU: 3}, {GPU: 4}),
    )
    world.schedule([gpu_pod(f"a/{i}", 1, priority=50) for i in range(4)])
    world.schedule([gpu_pod(f"b/{i}", 1) for i in range(3)] + [gpu_pod(f"c/{i}", 1) for i in range(3)])
    run(world, gpu_pod("b/new", 1))
    assert {name: len(placed(world, name)) for name in "abc"} == {"a": 3, "b": 4, "c": 3}


def test_beyond_its_min_a_pod_preempts_only_in_its_own_namespace() -> None:
    world = simulation(
        node(cpu="8"),
        quota("a", {"cpu": 2}, {"cpu": 8}),
        quota("b", {"cpu": 2}, {"cpu": 8}),
        quota("spare", {"cpu": 4}),
    )
    world.schedule([pod("a/1"), pod("a/2"), pod("b/1"), pod("b/2", priority=5)])
    assert "b/new" in run(world, pod("b/new", priority=10))
    assert {"a/1", "a/2", "b/2"} < set(running(world))


def test_a_high_priority_does_not_preempt_in_other_namespaces() -> None:
    """The example of the KEP: quota1 borrows from quota3, and quota2 is above its min from the start."""
    world = simulation(
        node(cpu="1"),
        quota("quota1", {"cpu": 0}, {"cpu": 2}),
        quota("quota2", {"cpu": 0}, {"cpu": 2}),
        quota("quota3", {"cpu": 1}, {"cpu": 2}),
    )
    assert run(world, pod("quota1/nginx", cpu="1")) == ["quota1/nginx"]
    assert run(world, pod("quota2/nginx", priority=1_000_000, cpu="1")) == ["quota1/nginx"]
    assert run(world, pod("quota3/nginx", cpu="1")) == ["quota3/nginx"]


# ---- limits ----------------------------------------------------------------------------------------------


def test_all_quotas_together_stay_within_the_sum_of_min() -> None:
    world = simulation(node(cpu="64"), quota("a", {"cpu": 4}), quota("b", {"cpu": 4}))
    placements = world.schedule([pod(f"a/{i}") for i in range(5)])
    assert [placement.node_name for placement in placements] == ["n1"] * 4 + [None]
    assert OVER_ALL in placements[4].message


def test_resources_that_a_quota_does_not_name_are_not_limited() -> None:
    world = simulation(node(), quota("a", {"cpu": 4}, {"cpu": 4}))
    assert run(world, pod("a/1", memory="32Gi", cpu="1")) == ["a/1"]


def test_namespaces_without_a_quota_are_not_limited_and_preempt_among_themselves() -> None:
    world = simulation(node(cpu="4"), quota("a", {"cpu": 4}))
    world.schedule([pod("a/1"), pod("free/low")])
    assert run(world, pod("free/high", priority=5)) == ["a/1", "free/high"]
    assert run(world, pod("free/higher", priority=9, cpu="4")) == ["a/1", "free/high"]


def test_a_pod_that_may_never_preempt_does_not(world: Simulation) -> None:
    world.schedule([pod(f"quota1/p{i}") for i in range(3)])
    patient = pod("quota2/big", cpu="4")
    patient["spec"]["preemptionPolicy"] = "Never"
    assert len(run(world, patient)) == 3


# ---- changes ---------------------------------------------------------------------------------------------


def test_a_larger_quota_requeues_waiting_pods(world: Simulation) -> None:
    world.schedule([pod(f"quota1/p{i}") for i in range(4)])
    world.add(quota("quota1", {"cpu": 4}, {"cpu": 8}))
    later(world)
    assert len(running(world)) == 4


def test_a_pod_that_ends_requeues_waiting_pods(world: Simulation) -> None:
    world.schedule([pod(f"quota1/p{i}") for i in range(4)])
    world.cluster.delete("Pod", "quota1/p0")
    later(world)
    assert running(world) == ["quota1/p1", "quota1/p2", "quota1/p3"]


def test_usage_equals_a_recount_after_any_change(world: Simulation) -> None:
    (framework,) = world.scheduler.core.frameworks.values()
    plugin = framework.plan.plugins["CapacityScheduling"]
    world.schedule([pod("quota1/p0"), pod("quota1/p1"), pod("free/p")])
    assert plugin.usage.sync()["quota1"] == {"cpu": 4000}
    world.cluster.delete("Pod", "quota1/p0")
    world.scheduler.sync()
    world.add(node("n2"))
    assert plugin.usage.sync()["quota1"] == {"cpu": 2000}
    assert plugin.usage.sync()["free"] == {"cpu": 2000}


def test_a_dry_run_does_not_change_the_quotas(world: Simulation) -> None:
    (framework,) = world.scheduler.core.frameworks.values()
    plugin = framework.plan.plugins["CapacityScheduling"]
    world.schedule([pod("quota1/p0")])
    made, other = (from_manifest(pod(key)) for key in ("quota1/new", "quota2/other"))
    state = CycleState()
    assert plugin.pre_filter(state, made) is None
    before = state.read(QUOTAS).clone().used
    clone = state.clone()
    plugin.add_pod(clone, other)
    assert clone.read(QUOTAS).used != before
    plugin.remove_pod(clone, other)
    assert clone.read(QUOTAS).used == before == state.read(QUOTAS).used


def test_the_kind_and_wrong_args() -> None:
    made = from_manifest(quota("a", {"cpu": "500m"}), kinds=[ElasticQuota])
    assert isinstance(made, ElasticQuota)
    assert made.spec.min["cpu"].milli_value() == 500
    with pytest.raises(ConfigError, match="minCandidateNodesPercentage"):
        simulation(minCandidateNodesPercentage=101)
