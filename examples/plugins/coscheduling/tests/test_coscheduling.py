"""Behaviour as the original's README and KEP 42 describe it, on a cluster in memory with its own clock."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
from schedframe_coscheduling import Coscheduling, PodGroup
from schedframe_coscheduling.plugin import BACKING_OFF, NO_GROUP, TOO_FEW, TOO_SMALL

from schedframe import BindRefused, ConfigError, Pod, Simulation, from_manifest

LABEL = "scheduling.x-k8s.io/pod-group"


def configuration(**args: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                    "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
                },
                "pluginConfig": [{"name": "Coscheduling", "args": args}],
            }
        ],
    }


def node(name: str = "n1", cpu: str = "10") -> dict[str, Any]:
    room = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}}


def group(name: str = "nginx", minimum: int = 3, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": minimum, "scheduleTimeoutSeconds": 10, **spec},
    }


def pod(name: str, of: str = "nginx", cpu: str = "3", priority: int = 0) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    labels = {LABEL: of} if of else {}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": containers, "priority": priority},
    }


def pods(count: int, of: str = "nginx", **options: Any) -> list[dict[str, Any]]:
    return [pod(f"{of}-{i}", of, **options) for i in range(count)]


def simulation(*objects: Any, **args: Any) -> Simulation:
    installed = {entry.name for entry in entry_points(group="schedframe.plugins")}
    plugins = {} if "Coscheduling" in installed else {"Coscheduling": Coscheduling}
    return Simulation(objects, configuration(**args), plugins=plugins)


def running(world: Simulation) -> list[str]:
    return sorted(found.name for found in world.cluster.list("Pod") if found.spec.node_name)


def later(world: Simulation, seconds: float) -> None:
    world.clock.advance(seconds)
    world.scheduler.run_until_idle()


def pools(world: Simulation) -> dict[str, str]:
    return {waiting.key.partition("/")[2]: str(waiting.pool) for waiting in world.scheduler.pending()}


# ---- the demo of the README ------------------------------------------------------------------------------


def test_with_room_for_three_of_six_a_group_of_at_least_three_runs_with_three() -> None:
    world = simulation(node(), group(minimum=3))
    world.schedule(pods(6))
    assert len(running(world)) == 3


def test_with_room_for_three_of_six_a_group_of_at_least_four_does_not_run_at_all() -> None:
    world = simulation(node(), group(minimum=4))
    world.schedule(pods(6))
    assert running(world) == []
    for _ in range(5):
        later(world, 11)
        assert running(world) == []


def test_no_pod_holds_resources_after_its_group_was_rejected() -> None:
    world = simulation(node(), group(minimum=4))
    world.schedule(pods(6))
    world.schedule([pod("other", of="", cpu="9")])
    assert running(world) == ["other"]


# ---- permit ----------------------------------------------------------------------------------------------


def test_pods_wait_for_the_last_one_and_then_go_together() -> None:
    world = simulation(node(), node("n2"), group(minimum=3))
    seen: list[list[str]] = []
    world.add(*pods(3))
    while world.scheduler.schedule_one() is not None:
        seen.append(running(world))
    world.schedule()
    assert seen == [[], [], []] or seen[:2] == [[], []]
    assert running(world) == ["nginx-0", "nginx-1", "nginx-2"]


def test_the_timeout_rejects_the_whole_group() -> None:
    world = simulation(node(cpu="6"), node("n2", cpu="1"), group(minimum=3), podGroupRejectPercentage=100)
    world.schedule(pods(3))
    assert sorted(pools(world).values()) == ["in_flight", "in_flight", "unschedulable"]
    later(world, 9)
    assert list(pools(world).values()).count("in_flight") == 2
    later(world, 1.5)
    assert "in_flight" not in pools(world).values()
    assert running(world) == []


def test_a_group_without_a_limit_waits_as_long_as_the_args_say() -> None:
    world = simulation(
        node(cpu="6"),
        group(minimum=3, scheduleTimeoutSeconds=None),
        podGroupRejectPercentage=100,
        permitWaitingTimeSeconds=20,
    )
    world.schedule(pods(3))
    later(world, 19)
    assert "in_flight" in pools(world).values()
    later(world, 2)
    assert "in_flight" not in pools(world).values()


def test_running_members_count() -> None:
    world = simulation(node(), group(minimum=3))
    for made in pods(2):
        made["spec"]["nodeName"] = "n1"
        world.add(made)
    world.schedule([pod("nginx-2")])
    assert len(running(world)) == 3


def test_a_pod_whose_group_is_missing_waits_for_it() -> None:
    world = simulation(node())
    (placement,) = world.schedule([pod("early", of="late")])
    assert NO_GROUP in placement.message
    world.add(group("other", 1))
    assert pools(world) == {"early": "unschedulable"}
    world.add(group("late", 1))
    later(world, 15)
    assert running(world) == ["early"]


def test_pods_without_the_label_are_not_affected() -> None:
    world = simulation(node())
    world.schedule([pod("free", of="")])
    assert running(world) == ["free"]


# ---- pre_filter ------------------------------------------------------------------------------------------


def test_too_few_pods_are_rejected_before_filtering() -> None:
    world = simulation(node(cpu="30"), group(minimum=4))
    placements = world.schedule(pods(3))
    assert all(TOO_FEW in placement.message for placement in placements)
    world.schedule([pod("nginx-3")])  # the last one requeues the others
    assert len(running(world)) == 4


def test_a_group_that_cannot_fit_is_rejected_at_once() -> None:
    wanted = {"cpu": "9", "pods": "3"}
    world = simulation(node(cpu="8"), group(minimum=3, minResources=wanted))
    placements = world.schedule(pods(3))
    assert all(TOO_SMALL in placement.message for placement in placements)
    world.add(node("n2", cpu="4"))
    later(world, 15)
    assert len(running(world)) == 3


def test_resources_of_placed_members_count() -> None:
    world = simulation(node(cpu="9"), group(minimum=3, minResources={"cpu": "9"}))
    made = pod("nginx-0")
    made["spec"]["nodeName"] = "n1"
    world.add(made)
    world.schedule(pods(3)[1:])
    assert len(running(world)) == 3


# ---- post_filter -----------------------------------------------------------------------------------------


def test_a_group_that_is_nearly_complete_is_not_rejected() -> None:
    few = {"cpu": "1"}
    world = simulation(node(cpu="9"), group(minimum=10))
    world.schedule(pods(10, cpu=few["cpu"]))
    assert list(pools(world).values()).count("in_flight") == 9  # one of ten is missing: 10 percent
    world = simulation(node(cpu="8"), group(minimum=10))
    world.schedule(pods(10, cpu=few["cpu"]))
    assert "in_flight" not in pools(world).values()


def test_a_complete_group_is_not_rejected_for_one_more_pod() -> None:
    world = simulation(node(), group(minimum=3))
    placements = world.schedule(pods(4))
    assert [placement.node_name for placement in placements].count("n1") == 3
    assert not any("given up" in placement.message for placement in placements)


def test_a_rejected_group_backs_off_as_configured() -> None:
    world = simulation(node(), group(minimum=4), podGroupBackoffSeconds=30)
    world.schedule(pods(4))
    world.add(node("n2"))
    later(world, 12)
    assert running(world) == []
    assert BACKING_OFF in (world.evaluate(pod("nginx-x")).message or "")
    later(world, 20)
    world.scheduler.schedule_one()
    assert BACKING_OFF not in (world.evaluate(pod("nginx-x")).message or "")


# ---- the queue -------------------------------------------------------------------------------------------


def order(world: Simulation, *made: dict[str, Any]) -> list[str]:
    seen: list[str] = []
    world.add(*made)
    while (decision := world.scheduler.schedule_one()) is not None:
        seen.append(decision.pod.name)
    return seen


def test_groups_by_priority() -> None:
    world = simulation(node(cpu="100"), group("low", 2), group("high", 2))
    low, high = pods(2, "low"), pods(2, "high", priority=5)
    assert order(world, low[0], high[0], low[1], high[1])[:2] == ["high-0", "high-1"]


def test_of_groups_of_one_priority_the_older_goes_first_and_pods_stay_together() -> None:
    world = simulation(node(cpu="100"), group("a-young", 2))
    old = group("z-old", 2)
    old["metadata"]["creationTimestamp"] = "1970-01-01T00:00:01Z"
    world.add(old)
    mixed = [pod("a-young-0", "a-young"), pod("z-old-0", "z-old"), pod("a-young-1", "a-young")]
    assert order(world, *mixed, pod("z-old-1", "z-old")) == ["z-old-0", "z-old-1", "a-young-0", "a-young-1"]


def test_with_room_for_one_group_only_the_older_one_runs() -> None:
    world = simulation(node(cpu="6"), group("b", 2))
    world.clock.advance(5)
    world.add(group("a", 2))
    world.schedule([*pods(2, "a"), *pods(2, "b")])
    assert running(world) == ["b-0", "b-1"]


def test_a_rejected_group_queues_by_the_time_of_its_rejection() -> None:
    world = simulation(node(cpu="6"), group("big", 3))
    world.clock.advance(5)
    world.add(group("small", 2))
    world.schedule([*pods(3, "big"), *pods(2, "small")])
    assert running(world) == ["small-0", "small-1"]


# ---- failures ----------------------------------------------------------------------------------------


def test_deleting_a_waiting_member_rejects_the_others() -> None:
    world = simulation(node(cpu="6"), group(minimum=3), podGroupRejectPercentage=100)
    world.schedule(pods(3))
    waiting = next(name for name, pool in pools(world).items() if pool == "in_flight")
    world.cluster.delete("Pod", f"default/{waiting}")
    world.scheduler.run_until_idle()
    assert running(world) == []
    assert "in_flight" not in pools(world).values()


def test_a_member_whose_bind_fails_is_retried() -> None:
    world = simulation(node(), group(minimum=3))
    world.cluster.fail_next("bind", BindRefused("not now"))
    world.schedule(pods(3))
    assert len(running(world)) == 2
    later(world, 30)
    assert len(running(world)) == 3


def test_the_kind_and_wrong_args() -> None:
    made = from_manifest(group(), kinds=[PodGroup])
    assert isinstance(made, PodGroup)
    assert (made.key, made.spec.min_member) == ("default/nginx", 3)
    with pytest.raises(ConfigError, match="podGroupRejectPercentage"):
        simulation(podGroupRejectPercentage=101)


def test_members_follow_the_table() -> None:
    world = simulation(node(cpu="100"), node("n2"), group(minimum=1))
    (framework,) = world.scheduler.core.frameworks.values()
    plugin = framework.plan.plugins["Coscheduling"]
    world.schedule(pods(4))
    assert len(plugin.members.placed("default/nginx")) == 4
    moved = from_manifest(pod("nginx-9"))
    assert isinstance(moved, Pod)
    world.assume(moved, "n2")
    assert len(plugin.members.placed("default/nginx")) == 5
    for name in ("nginx-0", "nginx-1", "nginx-2", "nginx-3"):
        world.cluster.delete("Pod", f"default/{name}")
    world.scheduler.sync()
    world.remove_pod("default/nginx-9")
    assert plugin.members.placed("default/nginx") == {}


def test_deleted_groups_leave_nothing_behind() -> None:
    world = simulation(node(cpu="100"))
    (framework,) = world.scheduler.core.frameworks.values()
    plugin = framework.plan.plugins["Coscheduling"]
    for i in range(300):
        # Every other group is complete; the others are rejected.
        world.cluster.create(from_manifest(group(f"g{i}", minimum=1 + i % 2), kinds=[PodGroup]))
        world.schedule(pods(1, of=f"g{i}"))
        world.cluster.delete("Pod", f"default/g{i}-0")
        world.cluster.delete(PodGroup.KIND, f"default/g{i}")
        later(world, 100)
    assert len(plugin._attempts) <= 64
    assert not plugin._waiting
