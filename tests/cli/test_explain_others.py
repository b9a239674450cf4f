"""Explanations of pods with constraints on other pods: domains, blocking terms, victims, scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from schedframe import evaluate

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]
ZONE = "topology.kubernetes.io/zone"
WEB = {"matchLabels": {"app": "web"}}
SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}


def in_zone(name: str, zone: str) -> dict[str, Any]:
    made = node(name)
    made["metadata"]["labels"] = {ZONE: zone, "kubernetes.io/hostname": name}
    return made


def labelled(manifest: dict[str, Any], **labels: str) -> dict[str, Any]:
    manifest["metadata"]["labels"] = labels
    return manifest


def avoiding(key: str, app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def budget(app: str, allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_domains_with_counts_and_skew(cli: Cli, write: Write) -> None:
    running = [labelled(pod(f"old{i}", on="b1"), app="web") for i in range(2)]
    new = labelled(pod("web", "64", topologySpreadConstraints=[SPREAD]), app="web")
    cluster = write("c.yaml", text(in_zone("a1", "a"), in_zone("b1", "b"), *running, new))
    out = cli("schedule", cluster, "--explain").out
    finding = f"DoNotSchedule {ZONE}, maxSkew 1, matching pods (skew with this one): a 0 (1), b 2 (3)"
    assert f"PodTopologySpread: {finding}" in out
    document = json.loads(cli("schedule", cluster, "--explain", "-o", "json").out)
    assert document["explanations"]["default/web"]["findings"]["PodTopologySpread"] == [finding]


def test_the_pod_and_the_term_that_are_in_the_way() -> None:
    shy = labelled(pod("shy", on="a1", affinity=avoiding(ZONE, "web")), app="shy")
    found = evaluate(
        [in_zone("a1", "a"), in_zone("b1", "b"), shy, labelled(pod("db", on="b1"), app="db")],
        labelled(pod("web", affinity=avoiding("kubernetes.io/hostname", "db")), app="web"),
    )
    assert not found.feasible
    assert "default/shy" in found.explanations["a1"]
    assert ZONE in found.explanations["a1"]
    assert "default/db" in found.explanations["b1"]
    assert "kubernetes.io/hostname" in found.explanations["b1"]
    assert found.explanations["a1"] in str(found)
    assert found.to_dict()["explanations"] == found.explanations


FULL = [
    *(node(name) for name in "abcde"),
    labelled(pod("w", "4", on="a", priority=0), app="web"),
    pod("x", "4", on="b", priority=5),
    pod("y1", "2", on="c", priority=1),
    pod("y2", "2", on="c", priority=1),
    pod("z", "4", on="d", priority=1),
    pod("high", "4", on="e", priority=99),
    budget("web", 0),
]


def test_candidates_victims_violations_and_what_decided(cli: Cli, write: Write) -> None:
    cluster = write("c.yaml", text(*FULL, pod("new", "4", priority=10)))
    lines = cli("schedule", cluster, "--explain", "new").out.splitlines()
    start = lines.index("preemption takes d:")
    assert [" ".join(line.split()) for line in lines[start + 1 : start + 5]] == [
        "d smallest sum of its victims' priorities default/z (priority 1); 0 budget violations",
        "c a higher sum of priorities default/y1 (priority 1), default/y2 (priority 1); 0 budget violations",
        "b a more important victim default/x (priority 5); 0 budget violations",
        "a more violations of disruption budgets default/w (priority 0); 1 budget violation",
    ]
    # And the turn in which it got the room.
    assert "default/new fits 1 of 5 nodes, best is d" in lines
    found = json.loads(cli("schedule", cluster, "--explain", "new", "-o", "json").out)["explanations"]
    assert found["default/new"]["best"] == ["d"]
    assert found["default/new"]["preempted_before"]["victims"] == ["default/z"]


def test_the_record_of_a_preemption() -> None:
    found = evaluate(FULL, pod("new", "4", priority=10))
    assert found.preemption is not None
    assert found.preemption.chosen is not None
    assert found.preemption.chosen.node_name == "d"
    record = found.to_dict()["post_filter"]
    assert record["decided_by"] == "smallest sum of its victims' priorities"
    assert record["lost_by"]["a"] == "more violations of disruption budgets"
    assert record["candidates"]["a"] == {"victims": ["default/w"], "pdb_violations": 1}
    assert set(record["candidates"]) == {"a", "b", "c", "d"}
    assert record["victims"] == ["default/z"]


def test_of_equal_nodes_the_first_tried_wins_and_an_only_one_needs_no_reason() -> None:
    two = [node("a"), node("b"), pod("x", "4", on="a"), pod("y", "4", on="b")]
    record = evaluate(two, pod("new", "4", priority=10)).to_dict()["post_filter"]
    assert record["decided_by"] == "equal by all criteria, and tried first"
    assert record["nominated_nodes_tied"] == ["a", "b"]
    record = evaluate([node("a"), pod("x", "4", on="a")], pod("new", "4", priority=10)).to_dict()
    assert record["post_filter"]["decided_by"] == "the only candidate"


def test_an_evaluation_evicts_no_pod() -> None:
    found = evaluate(FULL, pod("new", "4", priority=10))
    assert found.post_filter is not None
    assert [victim.name for victim in found.post_filter.writes.evicted] == ["z"]
    again = evaluate(FULL, pod("new", "4", priority=10))
    assert again.to_dict() == found.to_dict()
