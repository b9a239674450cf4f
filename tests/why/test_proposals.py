"""Every proposal can be made by the rules of an API server, and helps once it is made."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Simulation, explain
from schedframe.api import to_manifest
from schedframe.api.validation.updates import refused_update
from schedframe.why import Explanation
from schedframe.why.explanation import Verdict
from tests.controllers.charts import chart

from .manifests import Manifest
from .patching import applied

SEEDS = range(12)
HELPED = (Verdict.FITS, Verdict.PLACED)


def named(objects: list[Manifest]) -> dict[tuple[str, str], Manifest]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def is_accepted(before: list[Manifest], after: list[Manifest], change: dict[str, Any]) -> bool:
    """Whether an API server that has *before* takes the operations of *change*."""
    old, new = named(before), named(after)
    for operation in change["operations"]:
        if operation["action"] == "patch":
            key = operation["kind"], operation["name"]
            if refused_update(old[key], new[key]):
                return False
    return True


def pods_of(objects: list[Manifest], owner: str) -> list[str]:
    """The names of the pods of the workload *owner*, or of the pod of that name."""
    with Simulation(objects) as simulation:
        names = [pod.name for pod in simulation.cluster.list("Pod")]
    return [name for name in names if name == owner or name.startswith(f"{owner}-")]


def helps(objects: list[Manifest], owner: str) -> bool:
    return any(explain(objects, name, changes=0).verdict in HELPED for name in pods_of(objects, owner))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_proposal_for_charts_is_accepted_and_helps(seed: int) -> None:
    objects = chart(seed, full=True)
    with Simulation(objects) as simulation:
        pods = {pod.name.split("-")[0]: pod.name for pod in simulation.cluster.list("Pod")}
    for owner, name in pods.items():
        found = explain(objects, name)
        for change in [*found.changes, *found.pairs]:
            after = applied(objects, change.to_dict()["operations"])
            assert is_accepted(objects, after, change.to_dict()), (name, change.description)
            assert helps(after, owner), (name, change.description)


def pending(*objects: Manifest, changes: int = 20) -> Explanation:
    return explain(objects, "p", changes=changes)


def node(name: str, zone: str, **allocatable: str) -> Manifest:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}}


def bound_elsewhere() -> list[Manifest]:
    """A pod whose volume is in a zone without nodes, as a cluster has it."""
    term = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}
    volume = {
        "kind": "PersistentVolume",
        "metadata": {"name": "v", "uid": "uid-v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "d.example.com", "volumeHandle": "h"},
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "namespace": "default",
                "name": "c",
                "uid": "uid-c",
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
        "status": {"phase": "Bound"},
    }
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "c",
            "namespace": "default",
            "uid": "uid-c",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "v",
        },
        "status": {"phase": "Bound"},
    }
    source = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "main"}], "volumes": [source]},
    }
    return [volume, claim, pod]


def test_a_volume_that_has_data_is_never_changed() -> None:
    found = pending(node("n", "b"), *bound_elsewhere())
    kinds = {edit.object.split()[0] for change in found.changes for edit in change.edits}
    assert kinds <= {"Pod", "Node"}
    texts = [change.description for change in found.changes]
    assert texts == [
        "drop the volume data from the pod",
        "add a node like n with topology.kubernetes.io/zone=a",
    ]


def test_labels_that_say_what_a_node_is_are_not_proposed() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "main"}], "nodeSelector": {"topology.kubernetes.io/zone": "c"}},
    }
    kinds = [str(change.kind) for change in pending(node("n", "b"), pod).changes]
    assert "label-node" not in kinds
    assert "relax-node-selection" in kinds


def deployment(replicas: int, cpu: str) -> Manifest:
    labels = {"app": "web"}
    container = {"name": "main", "image": "x", "resources": {"limits": {"cpu": cpu}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def test_nodes_are_added_for_all_pods_that_are_alike() -> None:
    objects = [node("n", "a", cpu="2"), deployment(5, "1")]
    found = explain(objects, "deployment/web", after=True, changes=20)
    texts = [change.description for change in found.changes]
    assert "add 2 nodes like n" in texts
    assert len(found.alike) == 2


def test_the_change_is_for_the_workload_as_it_is_written() -> None:
    objects = [node("n", "a"), deployment(1, "8")]
    found = explain(objects, "deployment/web")
    (change,) = (each for each in found.changes if each.kind == "lower-request")
    (operation,) = change.to_dict()["operations"]
    assert (operation["action"], operation["kind"], operation["name"]) == ("patch", "Deployment", "web")
    paths = [each["path"] for each in operation["patch"]]
    assert all(path.startswith("/spec/template/spec/containers/0/resources") for path in paths)
    assert helps(applied(objects, [operation]), "web")


def test_a_pod_that_exists_is_replaced_where_it_cannot_be_changed() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "main"}], "nodeSelector": {"disk": "ssd"}},
    }
    operations = {
        str(change.kind): change.to_dict()["operations"][0]["action"]
        for change in pending(node("n", "a"), pod).changes
    }
    assert operations["relax-node-selection"] == "replace"
    assert operations["label-node"] == "patch"


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_the_mounts_of_a_volume_go_with_it(kind: str) -> None:
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("logs", "data", "data-too")]
    spec = {
        "containers": [
            {"name": "main", "volumeMounts": mounts},
            {"name": "side", "volumeMounts": mounts[1:2]},
        ],
        "volumes": [
            {"name": "logs", "emptyDir": {}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "gone"}},
            {"name": "data-too", "emptyDir": {}},
        ],
    }
    made: Manifest = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}
    if kind == "Deployment":
        made = deployment(1, "1")
        made["spec"]["template"]["spec"] = spec
    objects = [node("n", "a"), made]
    found = explain(objects, "p" if kind == "Pod" else "deployment/web", changes=20)
    (change,) = (each for each in found.changes if each.kind == "drop-volume")
    after = applied(objects, change.to_dict()["operations"])
    pod = after[1]["spec"] if kind == "Pod" else after[1]["spec"]["template"]["spec"]
    assert [each["name"] for each in pod["containers"][0]["volumeMounts"]] == ["logs", "data-too"]
    assert "volumeMounts" not in pod["containers"][1]
    assert helps(after, "p" if kind == "Pod" else "web")


def test_manifests_of_the_cluster_are_what_updates_are_about() -> None:
    with Simulation(bound_elsewhere()[:2]) as simulation:
        volume = to_manifest(simulation.cluster.list("PersistentVolume")[0])
    moved = {**volume, "spec": {**volume["spec"], "csi": {"driver": "other", "volumeHandle": "h"}}}
    (error,) = refused_update(volume, moved)
    assert error.path == "spec.csi.driver"
