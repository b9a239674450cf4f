"""Preemption for a group as a whole: who goes, in which order victims are spared, and when no pod does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import InMemoryCluster, Scheduler, VirtualClock
from schedframe.api import POD_GROUP_SCHEDULED
from schedframe.cycle import Tuning

from .helpers import GANGS, TOPOLOGY, ZONE, group, node, nodes_of, pod, pools, scheduler_of, zoned

WHOLE = {**GANGS, "WorkloadAwarePreemption": True}
ROUNDS = 6


def running(name: str, at: str, cpu: int = 2, priority: int = 0, **more: Any) -> dict[str, Any]:
    """A pod that runs; *more*: ``started``, ``labels`` and ``group_name``."""
    made = pod(name, more.get("group_name", ""), cpu=cpu, nodeName=at, priority=priority)
    made["metadata"]["labels"] = more.get("labels", {})
    started = more.get("started", 0)
    made["status"] = {"phase": "Running", "startTime": f"2000-01-01T00:00:{started:02d}Z"}
    return made


def budget(name: str, allowed: int, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


def come_to_rest(scheduler: Scheduler, clock: VirtualClock) -> None:
    scheduler.run_until_idle()
    for _ in range(ROUNDS):
        clock.advance(30)
        scheduler.run_until_idle()


def message_of(cluster: InMemoryCluster) -> str:
    found = cluster.get("PodGroup", "default/g")
    assert found is not None
    condition = found.status.condition(POD_GROUP_SCHEDULED)
    assert condition is not None
    return condition.message


def test_only_as_many_go_as_the_group_needs_and_the_least_important() -> None:
    low = [running(f"low{i}", f"n{i}", priority=i) for i in range(4)]
    nodes = [node(f"n{i}", cpu=2) for i in range(4)]
    cluster, scheduler, clock = scheduler_of(*nodes, *low, group("g", 2, priority=10), gates=WHOLE)
    for name in "ab":
        cluster.create(pod(name, "g", cpu=2))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"a", "b", "low2", "low3"}


def test_the_priority_of_the_group_counts_and_those_of_its_members_do_not() -> None:
    cluster, scheduler, clock = scheduler_of(
        node("n", cpu=2), running("low", "n", priority=5), group("g", 1, priority=5), gates=WHOLE
    )
    cluster.create(pod("a", "g", cpu=2, priority=100))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"low"}
    assert message_of(cluster).endswith("No preemption victims found for incoming preemptor")


def test_one_member_that_may_not_preempt_keeps_the_group_from_it() -> None:
    cluster, scheduler, clock = scheduler_of(
        node("n", cpu=2), running("low", "n"), group("g", 2, priority=5), gates=WHOLE
    )
    cluster.create(pod("a", "g"))
    cluster.create(pod("b", "g", preemptionPolicy="Never"))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"low"}
    assert message_of(cluster).endswith("not eligible due to preemptionPolicy=Never.")


@pytest.mark.parametrize(("own", "preempts"), [("Never", False), ("PreemptLowerPriority", True)])
def test_the_policy_of_the_group_counts_before_those_of_its_members(own: str, preempts: bool) -> None:
    later = group("g", 1, priority=5, preemptionPolicy=own) | {"apiVersion": "scheduling.k8s.io/v1beta1"}
    policy = "Never" if preempts else "PreemptLowerPriority"
    cluster, scheduler, clock = scheduler_of(node("n", cpu=2), running("low", "n"), later, gates=WHOLE)
    cluster.create(pod("a", "g", cpu=2, preemptionPolicy=policy))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == ({"a"} if preempts else {"low"})


def test_a_group_with_a_topology_constraint_preempts_nothing() -> None:
    gates = {**TOPOLOGY, **WHOLE}
    cluster, scheduler, clock = scheduler_of(
        zoned("n", "a", cpu=2), running("low", "n"), group("g", 1, ZONE, priority=5), gates=gates
    )
    cluster.create(pod("a", "g", cpu=2))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"low"}
    assert "not supported for pod groups with scheduling constraints" in message_of(cluster)


def test_a_group_that_is_disrupted_together_goes_whole_or_not_at_all() -> None:
    together = [running(f"t{i}", f"n{i}", group_name="other", started=i) for i in range(2)]
    cluster, scheduler, clock = scheduler_of(
        *(node(f"n{i}", cpu=2) for i in range(3)),
        *together,
        running("alone", "n2", priority=1),
        group("other", 1, priority=2, disruptionMode="PodGroup"),
        group("g", 1, priority=10),
        gates=WHOLE,
    )
    cluster.create(pod("a", "g", cpu=2, priority=10))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"a", "t0", "t1"}  # the unit has the priority of its group
    for name in "bc":
        cluster.create(group(f"g{name}", 1, priority=10))
        cluster.create(pod(name, f"g{name}", cpu=2, priority=10))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"a", "b", "c"}


@pytest.mark.parametrize("first", ["whole", "part"])
def test_of_a_group_of_one_pod_and_one_member_the_older_is_spared(first: str) -> None:
    started = {"whole": 1, "part": 1, first: 0}
    cluster, scheduler, clock = scheduler_of(
        *(node(f"n{i}", cpu=2) for i in range(2)),
        *(running(name, f"n{i}", group_name=name, started=started[name]) for i, name in enumerate(started)),
        group("whole", 1, disruptionMode="PodGroup"),
        group("part", 1),
        group("g", 1, priority=10),
        gates=WHOLE,
    )
    cluster.create(pod("a", "g", cpu=2, priority=10))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"a", first}


def test_members_of_a_group_are_no_victims_of_their_own_group() -> None:
    """In v1.36 those of a lower priority than the group are."""
    cluster, scheduler, clock = scheduler_of(
        node("n", cpu=2), running("b", "n", group_name="g"), group("g", 1, priority=10), gates=WHOLE
    )
    cluster.create(pod("a", "g", cpu=2))
    come_to_rest(scheduler, clock)
    assert set(nodes_of(cluster)) == {"b"}


def test_victims_of_a_group_that_still_end_are_waited_for() -> None:
    """While they end, no other pods are evicted in their place (v1.36 evicts them)."""
    clock = VirtualClock()
    low = [running(f"low{i}", f"n{i}", priority=1) for i in range(2)]
    nodes = [node(f"n{i}", cpu=2) for i in range(3)]
    cluster = InMemoryCluster([*nodes, *low, group("g", 2, priority=10)], clock=clock, graceful=True)
    with Scheduler(cluster, clock=clock, seed=1, feature_gates=WHOLE) as scheduler:
        cluster.create(running("important", "n2", priority=100))
        for name in "ab":
            cluster.create(pod(name, "g", cpu=2))
        scheduler.run_until_idle()
        cluster.create(node("more", cpu=2))
        cluster.create(running("least", "more", priority=0))
        for name in ("low0", "low1"):
            cluster.finish_deletion(f"default/{name}")
            come_to_rest(scheduler, clock)
        least = cluster.get("Pod", "default/least")
        assert least is not None
        assert not least.is_terminating
        assert {"a", "b"} <= set(nodes_of(cluster))


# ---- the model ---------------------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    groups = {f"v{i}": (draw(st.sampled_from([None, 0, 2, 9])), draw(st.booleans())) for i in range(2)}
    victims: list[dict[str, Any]] = []
    for number, capacity in enumerate(nodes):
        left = capacity
        while left and draw(st.booleans()):
            cpu = draw(st.integers(1, left))
            left -= cpu
            victims.append(
                {
                    "name": f"w{len(victims)}",
                    "node": number,
                    "cpu": cpu,
                    "priority": draw(st.integers(0, 3)),
                    "group": draw(st.sampled_from(["", "", "v0", "v1"])),
                    "app": draw(st.sampled_from(["", "a", "b"])),
                }
            )
    order = draw(st.permutations(range(len(victims))))
    for victim, started in zip(victims, order, strict=True):
        victim["started"] = started
    members = draw(st.integers(1, 4))
    return {
        "nodes": nodes,
        "groups": groups,
        "victims": victims,
        "budgets": {"a": draw(st.integers(0, 2)), "b": draw(st.integers(0, 2))},
        "members": members,
        "size": draw(st.integers(1, 3)),
        "at_least": draw(st.one_of(st.none(), st.integers(1, members))),
        "priority": draw(st.sampled_from([None, 1, 2, 3, 10])),
    }


Unit = tuple[int, bool, list[dict[str, Any]]]
"""Priority, whether it is a whole group, and its pods."""


def has_room(world: dict[str, Any], pods: list[dict[str, Any]]) -> bool:
    """Whether enough of the members, which are all equal, fit beside these pods."""
    free = list(world["nodes"])
    for each in pods:
        free[each["node"]] -= each["cpu"]
    fitting = min(world["members"], sum(each // world["size"] for each in free))
    return fitting >= (world["at_least"] or 1)


def units_of(world: dict[str, Any]) -> list[Unit]:
    together: dict[str, list[dict[str, Any]]] = {}
    units: list[Unit] = []
    for each in world["victims"]:
        if each["group"] and world["groups"][each["group"]][1]:
            together.setdefault(each["group"], []).append(each)
        else:
            units.append((each["priority"], False, [each]))
    return units + [(world["groups"][name][0] or 0, True, pods) for name, pods in together.items()]


def order_of(unit: Unit) -> tuple[int, bool, int, int]:
    priority, _, pods = unit
    started = min(each["started"] for each in pods)
    return -priority, not any(each["group"] for each in pods), -len(pods), started


def model(world: dict[str, Any]) -> set[str]:
    """The names of the pods that have to go, by the rules of v1.36; empty if none go."""
    units = units_of(world)
    allowed = sorted((each for each in units if each[0] < (world["priority"] or 0)), key=order_of)
    staying = [pod for unit in units if unit not in allowed for pod in unit[2]]
    if has_room(world, world["victims"]) or not allowed or not has_room(world, staying):
        return set()
    left, violating = dict(world["budgets"]), set()
    for unit in allowed:
        for each in unit[2]:
            if each["app"]:
                left[each["app"]] -= 1
                if left[each["app"]] < 0:
                    violating.add(each["name"])
    gone: set[str] = set()
    for unit in sorted(allowed, key=lambda unit: not any(each["name"] in violating for each in unit[2])):
        if has_room(world, staying + unit[2]):
            staying += unit[2]
        else:
            gone |= {each["name"] for each in unit[2]}
    return gone


@given(worlds())
def test_the_victims_are_those_of_the_model(world: dict[str, Any]) -> None:
    objects = [node(f"n{i}", cpu=cpu) for i, cpu in enumerate(world["nodes"])]
    for name, (priority, whole) in world["groups"].items():
        mode = {"disruptionMode": "PodGroup" if whole else "Pod"}
        objects.append(group(name, None, **mode, **({} if priority is None else {"priority": priority})))
    for each in world["victims"]:
        labels = {"app": each["app"]} if each["app"] else {}
        objects.append(
            running(
                each["name"],
                f"n{each['node']}",
                each["cpu"],
                each["priority"],
                group_name=each["group"],
                labels=labels,
                started=each["started"],
            )
        )
    objects += [budget(app, allowed, app=app) for app, allowed in world["budgets"].items()]
    priority = {} if world["priority"] is None else {"priority": world["priority"]}
    cluster, scheduler, clock = scheduler_of(
        *objects, group("g", world["at_least"], **priority), gates=WHOLE, tuning=Tuning(verify=1.0)
    )
    for number in range(world["members"]):
        cluster.create(pod(f"p{number}", "g", cpu=world["size"]))
    expected = model(world)
    scheduler.run_until_idle()
    before = {each["name"] for each in world["victims"]}
    assert before - set(nodes_of(cluster, "w")) == expected

    # Members that did not fit with the others may preempt for themselves in later attempts.
    come_to_rest(scheduler, clock)
    placed, there = nodes_of(cluster, "p"), set(nodes_of(cluster, "w"))
    left = [each for each in world["victims"] if each["name"] in there]
    assert bool(placed) == has_room(
        world, [each for each in world["victims"] if each["name"] not in expected]
    )
    assert not placed or len(placed) >= (world["at_least"] or 1)
    for unit_priority, _, pods in units_of(world):
        present = {each["name"] in there for each in pods}
        assert present == {True} or (present == {False} and unit_priority < (world["priority"] or 0))
    for number, capacity in enumerate(world["nodes"]):
        at = sum(each["cpu"] for each in left if each["node"] == number)
        at += world["size"] * sum(name == f"n{number}" for name in placed.values())
        assert at <= capacity
    scheduler.core.cache.check_invariants()
    scheduler.core.queue.check_invariants()


@given(worlds(), st.integers(1, 4))
def test_members_that_preempt_one_by_one_do_so_only_if_the_group_runs_then(
    world: dict[str, Any], priority: int
) -> None:
    objects = [node(f"n{i}", cpu=cpu) for i, cpu in enumerate(world["nodes"])]
    for each in world["victims"]:
        objects.append(running(each["name"], f"n{each['node']}", each["cpu"], each["priority"]))
    cluster, scheduler, clock = scheduler_of(
        *objects, group("g", world["at_least"]), tuning=Tuning(verify=1.0)
    )
    for number in range(world["members"]):
        cluster.create(pod(f"p{number}", "g", cpu=world["size"], priority=priority))
    come_to_rest(scheduler, clock)
    placed = nodes_of(cluster, "p")
    gone = {each["name"] for each in world["victims"]} - set(nodes_of(cluster, "w"))
    assert all(each["priority"] < priority for each in world["victims"] if each["name"] in gone)
    assert placed or not gone
    assert not placed or len(placed) >= (world["at_least"] or 1)
    if len(placed) < world["members"]:
        assert set(pools(scheduler)) == {f"p{i}" for i in range(world["members"])} - placed.keys()


@pytest.mark.parametrize("gates", [WHOLE, {**WHOLE, **TOPOLOGY}])
def test_a_member_that_fits_waits_with_the_message_of_its_group(gates: dict[str, bool]) -> None:
    cluster, scheduler, _ = scheduler_of(
        node("n0", cpu=2),
        node("n1", cpu=2),
        running("low", "n1"),
        group("g", 2, priority=10),
        gates=gates,
    )
    for name in "ab":
        cluster.create(pod(name, "g", cpu=2))
    scheduler.schedule_one()
    fits = cluster.get("Pod", "default/b")  # completed the group, so it was tried first
    assert fits is not None
    condition = fits.status.condition("PodScheduled")
    assert condition is not None
    assert condition.message == message_of(cluster)
    assert fits.status.nominated_node_name == "n0"
