"""percentageOfNodesToScore where it leaves no node out: the path and the placements of no percentage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from schedframe import InMemoryCluster, Pod, Scheduler, VirtualClock
from schedframe.cycle import Tuning, observing
from schedframe.cycle.equivalence.fast_search import FastSearch
from schedframe.cycle.search.search import Search
from tests.configurations import configuration

from .build import PROFILE, make_node, make_pod

OTHER = "other"
ZONE = "topology.kubernetes.io/zone"
ALL_PROFILES = {"profiles": [{"schedulerName": PROFILE, "percentageOfNodesToScore": 100}]}
NO_SCORES = {"score": {"disabled": [{"name": "*"}]}, "preScore": {"disabled": [{"name": "*"}]}}


def document(**fields: Any) -> dict[str, Any]:
    return configuration(**fields)


def pods(number: int, scheduler: str = PROFILE) -> list[Pod]:
    """Pods of three classes, every eleventh of which fits nowhere."""
    made = []
    for i in range(number):
        cpu = "900" if i % 11 == 10 else f"{1 + i % 3}"
        name = f"{scheduler}-{i}"
        made.append(make_pod(name, uid=name, cpu=cpu, scheduler=scheduler))
    return made


def scheduler_of(fields: Mapping[str, Any], nodes: int, **options: Any) -> tuple[Scheduler, InMemoryCluster]:
    cluster = InMemoryCluster()
    for i in range(nodes):
        # Few nodes tie for the best score, so that the draw depends on their order.
        cpu = 16 if i % 30 == 0 else 8
        cluster.create(make_node(f"n{i}", labels={ZONE: f"z{3 * i // nodes}"}, cpu=cpu, pods=20))
    config = document(**fields)
    return Scheduler(cluster, config, clock=VirtualClock(), seed=7, **options), cluster


def placements(fields: Mapping[str, Any], nodes: int, **options: Any) -> dict[str, str]:
    scheduler, cluster = scheduler_of(fields, nodes, **options)
    for pod in pods(60):
        cluster.create(pod)
    with scheduler:
        scheduler.run_until_idle()
    return {pod.name: pod.spec.node_name for pod in cluster.list("Pod")}


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names of pods: those that the cache decided, and those for which all or some nodes were searched."""
    names: dict[str, list[str]] = {"cached": [], "searched": []}
    decide, find = FastSearch.decide, Search._find

    def counted_decide(self: FastSearch, framework: Any, pod: Pod) -> Any:
        decision = decide(self, framework, pod)
        if decision is not None and decision.is_settled:
            names["cached"].append(pod.name)
        return decision

    def counted_find(self: Search, framework: Any, decision: Any, *rest: Any) -> bool:
        names["searched"].append(decision.pod.name)
        return find(self, framework, decision, *rest)

    monkeypatch.setattr(FastSearch, "decide", counted_decide)
    monkeypatch.setattr(Search, "_find", counted_find)
    return names


COVERING = [
    pytest.param({"percentageOfNodesToScore": 100}, 150, id="all"),
    pytest.param(ALL_PROFILES, 150, id="all in the profile"),
    pytest.param({"percentageOfNodesToScore": 30} | ALL_PROFILES, 150, id="all in the profile, not globally"),
    pytest.param({"percentageOfNodesToScore": 30}, 99, id="few nodes"),
    pytest.param({"percentageOfNodesToScore": 1}, 100, id="as many as are looked at in any case"),
]


@pytest.mark.parametrize(("fields", "nodes"), COVERING)
def test_placements_are_those_without_the_field(fields: dict[str, Any], nodes: int) -> None:
    assert placements(fields, nodes) == placements({}, nodes)


@pytest.mark.parametrize(("fields", "nodes"), COVERING)
def test_answers_come_from_the_cache(
    fields: dict[str, Any], nodes: int, searched: dict[str, list[str]]
) -> None:
    placements({}, nodes, tuning=Tuning(wait_together=False))
    expected = {path: list(names) for path, names in searched.items()}
    assert len(expected["cached"]) > 40
    for names in searched.values():
        names.clear()
    placements(fields, nodes, tuning=Tuning(wait_together=False))
    assert searched == expected


def test_a_sample_is_searched_as_before(searched: dict[str, list[str]]) -> None:
    scheduler, cluster = scheduler_of({"percentageOfNodesToScore": 70}, 150)
    for pod in pods(10):
        cluster.create(pod)
    scheduler.run_until_idle()
    sampling = scheduler.core.search.sampling
    assert (searched["cached"], len(searched["searched"])) == ([], 10)
    assert sampling is not None
    assert sampling.next_start == 10 * 105 % 150


def test_the_path_follows_the_number_of_nodes(searched: dict[str, list[str]]) -> None:
    scheduler, cluster = scheduler_of({"percentageOfNodesToScore": 50}, 90)
    for round_, more in enumerate((0, 20, 0)):
        for i in range(more):
            cluster.create(make_node(f"more{i}", cpu=8, pods=20))
        if round_ == 2:
            for i in range(20):
                cluster.delete(cluster.get("Node", f"more{i}"))
        before = {path: len(names) for path, names in searched.items()}
        for i in range(5):
            cluster.create(make_pod(f"p{round_}-{i}", uid=f"{round_}-{i}", cpu=1))
        scheduler.run_until_idle()
        grown = {path: len(names) - before[path] for path, names in searched.items()}
        assert (grown["cached"] >= 4, grown["searched"] <= 1) == (more == 0, more == 0), (round_, grown)
    scheduler.core.cache.check_invariants()


def test_each_profile_has_its_own_percentage(searched: dict[str, list[str]]) -> None:
    profiles = [
        {"schedulerName": PROFILE, "percentageOfNodesToScore": 100},
        {"schedulerName": OTHER, "percentageOfNodesToScore": 70},
    ]
    scheduler, cluster = scheduler_of({"profiles": profiles}, 150)
    for pod in (*pods(8), *pods(8, OTHER)):
        cluster.create(pod)
    scheduler.run_until_idle()
    assert {name for name in searched["cached"] if name.startswith(OTHER)} == set()
    assert len([name for name in searched["cached"] if name.startswith(PROFILE)]) >= 5
    assert {name for name in searched["searched"] if name.startswith(OTHER)} == {
        f"{OTHER}-{i}" for i in range(8)
    }


def test_both_paths_agree_where_profiles_differ() -> None:
    faults: list[Any] = []
    profiles = [
        {"schedulerName": PROFILE, "percentageOfNodesToScore": 100},
        {"schedulerName": OTHER, "percentageOfNodesToScore": 70},
    ]
    scheduler, cluster = scheduler_of(
        {"profiles": profiles}, 150, tuning=Tuning(verify=1.0), observers=[observing(faulted=faults.append)]
    )
    for pod in (*pods(40), *pods(40, OTHER)):
        cluster.create(pod)
    scheduler.run_until_idle()
    assert faults == []


def test_the_reference_order_is_kept_if_asked_for(searched: dict[str, list[str]]) -> None:
    placements({"percentageOfNodesToScore": 100}, 150, score_all_nodes=False)
    assert searched["cached"] == []


def test_without_score_plugins_the_first_feasible_node_is_taken(searched: dict[str, list[str]]) -> None:
    profile = {"schedulerName": PROFILE, "plugins": NO_SCORES}
    placed = placements({"percentageOfNodesToScore": 100, "profiles": [profile]}, 150)
    scheduler, _ = scheduler_of({}, 150, score_all_nodes=False)
    scheduler.sync()
    order = list(scheduler.core.cache.order.names())
    assert searched["cached"] == []
    assert [placed[f"{PROFILE}-{i}"] for i in range(3)] == [order[i] for i in range(3)]
