"""Checks of whole values meet members of any type, and right pods pass them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import Pod, to_manifest
from schedframe.api.validation import problems_of
from schedframe.testing import strategies
from tests.profiles import many

from .pods import claim_template, container, paths, pod

SELECTOR = {
    "matchLabels": {"app": "a"},
    "matchExpressions": [{"key": "b", "operator": "In", "values": ["c"]}],
}
TERM = {
    "topologyKey": "zone",
    "labelSelector": SELECTOR,
    "namespaces": ["n"],
    "matchLabelKeys": ["rev"],
    "mismatchLabelKeys": ["team"],
}
NODE_TERM = {
    "matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
}
FULL = container(
    ports=[{"name": "web", "containerPort": 80, "hostPort": 80}],
    env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    envFrom=[{"configMapRef": {"name": "c"}}],
    volumeMounts=[{"name": "a", "mountPath": "/a", "mountPropagation": "None", "subPath": "b"}],
    volumeDevices=[{"name": "disk", "devicePath": "/dev/x"}],
    resources={
        "requests": {"cpu": "1", "example.com/gpu": 1, "hugepages-2Mi": "2Mi"},
        "limits": {"cpu": "2", "example.com/gpu": "1", "hugepages-2Mi": "2Mi"},
        "claims": [{"name": "c", "request": "r"}],
    },
    livenessProbe={"httpGet": {"port": 80}},
    lifecycle={"preStop": {"exec": {"command": ["a"]}}},
    resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    securityContext={"allowPrivilegeEscalation": False, "capabilities": {"add": ["X"]}},
)
RIGHT = pod(
    {"labels": {"app": "a"}, "annotations": {"controller.kubernetes.io/pod-deletion-cost": "1"}},
    containers=[FULL],
    initContainers=[container("init", resources={"limits": {"cpu": "1"}}), container("i2")],
    volumes=[
        {"name": "a", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "d"}},
        {"name": "own", "ephemeral": claim_template(labels={"a": "b"})},
        {"name": "c", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
        {"name": "p", "projected": {"sources": [{"secret": {"name": "s"}}]}},
        {"name": "s", "csi": {"driver": "d.example.com"}},
    ],
    resourceClaims=[{"name": "c", "resourceClaimName": "x"}],
    resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4"}},
    hostNetwork=True,
    tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    schedulingGates=[{"name": "g"}],
    topologySpreadConstraints=[
        {
            "maxSkew": 1,
            "minDomains": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "matchLabelKeys": ["rev"],
        }
    ],
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": NODE_TERM}],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [TERM],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": TERM}],
        },
    },
    dnsPolicy="None",
    dnsConfig={"nameservers": ["10.0.0.1"]},
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


COUNT = len(list(_places(RIGHT)))
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)
keys = st.text(max_size=3) | st.integers() | st.none() | st.booleans()


def test_a_full_pod_is_taken() -> None:
    assert paths(RIGHT) == []
    assert problems_of(RIGHT, Pod, required=True, admitted=True) == []


@given(st.integers(0, COUNT - 1), json_values)
@many
def test_checks_report_and_never_fail_for_any_value_in_any_place(place: int, value: Any) -> None:
    manifest = copy.deepcopy(RIGHT)
    parent, key = list(_places(manifest))[place]
    parent[key] = value
    for error in problems_of(manifest, Pod, required=True, admitted=True):
        assert error.problem


@given(st.integers(0, COUNT - 1), keys)
@many
def test_checks_never_fail_for_any_key(place: int, key: Any) -> None:
    manifest = copy.deepcopy(RIGHT)
    parent, old = list(_places(manifest))[place]
    if isinstance(parent, dict):
        parent[key] = parent.pop(old)
    for error in problems_of(manifest, Pod, required=True, admitted=True):
        assert error.problem


@given(strategies.pods())
def test_drawn_pods_are_taken(drawn: Pod) -> None:
    assert paths(to_manifest(drawn)) == []
