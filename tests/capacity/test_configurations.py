"""Two configurations on the same pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from schedframe.capacity import compare_configurations
from schedframe.errors import InputError
from schedframe.testing import node, pod

from .worlds import owned

Manifest = Mapping[str, Any]


def config(kind: str, **plugins: Any) -> Manifest:
    args = {"scoringStrategy": {"type": kind, "resources": [{"name": "cpu", "weight": 1}]}}
    off = [{"name": "NodeResourcesBalancedAllocation"}, {"name": "PodTopologySpread"}]
    profile = {
        "plugins": {"score": {"disabled": off}, **plugins},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": args}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


SPREAD, PACK = config("LeastAllocated"), config("MostAllocated")
OLD = pod("old").requests(cpu="1").on_node("a")
NODES = [node("a", cpu=4), node("b", cpu=4)]


def test_a_pod_is_placed_otherwise_by_the_score_of_a_plugin() -> None:
    answer = compare_configurations([*NODES, OLD, pod("new").requests(cpu="1")], {"s": SPREAD, "p": PACK})
    (moved,) = answer.pods
    assert (moved.pod, moved.nodes) == ("default/new", ("b", "a"))
    assert (moved.plugin, moved.lead) == ("NodeResourcesFit", 25)
    assert moved.why == "NodeResourcesFit +25"
    assert answer.same == 0
    assert str(answer).split("\n")[1].split() == ["default/new", "b", "a", "NodeResourcesFit", "+25"]


def test_both_runs_side_by_side() -> None:
    daemon = owned(pod("daemon").on_node("b"), "DaemonSet")
    pods = [pod("new").requests(cpu="1"), pod("large").requests(cpu="9")]
    one, two = compare_configurations([*NODES, OLD, daemon, *pods], {"s": SPREAD, "p": PACK}).runs
    assert (one.name, one.placed, one.pending, one.nodes_in_use) == ("s", 1, 1, 2)
    assert (two.name, two.placed, two.pending, two.nodes_in_use) == ("p", 1, 1, 1)
    assert (one.left["cpu"].free, one.left["cpu"].allocatable, one.left["cpu"].unit) == (
        6000,
        8000,
        "milli-CPU",
    )


def test_a_plugin_that_rejects_the_node_of_the_first_run_is_named() -> None:
    tainted = node("a", cpu=4).taint("dedicated")
    untouched = config("LeastAllocated", filter={"disabled": [{"name": "TaintToleration"}]})
    full = pod("old").requests(cpu="3").on_node("b")
    cluster = [tainted, node("b", cpu=4), full, pod("new").requests(cpu="1")]
    (moved,) = compare_configurations(cluster, {"without": untouched, "with": SPREAD}).pods
    assert (moved.nodes, moved.plugin, moved.lead) == (("a", "b"), "TaintToleration", None)
    (lost,) = compare_configurations([*cluster[:1], cluster[3]], {"without": untouched, "with": SPREAD}).pods
    assert (lost.nodes, lost.plugin) == (("a", None), "TaintToleration")
    (won,) = compare_configurations([*cluster[:1], cluster[3]], {"with": SPREAD, "without": untouched}).pods
    assert (won.nodes, won.why) == ((None, "a"), "pending in the first run only")


def test_equal_configurations_place_alike() -> None:
    pods = [pod(f"p{i}").requests(cpu="100m") for i in range(9)]
    answer = compare_configurations([*NODES, *pods], {"one": SPREAD, "two": SPREAD})
    assert (answer.pods, answer.same) == ((), len(pods))


def test_the_document() -> None:
    answer = compare_configurations([*NODES, OLD, pod("new").requests(cpu="1")], {"s": SPREAD, "p": PACK})
    document = answer.to_dict()
    assert document["apiVersion"] == "schedframe.dev/v1alpha1"
    assert document["kind"] == "ConfigurationComparison"
    assert document["pods"] == [
        {
            "pod": "default/new",
            "nodes": ["b", "a"],
            "plugin": "NodeResourcesFit",
            "lead": 25,
            "why": "NodeResourcesFit +25",
        }
    ]


def test_two_configurations_are_needed() -> None:
    with pytest.raises(InputError, match="give two"):
        compare_configurations(NODES, {"only": None})
