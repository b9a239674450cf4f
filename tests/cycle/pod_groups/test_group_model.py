"""Random small clusters and groups against a model: all or nothing, as member by member, never too much.

The model places members one after another, without the scheduler: it decides whether a gang can run at all,
by brute force over all assignments, and whether the algorithm, which never moves a member again, finds one.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import POD_GROUP_SCHEDULED
from schedframe.cycle import Tuning

from .helpers import TOPOLOGY, ZONE, group, nodes_of, pod, scheduler_of, zoned

sizes = st.integers(1, 3)


def can_run(capacities: list[int], members: list[int], at_least: int) -> bool:
    """Whether some assignment has room for that many members; every one is looked at."""
    for nodes in product(range(-1, len(capacities)), repeat=len(members)):
        used = [0] * len(capacities)
        for cpu, at in zip(members, nodes, strict=True):
            if at >= 0:
                used[at] += cpu
        if sum(at >= 0 for at in nodes) >= at_least and all(
            one <= room for one, room in zip(used, capacities, strict=True)
        ):
            return True
    return False


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    zones = draw(st.integers(1, 2))
    nodes = [(f"n{i}", f"z{i % zones}", draw(st.integers(1, 4))) for i in range(draw(st.integers(1, 3)))]
    members = draw(st.lists(sizes, min_size=1, max_size=4))
    return {
        "nodes": nodes,
        "members": members,
        "at_least": draw(st.integers(1, len(members))),
        "key": draw(st.sampled_from(["", ZONE])),
        "equal": draw(st.booleans()),
    }


@given(worlds())
def test_a_gang_runs_only_as_a_whole_and_where_an_assignment_exists(world: dict[str, Any]) -> None:
    members = world["members"] if not world["equal"] else [world["members"][0]] * len(world["members"])
    objects = [zoned(name, zone, cpu) for name, zone, cpu in world["nodes"]]
    cluster, scheduler, _ = scheduler_of(
        *objects, group("g", world["at_least"], world["key"]), gates=TOPOLOGY, tuning=Tuning(verify=1.0)
    )
    faults: list[Any] = []
    scheduler.core.observers.faulted = lambda status, pod: faults.append(status)
    for number, cpu in enumerate(members):
        cluster.create(pod(f"p{number}", "g", cpu=cpu))
    scheduler.run_until_idle()
    placed = nodes_of(cluster)

    # Never some members of a gang that is not there, never too much on a node.
    assert not placed or len(placed) >= world["at_least"]
    for name, _, cpu in world["nodes"]:
        assert sum(members[int(p[1:])] for p, at in placed.items() if at == name) <= cpu
    if world["key"]:
        zone_of = {name: zone for name, zone, _ in world["nodes"]}
        assert len({zone_of[at] for at in placed.values()}) <= 1

    # Placed only if an assignment exists; for equal members if and only if.
    domains = {zone for _, zone, _ in world["nodes"]} if world["key"] else {""}
    capacities = [[cpu for _, zone, cpu in world["nodes"] if domain in ("", zone)] for domain in domains]
    exists = any(can_run(each, members, world["at_least"]) for each in capacities)
    assert exists or not placed
    if len(set(members)) == 1:
        assert bool(placed) == exists

    # The condition says the same, nothing is left of the trial, and nothing was reported.
    shown = cluster.get("PodGroup", "default/g")
    assert shown is not None
    condition = shown.status.condition(POD_GROUP_SCHEDULED)
    assert condition is not None
    assert condition.status == str(bool(placed))
    assert len(scheduler.core.cache.states) == len(placed)
    assert scheduler.core.members.scheduled_count("default/g") == len(placed)
    scheduler.core.cache.check_invariants()
    scheduler.core.queue.check_invariants()
    assert not faults


# ---- one node in each domain: no choice but that of the domain ---------------------------------------------


@st.composite
def domains(draw: st.DrawFn) -> dict[str, Any]:
    members = draw(st.lists(sizes, min_size=1, max_size=5))
    return {
        "cpus": draw(st.lists(st.integers(1, 8), min_size=1, max_size=4)),
        "members": members,
        "priorities": draw(st.permutations(range(len(members)))),
        "at_least": draw(st.one_of(st.none(), st.integers(1, len(members)))),
    }


def in_order(cpu: int, members: list[int]) -> list[int]:
    """The members that find room on a node, tried one after another, none of them a second time."""
    placed = []
    for size in members:
        if size <= cpu:
            cpu -= size
            placed.append(size)
    return placed


def score(cpu: int, placed: list[int], most: int) -> int:
    """The score of a domain: how full it is of cpu and memory (1 of 64 Gi a member), how many members run."""
    fullness = (100 * sum(placed) // cpu + 100 * len(placed) // 64) // 2
    return fullness + 100 * len(placed) // most


@given(domains())
def test_the_best_domain_takes_the_members_in_order(world: dict[str, Any]) -> None:
    nodes = [zoned(f"n{i}", f"z{i}", cpu) for i, cpu in enumerate(world["cpus"])]
    cluster, scheduler, _ = scheduler_of(
        *nodes, group("g", world["at_least"], ZONE), gates=TOPOLOGY, tuning=Tuning(verify=1.0)
    )
    of = list(zip(world["members"], world["priorities"], strict=True))
    for number, (cpu, priority) in enumerate(of):
        cluster.create(pod(f"p{number}", "g", cpu=cpu, priority=priority))
    scheduler.schedule_one()
    while len(scheduler.core.inbox):
        scheduler.sync()

    by_priority = [cpu for cpu, _ in sorted(of, key=lambda each: -each[1])]
    tried = [in_order(cpu, by_priority) for cpu in world["cpus"]]
    feasible = [i for i, placed in enumerate(tried) if len(placed) >= (world["at_least"] or 1)]
    found = nodes_of(cluster)
    assert bool(found) == bool(feasible)
    if feasible:
        most = max(len(tried[i]) for i in feasible)
        scores = {i: score(world["cpus"][i], tried[i], most) for i in feasible}
        best = {i for i in feasible if scores[i] == max(scores.values())}
        (chosen,) = {int(name[1:]) for name in found.values()}
        assert chosen in best
        assert sorted(world["members"][int(name[1:])] for name in found) == sorted(tried[chosen])
