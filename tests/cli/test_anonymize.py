"""Hidden names: nothing of a cluster remains but what scheduling reads, and decisions are the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

import schedframe
from schedframe.api import from_manifest
from schedframe.api.manifest import to_manifest
from schedframe.cli.anonymize import Anonymizer
from tests.conformance.corpus import Corpus

FAMILIES = ("dra_more", "images", "node_selector_name_unschedulable", "ports", "volumes", "volumes_more")
CASES = 12
"""Cases of each family: each is evaluated twice."""


def stored(*manifests: dict[str, Any]) -> list[dict[str, Any]]:
    """The manifests as a snapshot has them."""
    return [to_manifest(from_manifest(each, strict=False)) for each in manifests]


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_cases_are_decided_the_same(family: str) -> None:
    for case in Corpus().cases(family)[:CASES]:
        manifests = stored(*case["objects"], case["pod"])
        hidden = Anonymizer()
        *objects, pod = hidden.manifests(manifests)
        before = schedframe.evaluate(manifests[:-1], manifests[-1], case["config"], strict=False)
        after = schedframe.evaluate(objects, pod, case["config"], strict=False)
        assert after.feasible == sorted(map(hidden.text, before.feasible)), case["name"]
        assert after.total == {hidden.text(node): total for node, total in before.total.items()}, case["name"]


STATUSES: list[dict[str, Any]] = [
    {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": "alpha"},
        "status": {
            "allocatable": {"cpu": "2", "example.com/gpu": "1"},
            "addresses": [{"type": "Hostname", "address": "alpha"}],
            "images": [{"names": ["registry.corp/secret:1"], "sizeBytes": 5}],
            "conditions": [{"type": "Ready", "status": "True", "message": "alpha is ready"}],
        },
    },
    {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "one", "namespace": "shop"},
        "spec": {"containers": [{"name": "main", "image": "registry.corp/secret:1"}]},
        "status": {"phase": "Pending", "nominatedNodeName": "alpha", "startTime": "2026-01-31T12:00:00Z"},
    },
    {
        "kind": "ResourceClaim",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": "one", "namespace": "shop"},
        "spec": {"devices": {"requests": [{"name": "secret", "exactly": {"deviceClassName": "gpu.corp"}}]}},
        "status": {
            "allocation": {
                "devices": {
                    "results": [{"request": "secret", "driver": "gpu.corp", "pool": "alpha", "device": "red"}]
                }
            }
        },
    },
    {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": "budget", "namespace": "shop"},
        "spec": {"minAvailable": "50%"},
        "status": {"disruptedPods": {"one": "2026-01-31T12:00:00Z"}},
    },
]


def test_no_name_remains_in_a_status() -> None:
    text = json.dumps(Anonymizer().manifests(stored(*STATUSES)))
    for word in ("alpha", "secret", "registry", "one", "shop", "main", "red", "budget"):
        assert f'"{word}' not in text, word
    for kept in ("Hostname", "Ready", "Pending", "gpu.corp", "2026-01-31T12:00:00Z", "50%"):
        assert f'"{kept}"' in text, kept


def test_references_in_a_status_still_match() -> None:
    hidden = Anonymizer()
    node, pod, claim, budget = hidden.manifests(stored(*STATUSES))
    assert pod["status"]["nominatedNodeName"] == node["metadata"]["name"]
    assert node["status"]["images"][0]["names"] == [pod["spec"]["containers"][0]["image"]]
    (request,) = claim["spec"]["devices"]["requests"]
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert result["request"] == request["name"]
    assert list(budget["status"]["disruptedPods"]) == [pod["metadata"]["name"]]


def test_a_part_of_a_request_is_named_by_both_names() -> None:
    hidden = Anonymizer()
    results = {"results": [{"request": "main/large"}]}
    (result,) = hidden.manifest({"devices": results})["devices"]["results"]
    assert result["request"] == f"{hidden.text('main')}/{hidden.text('large')}"
