"""Workloads on the command line: made into pods, with a note."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Cli
from .manifests import node, text

Write = Callable[[str, str], str]


def deployment(name: str = "web", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "resources": {"limits": {"cpu": "1"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


def names(cli: Cli, *arguments: str) -> list[str]:
    result = cli("schedule", *arguments, "-o", "json")
    return [pod["name"] for pod in json.loads(result.out)["pods"]]


def test_the_pods_of_a_deployment_are_scheduled(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"), deployment())), "-o", "json")
    assert result.code == 0
    answer = json.loads(result.out)
    assert [pod["name"].split("-")[0] for pod in answer["pods"]] == ["web", "web"]
    assert [pod["node"] for pod in answer["pods"]] == ["a", "a"]
    # the requests that follow from the limits are counted
    assert answer["summary"]["utilisation"]["cpu"]["requested"] == 2000
    assert "note: pods made of workloads: 2, of Deployment default/web (2)" in result.err
    assert answer["summary"]["skipped_kinds"] == {}


def test_the_note_names_five_workloads(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"), *map(deployment, "uvwxyz"))))
    assert "pods made of workloads: 12, of Deployment default/u (2)" in result.err
    assert "default/y (2), 1 more" in result.err


def test_ignored_workloads_are_skipped(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"), deployment())), "--workloads", "ignore")
    assert result.code == 0
    assert "made of workloads" not in result.err
    assert "skipped, as scheduling does not read these kinds: Deployment (1)" in result.err


def test_workloads_with_pods_are_left_alone_unless_expanded(cli: Cli, write: Write) -> None:
    file = write("cluster.yaml", text(node("a"), deployment()))
    (first, *_) = names(cli, file)
    replica_set, _, _ = first.rpartition("-")
    owner = {"kind": "ReplicaSet", "name": replica_set, "uid": "1", "controller": True}
    labels = {"app": "web", "pod-template-hash": replica_set.rpartition("-")[2]}
    pod = {"kind": "Pod", "metadata": {"name": "p", "labels": labels, "ownerReferences": [owner]}}
    pod |= {"spec": {"containers": [{"name": "main"}]}}
    selector = {"matchLabels": labels}
    owner_set = deployment() | {"kind": "ReplicaSet", "metadata": {"name": replica_set, "uid": "1"}}
    template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    owner_set["spec"] |= {"selector": selector, "template": template}
    file = write("more.yaml", text(node("a"), deployment(), owner_set, pod))
    assert names(cli, file) == ["p"]
    assert len(names(cli, file, "--workloads", "expand")) == 2


def test_a_wrong_workload_is_bad_input_with_its_place(cli: Cli, write: Write) -> None:
    wrong = deployment(selector={"matchLabels": {"app": "other"}})
    result = cli("schedule", write("cluster.yaml", text(node("a"), wrong)))
    assert result.code == 2
    assert result.err.startswith("cluster.yaml:")
    assert "Deployment web: spec.template.metadata.labels: the selector does not match" in result.err


@pytest.mark.parametrize("count", [1, 2])
def test_a_made_pod_can_be_explained(cli: Cli, write: Write, count: int) -> None:
    file = write("cluster.yaml", text(node("a"), deployment(replicas=count)))
    *_, pod = names(cli, file)
    result = cli("explain", pod, file)
    assert result.code == 0
    assert pod in result.out
    assert cli("explain", pod, file, "--workloads", "ignore").code == 2
