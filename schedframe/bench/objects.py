"""Nodes and pods of the workloads: each made from a manifest of its own, as objects of a cluster are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..api import DEFAULT_SCHEDULER_NAME, Node, Pod, Service, from_manifest

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
NODE_CPU: Final = 4


def node_name(i: int) -> str:
    """Of the i-th node."""
    return f"node-{i:06d}"


def make_node(i: int, zones: Sequence[str] = (), taints: Sequence[Mapping[str, str]] = ()) -> Node:
    """4 CPUs, 32Gi, 110 pods: the default node of scheduler_perf. *zones* are given out in turn."""
    name = node_name(i)
    labels = {HOSTNAME: name}
    if zones:
        labels[ZONE] = zones[i % len(zones)]
    return cast(
        "Node",
        from_manifest(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": {"taints": [*taints]},
                "status": {"capacity": {"cpu": str(NODE_CPU), "memory": "32Gi", "pods": "110"}},
            }
        ),
    )


def make_pod(
    name: str,
    *,
    namespace: str = "default",
    node: str = "",
    labels: Mapping[str, str] | None = None,
    cpu: str = "100m",
    memory: str = "500Mi",
    scheduler: str = DEFAULT_SCHEDULER_NAME,
    **spec: Any,
) -> Pod:
    """100m and 500Mi: the default pod of scheduler_perf. *spec*: more fields, as in a manifest."""
    amounts = {"cpu": cpu, "memory": memory}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.2",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": amounts, "limits": amounts},
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"containers": [container], "nodeName": node, "schedulerName": scheduler, **spec},
    }
    return cast("Pod", from_manifest(manifest))


def make_service(name: str) -> Service:
    """One that selects none of the pods."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}},
    }
    return cast("Service", from_manifest(manifest))
