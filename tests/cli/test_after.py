"""Answers for the cluster as it is after scheduling, and placements as input."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]
HELPS = "lower the requested cpu from 1.5 to 1: then it runs on a"


@pytest.fixture
def crowded(write: Write) -> str:
    """Two nodes with room for two pods each, and six replicas."""
    nodes = [node("a"), node("b")]
    return write(
        "cluster.yaml", text(*nodes, *(pod(f"web-{i}", "1500m", namespace="shop") for i in range(6)))
    )


def test_explain_after_answers_for_the_cluster_after_the_run(cli: Cli, crowded: str) -> None:
    pending = [line for line in cli("schedule", crowded).out.splitlines() if "Insufficient" in line][:2]
    assert [line.split()[0] for line in pending] == ["shop/web-4", "shop/web-5"]
    before, after = (cli("explain", "web-4", crowded, *flag) for flag in ((), ("--after",)))
    assert (before.code, after.code) == (0, 1)
    assert "shop/web-4 fits 2 of 2 nodes" in before.out
    assert HELPS in after.out
    assert "pending pods like it:\n  shop/web-5" in after.out
    placed = cli("explain", "web-0", crowded, "--after", "--seed", "5")
    assert placed.code == 0
    assert placed.out.startswith("shop/web-0 is on ")


def test_schedule_explain_proposes_what_helps(cli: Cli, crowded: str) -> None:
    result = cli("schedule", crowded, "--explain")
    assert result.out.count(HELPS) == 1
    assert "what helps: as for shop/web-4" in result.out
    document = json.loads(cli("schedule", crowded, "--explain", "-o", "json").out)["explanations"]
    assert document["shop/web-4"]["proposals"]["changes"][0]["kind"] == "lower-request"
    assert document["shop/web-5"]["proposals"] == {"same_as": "shop/web-4"}
    named = cli("schedule", crowded, "--explain", "web-5")
    assert HELPS in named.out
    assert "what helps" not in cli("schedule", crowded, "--explain", "web-1").out


@pytest.mark.parametrize("form", ["bindings", "json", "yaml"])
def test_what_schedule_writes_is_input(cli: Cli, write: Write, crowded: str, form: str) -> None:
    placed = write(
        "placed.json" if form == "json" else "placed.yaml", cli("schedule", crowded, "-o", form).out
    )
    again = cli("explain", "web-4", crowded, placed)
    assert (again.code, again.err) == (1, "")
    assert HELPS in again.out
    summary = json.loads(cli("schedule", crowded, placed, "-o", "json").out)["summary"]
    assert (summary["running"], summary["pending"]) == (4, 2)


def test_a_list_of_bindings_is_input(cli: Cli, write: Write, crowded: str) -> None:
    bindings = list(yaml.safe_load_all(cli("schedule", crowded, "-o", "bindings").out))
    listed = write("list.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": bindings}))
    assert cli("explain", "web-4", crowded, listed).code == 1


def test_preempted_pods_are_gone(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("old", "4", on="a"), pod("new", "4", priority=9)))
    placed = write("placed.json", cli("schedule", cluster, "-o", "json").out)
    summary = json.loads(cli("schedule", cluster, placed, "-o", "json").out)["summary"]
    assert (summary["running"], summary["pending_before"]) == (1, 0)


def binding(name: str, on: str) -> dict[str, object]:
    target = {"apiVersion": "v1", "kind": "Node", "name": on}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (binding("nix", "a"), "there is no pod default/nix; add its manifest, or leave the placement out"),
        (binding("p", "z"), "there is no node z for default/p; add its manifest"),
        (binding("old", "b"), "default/old is on a already; leave out one of the two"),
        ({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}}, "the Binding is not complete"),
        (
            {"apiVersion": "schedframe/v1", "kind": "ScheduleResult", "pods": 5},
            "the ScheduleResult is not complete",
        ),
    ],
)
def test_placements_that_cannot_be_are_refused(
    cli: Cli, write: Write, placement: dict[str, object], message: str
) -> None:
    cluster = write("cluster.yaml", text(node("a"), node("b"), pod("p"), pod("old", on="a")))
    result = cli("schedule", cluster, write("b.json", "\n" + json.dumps(placement)))
    assert result.code == 2
    assert result.err.startswith(f"b.json:2: {message}")


def test_pods_of_workloads_can_be_bound(cli: Cli, write: Write) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "3"}}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    }
    cluster = write("cluster.yaml", text(node("a"), deployment))
    placed = write("placed.yaml", cli("schedule", cluster, "-o", "bindings").out)
    summary = json.loads(cli("schedule", cluster, placed, "-o", "json").out)["summary"]
    assert (summary["running"], summary["pending"]) == (1, 1)
