"""Rules of the API server for all kinds but pods: each by a right object and a wrong one.

The wrong one differs in little, and the error names the field.
"""

from __future__ import annotations

from typing import Any

import pytest

from .kinds import RIGHT, Row, changed, check_rule, each_rule, errors_of

ZONES = "allowedTopologies"
ZONE = {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}
ZONE_TWICE = {"matchLabelExpressions": [{"key": "zone", "values": ["a", "a"]}]}
ZONE_KEYS = {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}, {"key": "zone", "values": ["b"]}]}
TAINT = {"key": "a", "effect": "NoSchedule"}


SCOPE = "spec.scopeSelector.matchExpressions[0]"


def limits(**members: Any) -> dict[str, Any]:
    """Return the change of a limit range to one with these members of its item."""
    return {"spec.limits": [{"type": "Container", "max": {"cpu": "2"}, **members}]}


def scope(name: str, operator: str, *values: str) -> dict[str, Any]:
    """Return the change of a quota to one with a condition on its scope."""
    condition = {"scopeName": name, "operator": operator, "values": list(values)}
    return {"spec.scopeSelector": {"matchExpressions": [condition]}}


ROWS: dict[str, list[Row]] = {
    "Node": [
        ({"spec.taints": [TAINT]}, {"spec.taints": [TAINT, {**TAINT, "value": "b"}]}, "spec.taints[1]"),
        ({"spec.taints": [TAINT]}, {"spec.taints": [{**TAINT, "key": ""}]}, "spec.taints[0].key"),
        ({"spec.taints": [TAINT]}, {"spec.taints": [{**TAINT, "key": "a b"}]}, "spec.taints[0].key"),
        ({"spec.taints": [TAINT]}, {"spec.taints": [{**TAINT, "value": "x y"}]}, "spec.taints[0].value"),
        ({"spec.taints": [TAINT]}, {"spec.taints": [{**TAINT, "effect": "Evict"}]}, "spec.taints[0].effect"),
        (
            {"status.allocatable": {"gpu": "0.5", "cpus": 1}},
            {"status.allocatable": {"cpu": -4}},
            "status.allocatable.cpu",
        ),
        (
            {"status.capacity": {"memory": "1e3"}},
            {"status.capacity": {"memory": "-1"}},
            "status.capacity.memory",
        ),
        ({"status.capacity": {"pods": "110"}}, {"status.capacity": {"pods": "1.5"}}, "status.capacity.pods"),
        (
            {"status.capacity": {"example.com/gpu": "2"}},
            {"status.capacity": {"example.com/gpu": "500m"}},
            'status.capacity["example.com/gpu"]',
        ),
        (
            {"status.declaredFeatures": ["A", "A/b", "B"]},
            {"status.declaredFeatures": ["B", "A"]},
            "status.declaredFeatures[1]",
        ),
        (
            {"status.declaredFeatures": ["A"]},
            {"status.declaredFeatures": ["A", "A"]},
            "status.declaredFeatures[1]",
        ),
        (
            {"status.declaredFeatures": ["Aa"]},
            {"status.declaredFeatures": ["aA"]},
            "status.declaredFeatures[0]",
        ),
        (
            {"status.nodeInfo": {"swap": {"capacity": 1}}},
            {"status.nodeInfo": {"swap": {"capacity": 0}}},
            "status.nodeInfo.swap.capacity",
        ),
    ],
    "PodDisruptionBudget": [
        ({"spec.minAvailable": 1}, {"spec.minAvailable": 1, "spec.maxUnavailable": 1}, "spec"),
        ({"spec.minAvailable": "100%"}, {"spec.minAvailable": "101%"}, "spec.minAvailable"),
        ({"spec.minAvailable": 0}, {"spec.minAvailable": -1}, "spec.minAvailable"),
        ({"spec.maxUnavailable": "0%"}, {"spec.maxUnavailable": "half"}, "spec.maxUnavailable"),
        ({"spec.maxUnavailable": "50%"}, {"spec.maxUnavailable": "50"}, "spec.maxUnavailable"),
        (
            {"spec.unhealthyPodEvictionPolicy": "AlwaysAllow"},
            {"spec.unhealthyPodEvictionPolicy": "Never"},
            "spec.unhealthyPodEvictionPolicy",
        ),
        (
            {"spec.selector": {}},
            {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
            "spec.selector.matchExpressions[0].operator",
        ),
    ],
    "PriorityClass": [
        ({"value": 1_000_000_000}, {"value": 1_000_000_001}, "value"),
        ({"value": None}, {"metadata.name": "system-mine"}, "metadata.name"),
        (
            {"metadata.name": "system-node-critical", "value": 2_000_001_000},
            {"metadata.name": "system-node-critical", "value": 2_000_000_000},
            "metadata.name",
        ),
        (
            {"metadata.name": "system-cluster-critical", "value": 2_000_000_000},
            {"metadata.name": "system-cluster-critical", "value": 2_000_000_000, "globalDefault": True},
            "metadata.name",
        ),
        ({"preemptionPolicy": "Never"}, {"preemptionPolicy": "Sometimes"}, "preemptionPolicy"),
    ],
    "StorageClass": [
        ({"provisioner": "Example.com/disk"}, {"provisioner": "a b"}, "provisioner"),
        ({}, {"provisioner": ""}, "provisioner"),
        ({"reclaimPolicy": "Retain"}, {"reclaimPolicy": "Recycle"}, "reclaimPolicy"),
        ({"volumeBindingMode": "Immediate"}, {"volumeBindingMode": "Later"}, "volumeBindingMode"),
        ({"parameters": {"a": "b"}}, {"parameters": {"": "b"}}, "parameters"),
        ({"parameters": {"a": "b"}}, {"parameters": {"a": "b" * 2**18}}, "parameters"),
        ({"parameters": {}}, {"parameters": {str(i): "b" for i in range(513)}}, "parameters"),
        ({ZONES: [ZONE]}, {ZONES: [ZONE_TWICE]}, f"{ZONES}[0].matchLabelExpressions[0].values[1]"),
        ({ZONES: [ZONE]}, {ZONES: [ZONE_KEYS]}, f"{ZONES}[0].matchLabelExpressions[1].key"),
        ({ZONES: [ZONE]}, {ZONES: [ZONE, ZONE]}, f"{ZONES}[1].matchLabelExpressions"),
        ({ZONES: [ZONE]}, {ZONES: [{}]}, f"{ZONES}[0].matchLabelExpressions"),
        (
            {ZONES: [ZONE]},
            {ZONES: [{"matchLabelExpressions": [{"key": "zone", "values": []}]}]},
            f"{ZONES}[0].matchLabelExpressions[0].values",
        ),
        (
            {ZONES: [ZONE]},
            {ZONES: [{"matchLabelExpressions": [{"key": "a b", "values": ["a"]}]}]},
            f"{ZONES}[0].matchLabelExpressions[0].key",
        ),
    ],
    "LimitRange": [
        (limits(), limits(type="Node"), "spec.limits[0].type"),
        (limits(), {"spec.limits": [{"type": "Container"}] * 2}, "spec.limits[1].type"),
        (limits(min={"cpu": "1"}), limits(min={"cpu": "3"}), "spec.limits[0].min.cpu"),
        (limits(default={"cpu": "1"}), limits(default={"cpu": "3"}), "spec.limits[0].default.cpu"),
        (
            limits(defaultRequest={"cpu": "1"}, default={"cpu": "1"}),
            limits(defaultRequest={"cpu": "2"}, default={"cpu": "1"}),
            "spec.limits[0].defaultRequest.cpu",
        ),
        (limits(), limits(type="Pod", default={"cpu": "1"}), "spec.limits[0].default"),
        (
            limits(min={"cpu": "1"}, maxLimitRequestRatio={"cpu": "2"}),
            limits(min={"cpu": "1"}, maxLimitRequestRatio={"cpu": "3"}),
            "spec.limits[0].maxLimitRequestRatio.cpu",
        ),
        (limits(), limits(maxLimitRequestRatio={"cpu": "0.5"}), "spec.limits[0].maxLimitRequestRatio.cpu"),
        (limits(), limits(max={"cpus": "1"}), "spec.limits[0].max.cpus"),
        (
            limits(default={"a.b/c": 1}, defaultRequest={"a.b/c": 1}),
            limits(default={"a.b/c": 2}, defaultRequest={"a.b/c": 1}),
            'spec.limits[0].defaultRequest["a.b/c"]',
        ),
        (
            limits(type="PersistentVolumeClaim", max={"storage": "1Gi"}),
            limits(type="PersistentVolumeClaim", max={}),
            "spec.limits[0]",
        ),
    ],
    "ResourceQuota": [
        ({}, {"spec.hard": {"pods": "-1"}}, "spec.hard.pods"),
        ({"spec.hard": {"requests.cpu": "1.5"}}, {"spec.hard": {"pods": "1.5"}}, "spec.hard.pods"),
        ({}, {"spec.hard": {"a b": "1"}}, 'spec.hard["a b"]'),
        ({"spec.scopes": ["BestEffort"]}, {"spec.scopes": ["Best"]}, "spec.scopes[0]"),
        (
            {"spec.scopes": ["BestEffort", "Terminating"]},
            {"spec.scopes": ["BestEffort", "NotBestEffort"]},
            "spec.scopes",
        ),
        (scope("PriorityClass", "In", "a"), scope("PriorityClass", "In"), f"{SCOPE}.values"),
        (scope("Terminating", "Exists"), scope("Terminating", "In", "a"), f"{SCOPE}.operator"),
        (scope("PriorityClass", "Exists"), scope("PriorityClass", "Exists", "a"), f"{SCOPE}.values"),
    ],
    "RuntimeClass": [
        ({}, {"handler": "a.b"}, "handler"),
        ({}, {"handler": None}, "handler"),
        (
            {"overhead": {"podFixed": {"cpu": "1"}}},
            {"overhead": {"podFixed": {"cpus": "1"}}},
            "overhead.podFixed.cpus",
        ),
        (
            {"scheduling": {"nodeSelector": {"a": "b"}}},
            {"scheduling": {"nodeSelector": {"a": "b c"}}},
            "scheduling.nodeSelector.a",
        ),
        (
            {"scheduling": {"tolerations": [{"operator": "Exists"}]}},
            {"scheduling": {"tolerations": [{"operator": "Exists"}] * 2}},
            "scheduling.tolerations[1]",
        ),
    ],
}


@pytest.mark.parametrize("kind", RIGHT)
def test_right_objects_are_taken(kind: str) -> None:
    assert not errors_of(changed(kind, {}))


@each_rule(ROWS)
def test_what_a_rule_refuses(kind: str, right: dict[str, Any], wrong: dict[str, Any], path: str) -> None:
    check_rule(kind, right, wrong, path)
