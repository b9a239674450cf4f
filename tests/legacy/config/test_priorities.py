"""One decision of every priority of v1.15 and v1.17, made by the plugin that replaces it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plugins_builtin.legacy.config import migrate
from plugins_builtin.legacy.config.names import DEFAULT_PRIORITIES, PRIORITIES
from schedframe import Simulation

from .manifests import HOSTNAME, best, node, node_with, pod, policy, service

NAMES = [
    "BalancedResourceAllocation",
    "EqualPriority",
    "EvenPodsSpreadPriority",
    "ImageLocalityPriority",
    "InterPodAffinityPriority",
    "LeastRequestedPriority",
    "MostRequestedPriority",
    "NodeAffinityPriority",
    "NodeLabelPriority",
    "NodePreferAvoidPodsPriority",
    "RequestedToCapacityRatioPriority",
    "ResourceLimitsPriority",
    "SelectorSpreadPriority",
    "ServiceAntiAffinityPriority",
    "ServiceSpreadingPriority",
    "TaintTolerationPriority",
]
TERM = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOSTNAME}
NEAR = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": TERM}]}
SPREAD = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **TERM}
LABELLED = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}}
    ]
}
USED = [node("worse"), node("better"), pod("there", nodeName="worse")]
UNUSED = [node("worse"), node("better"), pod("there", nodeName="better")]
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
IMAGE = {"names": ["i:latest"], "sizeBytes": 2_000_000_000}
AVOIDING = {"preferAvoidPods": [{"podSignature": {"podController": OWNER}}]}
RATIO = {
    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
    "resources": [{"name": "cpu", "weight": 1}],
}


def annotated(made: dict[str, Any], **annotations: str) -> dict[str, Any]:
    prefixed = {f"scheduler.alpha.kubernetes.io/{name}": text for name, text in annotations.items()}
    return {**made, "metadata": {**made["metadata"], "annotations": prefixed}}


def with_image(made: dict[str, Any]) -> dict[str, Any]:
    return {**made, "status": {**made["status"], "images": [IMAGE]}}


DECISIONS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "LeastRequestedPriority": (USED, pod()),
    "MostRequestedPriority": (UNUSED, pod()),
    "RequestedToCapacityRatioPriority": (UNUSED, pod()),
    "BalancedResourceAllocation": ([node_with("worse", {"memory": "64Gi"}), node("better")], memory := pod()),
    "SelectorSpreadPriority": ([*USED, service()], pod()),
    "ServiceSpreadingPriority": ([*USED, service()], pod()),
    "EvenPodsSpreadPriority": (USED, pod(topologySpreadConstraints=[SPREAD])),
    "InterPodAffinityPriority": (UNUSED, pod(affinity={"podAffinity": NEAR})),
    "NodeAffinityPriority": (
        [node("worse"), node("better", ssd="yes")],
        pod(affinity={"nodeAffinity": LABELLED}),
    ),
    "NodeLabelPriority": ([node("worse"), node("better", ssd="no")], pod()),
    "TaintTolerationPriority": (
        [node("worse", {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}), node("better")],
        pod(),
    ),
    "ImageLocalityPriority": ([node("worse"), with_image(node("better"))], pod()),
    "NodePreferAvoidPodsPriority": (
        [annotated(node("worse"), preferAvoidPods=json.dumps(AVOIDING)), node("better")],
        pod(owners=[OWNER]),
    ),
    "ServiceAntiAffinityPriority": (
        [node("worse", zone="a"), node("better", zone="b"), service(), pod("there", nodeName="worse")],
        pod(),
    ),
    "ResourceLimitsPriority": ([node("worse"), node_with("better", {"cpu": "8"})], pod(limits={"cpu": "4"})),
}
"""Priority → two nodes of which it prefers the second, with what is on them, and the pod."""
memory["spec"]["containers"][0]["resources"]["requests"]["memory"] = "2Gi"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "NodeLabelPriority": {"labelPreference": {"label": "ssd", "presence": True}},
    "ServiceAntiAffinityPriority": {"serviceAntiAffinity": {"label": "zone"}},
    "RequestedToCapacityRatioPriority": {"requestedToCapacityRatioArguments": RATIO},
}


def only(name: str, weight: int = 1, **argument: Any) -> dict[str, Any]:
    """Return a policy with that priority, its argument if it has one, and no predicate."""
    priority: dict[str, Any] = {"name": name, "weight": weight}
    if argument or name in ARGUMENTS:
        priority["argument"] = argument or ARGUMENTS[name]
    return policy(predicates=[], priorities=[priority])


def scores_of(document: dict[str, Any]) -> dict[str, int]:
    (profile,) = migrate(document).config["profiles"]
    enabled = profile["plugins"].get("score", {}).get("enabled", ())
    return {each["name"]: each["weight"] for each in enabled}


def args_of(document: dict[str, Any], plugin: str) -> Any:
    (profile,) = migrate(document).config["profiles"]
    return next(each["args"] for each in profile["pluginConfig"] if each["name"] == plugin)


def test_every_name_of_these_versions_is_known() -> None:
    assert PRIORITIES.keys() >= set(NAMES)
    assert DECISIONS.keys() == PRIORITIES.keys() - {"EqualPriority"}


@pytest.mark.parametrize("name", PRIORITIES)
def test_a_priority_becomes_its_plugin_with_its_weight(name: str) -> None:
    assert scores_of(only(name, 3)) == dict.fromkeys(PRIORITIES[name].plugins, 3)
    assert not migrate(only(name, 3)).not_kept


@pytest.mark.parametrize("name", DECISIONS)
def test_a_priority_prefers_the_node_that_it_preferred(name: str) -> None:
    objects, pending = DECISIONS[name]
    assert best(only(name), objects, pending) == ["better"]


@pytest.mark.parametrize("name", DECISIONS)
def test_equal_priority_gives_all_nodes_the_same(name: str) -> None:
    """No plugin replaces it: all nodes are best, and beside another priority nothing changes."""
    objects, pending = DECISIONS[name]
    alone, beside, without = only("EqualPriority", 7), only(name), only(name)
    beside["priorities"] = [{"name": "EqualPriority", "weight": 7}, *beside["priorities"]]
    assert scores_of(alone) == {}
    with Simulation(objects, migrate(alone).config) as simulation:
        evaluation = simulation.evaluate(pending)
    assert evaluation.best == ["better", "worse"]
    assert len(set(evaluation.total.values())) == 1
    assert best(beside, objects, pending) == best(without, objects, pending) == ["better"]
    assert scores_of(beside) == scores_of(without)


def test_nodes_that_are_equal_are_drawn_at_random() -> None:
    document = migrate(only("EqualPriority")).config
    chosen = set()
    for seed in range(20):
        with Simulation([node("a"), node("b")], document, seed=seed) as simulation:
            (placed,) = simulation.schedule([pod()])
            chosen.add(placed.node_name)
    assert chosen == {"a", "b"}


@pytest.mark.parametrize(("presence", "expected"), [(True, "with"), (False, "without")])
def test_label_preference_under_any_name(presence: bool, expected: str) -> None:
    document = only("mine", labelPreference={"label": "ssd", "presence": presence})
    assert best(document, [node("with", ssd=""), node("without")], pod()) == [expected]


def test_a_ratio_without_arguments_prefers_empty_nodes() -> None:
    document = policy(predicates=[], priorities=[{"name": "RequestedToCapacityRatioPriority", "weight": 1}])
    assert best(document, USED, pod(cpu="500m")) == ["better"]


# ---- several priorities ------------------------------------------------------------------------------------


def labels(*weighted: tuple[str, bool, int]) -> dict[str, Any]:
    priorities = [
        {
            "name": f"p{i}",
            "weight": weight,
            "argument": {"labelPreference": {"label": label, "presence": presence}},
        }
        for i, (label, presence, weight) in enumerate(weighted)
    ]
    return policy(predicates=[], priorities=priorities)


def test_labels_of_equal_weight_are_one_list() -> None:
    document = labels(("a", True, 4), ("b", False, 4))
    assert scores_of(document) == {"NodeLabel": 8}
    assert args_of(document, "NodeLabel") == {
        "presentLabelsPreference": ["a"],
        "absentLabelsPreference": ["b"],
    }


def test_labels_of_different_weights_keep_them() -> None:
    document = labels(("a", True, 4), ("b", True, 6))
    assert scores_of(document) == {"NodeLabel": 10}
    assert args_of(document, "NodeLabel") == {"presentLabelsPreference": [*"aabbb"]}
    with Simulation([node("a", a=""), node("b", b="")], migrate(document).config) as simulation:
        decision = simulation.evaluate(pod()).decision
        assert decision is not None
        assert decision.scores is not None
        assert sorted(decision.scores.total.tolist()) == [400, 600]


def test_weights_without_a_common_measure_are_not_kept() -> None:
    migration = migrate(labels(("a", True, 97), ("b", True, 89)))
    assert [note.field for note in migration.not_kept] == ["priorities"]
    (profile,) = migration.config["profiles"]
    assert profile["plugins"]["score"]["enabled"] == [{"name": "NodeLabel", "weight": 186}]


def test_a_second_strategy_has_a_plugin_of_its_own() -> None:
    names = ("MostRequestedPriority", "LeastRequestedPriority", "RequestedToCapacityRatioPriority")
    document = policy(
        predicates=[],
        priorities=[
            {"name": name, "weight": i + 1, **({"argument": ARGUMENTS[name]} if name in ARGUMENTS else {})}
            for i, name in enumerate(names)
        ],
    )
    assert scores_of(document) == {
        "NodeResourcesFit": 1,
        "NodeResourcesLeastAllocated": 2,
        "RequestedToCapacityRatio": 3,
    }
    assert args_of(document, "NodeResourcesFit") == {"scoringStrategy": {"type": "MostAllocated"}}
    assert args_of(document, "RequestedToCapacityRatio") == RATIO
    assert not migrate(document).not_kept
    assert best(document, UNUSED, pod()) == ["better"]


def test_a_second_ratio_is_not_kept() -> None:
    priority = {"name": "mine", "weight": 1, "argument": {"requestedToCapacityRatioArguments": RATIO}}
    migration = migrate(policy(predicates=[], priorities=[priority, {**priority, "name": "other"}]))
    assert [note.field for note in migration.not_kept] == ["priorities[1]"]


def test_services_and_controllers_together_have_the_sum_of_the_weights() -> None:
    priorities = [
        {"name": "SelectorSpreadPriority", "weight": 1},
        {"name": "ServiceSpreadingPriority", "weight": 2},
    ]
    assert scores_of(policy(predicates=[], priorities=priorities)) == {"SelectorSpread": 3}


def test_a_policy_without_priorities_has_the_default_ones() -> None:
    expected = {PRIORITIES[name].plugins[0]: weight for name, weight in DEFAULT_PRIORITIES.items()}
    assert scores_of(policy(predicates=[])) == expected
    owned = pod(owners=[OWNER])
    nodes = [annotated(node("avoids"), preferAvoidPods=json.dumps(AVOIDING)), node("used")]
    assert best(policy(), [*nodes, pod("there", nodeName="used")], owned) == ["used"]


@pytest.mark.parametrize(("weight", "expected"), [(None, ["far"]), (1, ["far"]), (100, ["near"])])
def test_the_weight_of_required_affinity(weight: int | None, expected: list[str]) -> None:
    term = {**TERM, "topologyKey": "zone"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": term}]}
    friend = pod("friend", affinity={"podAffinity": required}, nodeName="near")
    friend["metadata"]["labels"] = {"app": "b"}
    objects = [node("near", zone="a"), node("far", zone="b"), friend, pod("other", nodeName="far")]
    document = policy(
        predicates=[],
        priorities=[{"name": "InterPodAffinityPriority", "weight": 1}],
        hardPodAffinitySymmetricWeight=weight,
    )
    assert best(document, objects, pod(affinity={"podAffinity": preferred})) == expected
