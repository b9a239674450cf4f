"""Every template at a small size: it places the pods that it should place."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schedframe.bench import TEMPLATES, Options, compare, compare_text, run
from schedframe.bench.bench_run import BenchRun
from schedframe.bench.clock import SkippingClock
from schedframe.bench.delayed_answers import answer_to
from schedframe.bench.fixture import ClusterFixture
from schedframe.bench.objects import ZONE, make_node, make_pod
from schedframe.bench.options import Size, no_progress
from schedframe.bench.templates import Template
from schedframe.cluster import InMemoryCluster
from schedframe.cycle import Scheduler
from schedframe.errors import InputError

NODES, INIT, PODS = 12, 6, 20
FULL = {"anti-affinity": NODES - INIT, "unschedulable-attempts": 0, "preemption": NODES}
"""Pods that find a node, where not all do."""
GANGS = {"gang-100": 100, "gang-1000": 1000, "gang-topology": 50}
"""Pods of a gang, for the templates with gangs: they have whole gangs only."""


def run_operations(template: Template, size: Size) -> BenchRun:
    """Carry out the operations of *template*; return the run."""
    cluster, clock = InMemoryCluster(), SkippingClock()
    assert template.operations is not None
    with Scheduler(cluster, plugins=template.plugins, clock=clock, seed=0) as scheduler:
        bench = BenchRun(ClusterFixture(cluster, scheduler, clock, no_progress))
        for operation in template.operations(size):
            operation.run(bench)
    return bench


SCHEDULING = [name for name, template in TEMPLATES.items() if template.operations is not None]


@pytest.mark.parametrize("name", SCHEDULING)
def test_a_template_places_what_it_should(name: str) -> None:
    pods = GANGS.get(name, PODS)
    nodes = NODES if pods == PODS else NODES * 20  # a gang has room in one of 20 zones
    figures = run(name, Options(nodes=nodes, init=INIT, pods=PODS))
    assert (figures["template"], figures["nodes"], figures["pods"]) == (name, nodes, pods)
    assert figures["scheduled"] == FULL.get(name, pods)
    assert figures["scheduled"] + figures["unschedulable"] == pods
    assert figures["attempts"] >= (1 if name in GANGS else pods)
    assert list(figures) == list(basic_figures())


@cache
def basic_figures() -> dict[str, Any]:
    return run("basic", Options(1, 0, 0))


@pytest.mark.parametrize("name", ["basic", "preemption", "gang-100"])
def test_a_template_ends_in_a_cluster_without_nodes(name: str) -> None:
    """Pods without any node fail with an error, which is retried after each backoff for ever."""
    figures = run(name, Options(nodes=0, init=1, pods=2))
    assert (figures["pods"], figures["scheduled"]) == (GANGS.get(name, 2), 0)


def spread(name: str, key: str) -> dict[str, int]:
    """Count the measured pods by node, or by a label of the node."""
    cluster = run_operations(TEMPLATES[name], Size(NODES, INIT, PODS)).fixture.cluster
    nodes = {node.name: node for node in cluster.list("Node")}
    counts: dict[str, int] = {}
    for pod in cluster.list("Pod"):
        if pod.name.startswith("pod-") and pod.spec.node_name:
            where = nodes[pod.spec.node_name].labels[key] if key else pod.spec.node_name
            counts[where] = counts.get(where, 0) + 1
    return counts


def test_required_spreading_keeps_its_skew() -> None:
    counts = spread("spread-required", ZONE)
    assert len(counts) == 3
    assert max(counts.values()) - min(counts.values()) <= 5


def test_anti_affinity_places_one_pod_per_node() -> None:
    assert set(spread("anti-affinity", "").values()) == {1}


def test_pods_stay_off_nodes_with_taints_they_do_not_tolerate() -> None:
    assert {int(name.removeprefix("node-")) % 4 for name in spread("taints", "")} <= {0, 1, 2}


def test_a_preemption_evicts_three_pods() -> None:
    bench = run_operations(TEMPLATES["preemption"], Size(nodes=5, init=0, pods=3))
    pods = bench.fixture.cluster.list("Pod")
    assert sum(pod.priority == 0 for pod in pods) == 5 * 4 - 3 * 3
    assert all(pod.spec.node_name for pod in pods)


def test_the_backlog_is_not_measured() -> None:
    bench = run_operations(TEMPLATES["unschedulable-backlog"], Size(NODES, INIT, PODS))
    assert (len(bench.measurement.attempts), len(bench.fixture.scheduler.pending())) == (PODS, INIT)


def test_churn_removes_what_it_created() -> None:
    cluster = run_operations(TEMPLATES["node-churn"], Size(NODES, INIT, 40)).fixture.cluster
    assert len(cluster.list("Node")) == NODES
    assert not cluster.list("Service")


def test_loading_measures_time_and_memory() -> None:
    figures = run("load", Options(nodes=20, init=30))
    assert (figures["nodes"], figures["init"]) == (20, 30)
    assert figures["nodes_resident_mb"] > 0


def test_objects_are_those_of_scheduler_perf() -> None:
    pod, node = make_pod("a", node="b"), make_node(1, zones=("x", "y"))
    assert (pod.requests["cpu"], pod.node_name) == (100, "b")
    assert (node.allocatable["cpu"], node.allocatable["pods"], node.labels[ZONE]) == (4000, 110, "y")


def test_the_clock_skips_waits_and_never_goes_back() -> None:
    clock = SkippingClock()
    later = clock() + 100.0
    clock.skip_to(later)
    assert clock() >= later
    skipped = clock.skipped
    clock.skip_to(later - 50.0)
    assert 0 <= clock.skipped - skipped < 10_000


def lines(path: Path, *figures: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, figures)) + "\n", encoding="utf-8")
    return path


def test_two_runs_are_compared_by_medians(tmp_path: Path) -> None:
    def basic(rate: float) -> dict[str, Any]:
        return {"template": "basic", "nodes": 5, "pods_per_s": rate, "p50_us": None, "seed": rate}

    before = lines(tmp_path / "a.json", basic(100.0), basic(90.0), basic(200.0), {"template": "queue"})
    after = lines(tmp_path / "b.json", basic(150.0))
    rows = compare(before, after)
    assert rows == [
        {
            "of": "template basic, nodes 5",
            "figure": "pods_per_s",
            "before": 100.0,
            "after": 150.0,
            "change": 0.5,
        }
    ]
    heading, figure = compare_text(rows).splitlines()
    assert heading == "template basic, nodes 5"
    assert figure.split() == ["pods_per_s", "100.0", "150.0", "+50.0%"]


def test_files_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    basic = lines(tmp_path / "a.json", {"template": "basic", "pods_per_s": 1})
    other = lines(tmp_path / "b.json", {"template": "taints", "pods_per_s": 1})
    (tmp_path / "text").write_text("fast\n")
    (tmp_path / "list").write_text("[]\n")
    with pytest.raises(InputError, match="have no workload in common"):
        compare(basic, other)
    with pytest.raises(InputError, match="text:1: no JSON"):
        compare(basic, tmp_path / "text")
    with pytest.raises(InputError, match="list:1: expected an object"):
        compare(basic, tmp_path / "list")
    with pytest.raises(InputError, match="cannot be read"):
        compare(basic, tmp_path / "none")


@pytest.mark.parametrize("name", ["extender", "extender-rejects"])
def test_the_extender_in_another_process_answers(name: str) -> None:
    figures = run(name, Options(nodes=NODES, init=INIT, pods=PODS))
    assert figures["scheduled"] == PODS
    assert "fault" not in figures
    assert figures["p50_us"] > 1000 * figures["answer_ms"]


@pytest.mark.parametrize(("rejected", "kept"), [(0, ["a", "b", "c"]), (2, ["a", "c"])])
def test_what_the_extender_answers(rejected: int, kept: list[str]) -> None:
    answer = json.loads(answer_to(b'{"NodeNames":["a","b","c"]}', rejected))
    assert answer["NodeNames"] == kept
    assert list(answer["FailedNodes"]) == [name for name in "abc" if name not in kept]
