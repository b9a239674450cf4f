"""NodeLabel, NodePreferAvoidPods, NodeResourceLimits, and the scoring strategies under their former names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import strategies as st

from plugins_builtin.legacy.plugins.allocation_scores import NodeResourcesMostAllocated
from plugins_builtin.legacy.plugins.node_label import ERR_REASON, NodeLabel
from plugins_builtin.legacy.plugins.node_prefer_avoid_pods import ANNOTATION, NodePreferAvoidPods
from plugins_builtin.legacy.plugins.node_resource_limits import NodeResourceLimits
from schedframe import ConfigError, Node, Pod, load_config
from schedframe.api import OwnerReference, ResourceRequirements, parse_quantity
from schedframe.testing import check_plugin, strategies
from tests.plugins.spreading import make_pod
from tests.profiles import scaled

from .cluster import best, config, message, node, pod

EXAMPLES = scaled(6)
REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u1", "controller": True}
NODES = [node("both", labels={"ssd": "1", "retiring": "soon"}), node("ssd", labels={"ssd": ""}), node("none")]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"presentLabels": ["ssd"]}, ["both", "ssd"]),
        ({"absentLabels": ["retiring"]}, ["none", "ssd"]),
        ({"presentLabels": ["ssd"], "absentLabels": ["retiring"]}, ["ssd"]),
        ({"presentLabelsPreference": ["ssd", "retiring"]}, ["both"]),
        ({"presentLabelsPreference": ["ssd"], "absentLabelsPreference": ["retiring"]}, ["ssd"]),
        ({}, ["both", "none", "ssd"]),
    ],
)
def test_node_label(args: dict[str, Any], expected: list[str]) -> None:
    assert best(NODES, pod(), "NodeLabel", args) == expected


def test_node_label_rejects_for_good() -> None:
    found = message([node("a")], pod(), "NodeLabel", {"presentLabels": ["ssd"]})
    assert found is not None
    assert ERR_REASON in found
    assert "Preemption is not helpful" in found


@pytest.mark.parametrize("suffix", ["", "Preference"])
def test_a_label_is_not_wanted_and_unwanted(suffix: str) -> None:
    wrong = {f"presentLabels{suffix}": ["a", "b"], f"absentLabels{suffix}": ["b"]}
    with pytest.raises(ConfigError, match="b cannot be wanted and unwanted at once"):
        best(NODES, pod(), "NodeLabel", wrong)


def test_node_label_keeps_the_contract() -> None:
    args = {"absentLabels": ["b"], "presentLabelsPreference": ["c"], "absentLabelsPreference": ["d"]}
    nodes = strategies.nodes(labels={"a": ("1",), "b": ("1",), "c": ("1",), "d": ("1", "2")})
    check_plugin(NodeLabel, args, nodes=nodes, max_examples=4 * EXAMPLES)


# ---- NodePreferAvoidPods -----------------------------------------------------------------------------------


def avoiding(uid: str, kind: str = "ReplicaSet") -> dict[str, str]:
    controller = {"apiVersion": "apps/v1", "kind": kind, "name": "r", "uid": uid, "controller": True}
    return {ANNOTATION: json.dumps({"preferAvoidPods": [{"podSignature": {"podController": controller}}]})}


def test_a_node_that_avoids_the_controller_is_the_last_choice() -> None:
    nodes = [node("avoids", avoiding("u1")), node("other", avoiding("u2"))]
    assert best(nodes, pod(owners=[REPLICA_SET]), "NodePreferAvoidPods") == ["other"]


@pytest.mark.parametrize(
    "owner",
    [
        None,
        {**REPLICA_SET, "controller": False},
        {**REPLICA_SET, "kind": "StatefulSet"},
        {**REPLICA_SET, "kind": "ReplicationController"},
    ],
)
def test_nodes_avoid_only_pods_of_that_controller(owner: dict[str, Any] | None) -> None:
    nodes = [node("avoids", avoiding("u1")), node("other")]
    assert len(best(nodes, pod(owners=[owner] if owner else []), "NodePreferAvoidPods")) == 2


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"preferAvoidPods": 1}', '{"preferAvoidPods": ["a"]}'])
def test_an_annotation_that_cannot_be_read_avoids_nothing(text: str) -> None:
    nodes = [node("odd", {ANNOTATION: text}), node("other")]
    assert len(best(nodes, pod(owners=[REPLICA_SET]), "NodePreferAvoidPods")) == 2


def test_pods_that_no_node_can_avoid_share_their_answers() -> None:
    plugin, template = NodePreferAvoidPods(), make_pod("p")
    other = _owned(template, "u", "StatefulSet")
    assert plugin.pod_signature(template) == plugin.pod_signature(other) == ()
    assert plugin.pod_signature(_owned(template, "u")) == ("ReplicaSet", "u")


def _annotated(each: Node, uid: str) -> Node:
    return evolve(each, metadata=evolve(each.metadata, annotations=avoiding(uid)))


def _owned(each: Pod, uid: str, kind: str = "ReplicaSet") -> Pod:
    owner = OwnerReference("apps/v1", kind, "r", uid, controller=True)
    return Pod(evolve(each.metadata, owner_references=(owner,)), each.spec, each.status)


def test_node_prefer_avoid_pods_keeps_the_contract() -> None:
    uids = st.sampled_from(("u1", "u2", "u3"))
    check_plugin(
        NodePreferAvoidPods,
        nodes=st.builds(_annotated, strategies.nodes(), uids),
        pods=st.builds(_owned, strategies.pods("pod"), uids),
        max_examples=EXAMPLES,
    )


# ---- resources ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"cpu": "6"}, ["large"]),
        ({"cpu": "6", "memory": "1Gi"}, ["large", "small"]),
        ({"cpu": "16"}, ["large", "small"]),
        ({}, ["large", "small"]),
    ],
)
def test_limits_that_fit_break_ties(limits: dict[str, str], expected: list[str]) -> None:
    nodes = [node("small"), node("large", allocatable={"cpu": "8"})]
    assert best(nodes, pod(resources={"limits": limits}), "NodeResourceLimits") == expected


def _limited(each: Pod, cpu: str) -> Pod:
    limits = ResourceRequirements(limits={"cpu": parse_quantity(cpu)})
    containers = tuple(evolve(container, resources=limits) for container in each.spec.containers)
    return Pod(each.metadata, evolve(each.spec, containers=containers), each.status)


def test_node_resource_limits_keeps_the_contract() -> None:
    limits = st.sampled_from(("1", "2", "8", "32"))
    pods = st.builds(_limited, strategies.pods("pod"), limits)
    check_plugin(NodeResourceLimits, pods=pods, max_examples=4 * EXAMPLES)


USED = [node("empty"), node("used"), pod("there", resources={"requests": {"cpu": "2"}}, nodeName="used")]
RATIO = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("NodeResourcesLeastAllocated", None, ["empty"]),
        ("NodeResourcesLeastAllocated", {"resources": [{"name": "memory", "weight": 1}]}, ["empty"]),
        ("NodeResourcesLeastAllocated", {"resources": [{"name": "ephemeral-storage"}]}, ["empty", "used"]),
        ("NodeResourcesMostAllocated", None, ["used"]),
        ("RequestedToCapacityRatio", None, ["empty"]),
        ("RequestedToCapacityRatio", {"shape": RATIO}, ["used"]),
    ],
)
def test_scoring_strategies(name: str, args: dict[str, Any] | None, expected: list[str]) -> None:
    assert best(USED, pod(resources={"requests": {"cpu": "1"}}), name, args) == expected


@pytest.mark.parametrize(
    ("name", "args", "problem"),
    [
        ("NodeResourcesMostAllocated", {"resources": [{"name": "cpu", "weight": 101}]}, "from 1 to 100"),
        ("RequestedToCapacityRatio", {"shape": []}, "add at least one point"),
        ("RequestedToCapacityRatio", {"shape": [*RATIO, *RATIO]}, "in order of utilization"),
    ],
)
def test_arguments_are_checked(name: str, args: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        best(USED, pod(), name, args)


def test_scoring_strategies_keep_the_contract() -> None:
    check_plugin(NodeResourcesMostAllocated, max_examples=EXAMPLES)


def test_the_catalogue_alone_refuses_the_names_as_the_reference_does() -> None:
    for name in ("EBSLimits", "NodeLabel", "SelectorSpread"):
        with pytest.raises(ConfigError, match="this plugin was removed"):
            load_config(config(name))
