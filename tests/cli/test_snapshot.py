"""Snapshots: what scheduling reads, in a form that the other commands read, with hidden names on request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedframe import Simulation
from schedframe.api import from_manifest
from schedframe.api.manifest import to_manifest
from schedframe.cli.anonymize import Anonymizer

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")

NODES = [
    {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "example.com/rack": rack, "kubernetes.io/os": "linux"},
            "annotations": {"example.com/secret": "plan"},
        },
        "spec": {"taints": [{"key": "example.com/only", "value": rack, "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10", "example.com/gpu": "1"}},
    }
    for name, rack in (("alpha", "red"), ("beta", "blue"))
]


def pod(name: str, rack: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "example.com/rack", "operator": "In", "values": [rack]}]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "secret-app"}},
        "spec": {
            "containers": [
                {"name": "main", "image": "registry/secret:1", "resources": {"requests": {"cpu": "1"}}}
            ],
            "affinity": affinity,
            "tolerations": [
                {"key": "example.com/only", "operator": "Equal", "value": rack, "effect": "NoSchedule"}
            ],
        },
    }


def manifests() -> list[dict[str, Any]]:
    objects = [*NODES, pod("one", "red"), pod("two", "blue"), pod("three", "green")]
    return [to_manifest(from_manifest(each)) for each in objects]


def test_hidden_names_decide_the_same() -> None:
    hidden = Anonymizer()
    before = Simulation(manifests(), seed=1).schedule()
    after = Simulation([hidden.manifest(each) for each in manifests()], seed=1).schedule()
    names = {hidden.text(each.pod.name): each.node_name for each in before}
    assert {each.pod.name: each.node_name for each in after} == {
        name: None if node is None else hidden.text(node) for name, node in names.items()
    }
    assert [each.node_name is None for each in before] == [False, False, True]


def test_no_name_remains() -> None:
    hidden = Anonymizer()
    text = json.dumps([hidden.manifest(each) for each in manifests()])
    for word in ("alpha", "beta", "red", "blue", "shop", "secret", "rack", "only", "plan", "one", "main"):
        assert f'"{word}' not in text
        assert f"/{word}" not in text
    for kept in ("kubernetes.io/hostname", "NoSchedule", "example.com/gpu", '"4Gi"'):
        assert kept in text


def test_each_snapshot_has_its_own_hashes() -> None:
    assert Anonymizer().text("name") != Anonymizer().text("name")
    assert Anonymizer().text("15") == "15"
