"""Proposals for generated pending pods: an API server takes each, and each helps once it is made."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from schedframe import explain

from .manifests import Manifest
from .patching import applied
from .test_proposals import bound_elsewhere, helps, is_accepted, node

BATCHES = range(2)
IN_A_BATCH = 25
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def world(rng: Random) -> list[Manifest]:
    """A few nodes with pods, and the pending pod p, which has one to three obstacles."""
    nodes = [node(f"n{number}", rng.choice("bc")) for number in range(rng.randint(1, 3))]
    objects: list[Manifest] = []
    for each in nodes:
        if rng.random() < 0.4:
            each["spec"] = {"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]}
        taken = {"containerPort": 80, "hostPort": 80}
        container = {"name": "main", "image": "x", "ports": [taken], "resources": amounts("3")}
        meta = {"name": f"on-{each['metadata']['name']}", "namespace": "default", "labels": {"app": "p"}}
        spec = {"nodeName": each["metadata"]["name"], "containers": [container]}
        objects.append({"kind": "Pod", "metadata": meta, "spec": spec})
    spec = {"containers": [{"name": "main", "image": "x"}]}
    for obstacle in rng.sample(OBSTACLES, rng.randint(1, 3)):
        obstacle(spec, rng)
    if "volumes" in spec:
        objects += bound_elsewhere()[:2]
    return [*nodes, *objects, pending(spec, rng)]


def amounts(cpu: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu}}


def pending(spec: dict[str, Any], rng: Random) -> Manifest:
    labels = {"app": "p"}
    if rng.random() < 0.5:
        return {
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", "labels": labels},
            "spec": spec,
        }
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def large(spec: dict[str, Any], rng: Random) -> None:
    spec["containers"][0]["resources"] = amounts(rng.choice(["2", "3500m", "9"]))


def port(spec: dict[str, Any], rng: Random) -> None:
    spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]


def selecting(spec: dict[str, Any], rng: Random) -> None:
    spec["nodeSelector"] = rng.choice([{"disk": "ssd"}, {ZONE: "d"}])


def volume(spec: dict[str, Any], rng: Random) -> None:
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]


def apart(spec: dict[str, Any], rng: Random) -> None:
    term = {"topologyKey": rng.choice([HOST, ZONE]), "labelSelector": {"matchLabels": {"app": "p"}}}
    spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(spec: dict[str, Any], rng: Random) -> None:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 4}
    spec["topologySpreadConstraints"] = [{**constraint, "labelSelector": {"matchLabels": {"app": "p"}}}]


OBSTACLES = (large, port, selecting, volume, apart, spread)


@pytest.mark.parametrize("batch", BATCHES)
def test_every_proposal_for_a_pod_is_accepted_and_helps(batch: int) -> None:
    found = 0
    for number in range(IN_A_BATCH):
        objects = world(Random(batch * IN_A_BATCH + number))
        name = "p" if objects[-1]["kind"] == "Pod" else "deployment/p"
        explanation = explain(objects, name, budget=60)
        for change in [*explanation.changes, *explanation.pairs]:
            document = change.to_dict()
            after = applied(objects, document["operations"])
            touched = {each.get("kind") for each in document["operations"] if each["action"] == "patch"}
            assert not touched & {"PersistentVolume", "PersistentVolumeClaim"}
            assert is_accepted(objects, after, document), (number, change.description)
            assert helps(after, "p"), (number, change.description)
            found += 1
    assert found > IN_A_BATCH / 2
