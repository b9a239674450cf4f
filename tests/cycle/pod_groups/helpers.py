"""Clusters with groups of pods."""

from __future__ import annotations

from typing import Any

from schedframe import InMemoryCluster, Scheduler, VirtualClock
from schedframe.queue import Pool

GANGS = {"GenericWorkload": True, "GangScheduling": True}
TOPOLOGY = {**GANGS, "TopologyAwareWorkloadScheduling": True}
ZONE = "topology.kubernetes.io/zone"


def node(name: str, cpu: int = 4, **labels: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {key.replace("__", "/"): value for key, value in labels.items()},
        },
        "status": {"allocatable": {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}},
    }


def zoned(name: str, zone: str, cpu: int = 4) -> dict[str, Any]:
    made = node(name, cpu)
    made["metadata"]["labels"] = {ZONE: zone}
    return made


def group(name: str, at_least: int | None = None, key: str = "", **spec: Any) -> dict[str, Any]:
    policy = {"basic": {}} if at_least is None else {"gang": {"minCount": at_least}}
    constraints = {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": {"schedulingPolicy": policy, **constraints, **spec},
    }


def pod(name: str, group_name: str = "", cpu: float = 1, **spec: Any) -> dict[str, Any]:
    member = {"schedulingGroup": {"podGroupName": group_name}} if group_name else {}
    requests = {"cpu": f"{int(cpu * 1000)}m", "memory": "1Gi"}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **member, **spec},
    }


def scheduler_of(
    *objects: dict[str, Any], gates: dict[str, bool] | None = None, **options: Any
) -> tuple[InMemoryCluster, Scheduler, VirtualClock]:
    clock = VirtualClock()
    cluster = InMemoryCluster(objects, clock=clock)
    scheduler = Scheduler(cluster, clock=clock, seed=1, feature_gates=gates or GANGS, **options)
    scheduler.sync()
    return cluster, scheduler, clock


def nodes_of(cluster: InMemoryCluster, prefix: str = "") -> dict[str, str]:
    """Pods with a node by name."""
    found = (each for each in cluster.list("Pod") if each.node_name and each.name.startswith(prefix))
    return {each.name: each.node_name for each in found}


def pools(scheduler: Scheduler) -> dict[str, Pool]:
    return {each.key.partition("/")[2]: each.pool for each in scheduler.pending()}
