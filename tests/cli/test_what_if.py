"""``schedule`` and ``explain`` with more or fewer nodes, or workloads of another size."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        },
    },
}


def test_nodes_and_pods_that_are_not_there_yet(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), WEB))
    result = cli("schedule", cluster, "--add", "2=a", "--without", "node/a", "--scale", "deployment/web=9")
    assert result.code == 1
    assert "placed 8 of 9 pending pods (on 2 nodes, 0 pods there before)" in result.out
    assert "a-like-1" in result.out


def test_pods_of_a_node_that_is_taken_out_wait_again(cli: Cli, write: Write) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    moves = pod("moves", "1", on="a")
    moves["metadata"]["ownerReferences"] = [owner]
    cluster = write("cluster.yaml", text(node("a"), node("b"), moves, pod("bare", "1", on="a")))
    result = cli("schedule", cluster, "--without", "node/a,volumes", "-o", "json")
    assert result.code == 0
    (placed,) = json.loads(result.out)["pods"]
    assert (placed["name"], placed["node"]) == ("moves", "b")


def test_an_explanation_of_a_larger_workload(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), WEB))
    found = cli("explain", "deployment/web", cluster, "--scale", "deployment/web=9", "--after")
    assert (found.code, "Insufficient cpu" in found.out) == (1, True)
    more = cli("explain", "deployment/web", cluster, "--scale", "deployment/web=9", "--after", "--add", "2=a")
    assert more.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--add", "x=a"), "--add: x=a names no number of nodes"),
        (("--add", "0=a"), "--add: 0=a names no number of nodes"),
        (("--add", "2=x"), "--add: there is no node x; there are a"),
        (("--without", "node/x"), "--without: there is no node x; there are a"),
        (("--scale", "deployment/web"), "--scale: deployment/web names no number of pods"),
        (("--scale", "deployment/x=2"), "--scale: there is no Deployment x"),
    ],
)
def test_what_is_not_there_is_named(cli: Cli, write: Write, arguments: tuple[str, ...], message: str) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"), WEB)), *arguments)
    assert result.code == 2
    assert message in result.err
