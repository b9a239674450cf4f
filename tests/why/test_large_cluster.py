"""Pods that are pending for many reasons: every change that is proposed can be applied and helps."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest

from schedframe import Simulation, explain
from schedframe.why import ChangeKind, Explanation

from .manifests import Manifest
from .patching import applied

NODES = 150
ZONE, HOSTNAME, GPU = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "nvidia.com/gpu"


def pod(name: str, labels: dict[str, str] | None = None, /, requests: Any = None, **spec: Any) -> Manifest:
    container = {"name": "c", "image": "x", "resources": {"requests": requests or {"cpu": "1"}}}
    metadata = {"name": name, "namespace": "prod", "labels": labels or {}}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def nodes() -> list[Manifest]:
    made = []
    for i in range(NODES):
        name = f"n{i:04d}"
        labels = {HOSTNAME: name, ZONE: f"eu-{'abc'[i % 3]}", "disktype": "ssd" if i % 2 else "hdd"}
        labels["kubernetes.io/arch"] = "arm64" if i % 10 == 9 else "amd64"
        room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        spec: dict[str, Any] = {}
        if i % 50 == 0:
            room[GPU] = "4"
            spec["taints"] = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
        if i % 25 == 7:
            spec["taints"] = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
            labels["pool"] = "db"
        if i % 100 == 13:
            spec["unschedulable"] = True
        metadata = {"name": name, "labels": labels}
        made.append({"kind": "Node", "metadata": metadata, "spec": spec, "status": {"allocatable": room}})
    return made


def running() -> list[Manifest]:
    rng = Random(5)
    made = [
        pod(
            f"run-{i}-{k}",
            {"app": f"svc{rng.randrange(40)}"},
            requests={"cpu": rng.choice(["1", "1500m", "2"]), "memory": rng.choice(["4Gi", "6Gi", "8Gi"])},
            nodeName=f"n{i:04d}",
            priority=rng.choice([0, 0, 100]),
        )
        for i in range(NODES)
        for k in range(6)
    ]
    made += [
        pod(
            f"train-{i}",
            requests={GPU: "4"},
            nodeName=f"n{i:04d}",
            tolerations=[{"key": GPU, "operator": "Exists"}],
            priority=1000,
        )
        for i in range(0, NODES, 50)
    ]
    small = {"cpu": "100m"}
    made += [pod(f"etcd-{i}", {"app": "etcd"}, requests=small, nodeName=f"n{i:04d}") for i in (3, 4, 5)]
    return made + [pod(f"sp-{i}", {"app": "sp"}, requests=small, nodeName=f"n{i:04d}") for i in (6, 9)]


def near(app: str, key: str, topology: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology}
    return {"affinity": {key: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "sp"}},
    "nodeAffinityPolicy": "Ignore",
}
ZONED_CLAIM = {
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "zoned",
        "namespace": "prod",
        "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
    },
    "spec": {
        "volumeName": "pv1",
        "storageClassName": "std",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
VOLUME = {
    "kind": "PersistentVolume",
    "metadata": {"name": "pv1", "labels": {ZONE: "eu-b"}},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "std",
        "claimRef": {"name": "zoned", "namespace": "prod"},
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["eu-b"]}]}
                ]
            }
        },
        "hostPath": {"path": "/x"},
    },
}
CLASS = {"kind": "StorageClass", "metadata": {"name": "std"}, "provisioner": "x"}


def claimed(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]}


PENDING = [
    pod("big", requests={"cpu": "14", "memory": "8Gi"}),
    pod("selector", nodeSelector={"disktype": "nvme"}),
    pod("etcd", {"app": "etcd"}, requests={"cpu": "100m"}, **near("etcd", "podAntiAffinity", ZONE)),
    pod("gpu", requests={GPU: "1"}, tolerations=[{"key": GPU, "operator": "Exists"}]),
    pod("gpu-notol", requests={GPU: "1"}),
    pod("db", nodeSelector={"pool": "db"}),
    pod("db-arm", requests={"cpu": "12"}, nodeSelector={"pool": "db", "kubernetes.io/arch": "arm64"}),
    pod("spread", {"app": "sp"}, nodeSelector={ZONE: "eu-a"}, topologySpreadConstraints=[SPREAD]),
    pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
    pod("affinity", **near("redis", "podAffinity", HOSTNAME)),
    pod("claim", **claimed("data")),
    pod("zoned", nodeSelector={ZONE: "eu-a"}, **claimed("zoned")),
    pod("huge", requests={"cpu": "64", "memory": "1Ti"}),
]
CLUSTER = [*nodes(), *running(), ZONED_CLAIM, VOLUME, CLASS]
FOUND: dict[str, Explanation] = {}


def found_for(name: str) -> Explanation:
    if name not in FOUND:
        FOUND[name] = explain([*CLUSTER, *PENDING], name)
    return FOUND[name]


@pytest.mark.parametrize("pending", PENDING, ids=lambda each: str(each["metadata"]["name"]))
def test_every_proposal_for_every_cause_helps(pending: Manifest) -> None:
    name = pending["metadata"]["name"]
    found = json.loads(found_for(name).to_json())
    assert found["verdict"] in ("pending", "gated")
    assert found["changes"] or found["pairs"]
    assert len(found_for(name).to_json()) < 60_000
    for change in (*found["changes"], *found["pairs"]):
        others = _without_what_no_edit_concerns(change["operations"])
        *others, changed = sorted(
            applied([*others, copy.deepcopy(pending)], change["operations"]),
            key=lambda each: (each["kind"], each["metadata"]["name"]) == ("Pod", name),
        )
        evaluation = Simulation(others).evaluate(changed)
        assert change["node_then"] in evaluation.best, change["description"]
        assert change["feasible_then"] == len(evaluation.feasible), change["description"]


def _without_what_no_edit_concerns(operations: list[dict[str, Any]]) -> list[Manifest]:
    """Return the cluster, with copies only of what is changed: copying all of it takes most of the time."""
    names = {each.get("name") for each in operations}
    return [copy.deepcopy(each) if each["metadata"]["name"] in names else each for each in CLUSTER]


def test_what_the_answers_say() -> None:
    assert found_for("gpu-notol").nearest[0].node == "n0000"
    assert not any("from 0" in each.description for each in found_for("gpu-notol").pairs)
    kinds = [[str(part.kind) for part in pair.parts] for pair in found_for("gpu-notol").pairs]
    assert ["tolerate-taint", "delete-pod"] in kinds
    assert "all taken, on 3 nodes with nvidia.com/gpu" in str(found_for("gpu"))
    assert "disktype is hdd (75 nodes), ssd (75 nodes)" in str(found_for("selector"))
    assert "no node has all of pool=db (6 nodes), kubernetes.io/arch=arm64 (15 nodes)" in str(
        found_for("db-arm")
    )
    assert "larger than any node, the largest has 64Gi" in str(found_for("huge"))
    assert ChangeKind.ADD_POD in [each.kind for each in found_for("affinity").changes]
    texts = [each.description for each in found_for("spread").changes]
    assert f"raise maxSkew over {ZONE} from 1 to 3" in texts
