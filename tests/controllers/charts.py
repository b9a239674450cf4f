"""Charts at random: workloads with volumes, claims, classes, budgets and host ports, as people write them."""

from __future__ import annotations

from random import Random
from typing import Any

from .storage_manifests import WAITS, Manifest, claim, claim_spec, node, storage_class, volume

ZONES = ("a", "b", "c")
PROVISIONERS = (
    "ebs.csi.aws.com",
    "disks.example.com",
    "rancher.io/local-path",
    "kubernetes.io/no-provisioner",
)
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet")
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def chart(seed: int, *, full: bool = False) -> list[Manifest]:
    """The manifests of a small cluster and of what is installed into it; the same for the same seed.

    *full*: most pods have no room.
    """
    rng = Random(seed)
    nodes = [_node(rng, number) for number in range(rng.randint(1, 5))]
    classes = [_class(rng, number) for number in range(rng.randint(0, 3))]
    names = ["", *(each["metadata"]["name"] for each in classes), None]
    volumes = [
        volume(f"pv{number}", rng.choice(names) or "", f"{rng.randint(1, 8)}Gi")
        for number in range(rng.randint(0, 3))
    ]
    claims = [
        claim(f"c{number}", rng.choice(names), f"{rng.randint(1, 6)}Gi")
        for number in range(rng.randint(0, 3))
    ]
    used = [each["metadata"]["name"] for each in claims]
    if full:
        for each in nodes:
            each["status"]["allocatable"]["cpu"] = "500m"
    workloads = [_workload(rng, number, names, used) for number in range(rng.randint(1, 4))]
    budgets = [_budget(each) for each in workloads if rng.random() < 0.3]
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    return [*nodes, priority, *classes, *volumes, *claims, *workloads, *budgets]


def _node(rng: Random, number: int) -> Manifest:
    made = node(f"n{number}", rng.choice(ZONES))
    made["status"]["allocatable"] = {"cpu": str(rng.randint(1, 4)), "memory": "8Gi", "pods": "20"}
    if rng.random() < 0.2:
        made["spec"] = {"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}
    return made


def _class(rng: Random, number: int) -> Manifest:
    made = storage_class(f"class{number}", rng.choice(PROVISIONERS), rng.choice([WAITS, "Immediate"]))
    if rng.random() < 0.4:
        made["metadata"]["annotations"] = DEFAULT
    return made


def _workload(rng: Random, number: int, classes: list[str | None], claims: list[str]) -> Manifest:
    kind, name = rng.choice(KINDS), f"w{number}"
    labels = {"app": name}
    spec: Manifest = {
        "template": {"metadata": {"labels": labels}, "spec": _pod_spec(rng, kind, classes, claims)}
    }
    if kind != "Job":
        spec["selector"] = {"matchLabels": labels}
    if kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        spec["replicas"] = rng.randint(0, 3)
    if kind == "Job":
        spec |= {"completions": rng.randint(1, 3), "parallelism": rng.randint(1, 3)}
        spec["template"]["spec"]["restartPolicy"] = "Never"
    if kind == "StatefulSet" and rng.random() < 0.6:
        model = {"metadata": {"name": "data"}, "spec": claim_spec(rng.choice(classes))}
        spec["volumeClaimTemplates"] = [model]
    version = "batch/v1" if kind == "Job" else "apps/v1"
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _pod_spec(rng: Random, kind: str, classes: list[str | None], claims: list[str]) -> Manifest:
    container: Manifest = {"name": "main", "image": "registry.example/app:1"}
    amounts = {"cpu": f"{rng.randint(1, 12) * 100}m"}
    container["resources"] = {rng.choice(["requests", "limits"]): amounts}
    if rng.random() < 0.3:
        container["ports"] = [{"containerPort": 8080, **({"hostPort": 8080} if rng.random() < 0.5 else {})}]
    spec: Manifest = {"containers": [container], "volumes": []}
    if claims and kind != "StatefulSet" and rng.random() < 0.4:
        source: dict[str, Any] = {"claimName": rng.choice(claims)}
        spec["volumes"].append({"name": "shared", "persistentVolumeClaim": source})
    if rng.random() < 0.25:
        template = {"spec": claim_spec(rng.choice(classes))}
        spec["volumes"].append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}})
    if spec["volumes"]:
        container["volumeMounts"] = [
            {"name": each["name"], "mountPath": f"/{each['name']}"} for each in spec["volumes"]
        ]
    if rng.random() < 0.2:
        spec["hostNetwork"] = True
    if rng.random() < 0.3:
        spec["priorityClassName"] = "high"
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": rng.choice(ZONES)}
    return spec


def _budget(workload: Manifest) -> Manifest:
    name = workload["metadata"]["name"]
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}},
    }
