"""Objects of the templates. Each is decoded from a manifest of its own, as the objects of a cluster are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..api import DEFAULT_SCHEDULER_NAME, Node, Pod, ResourceSlice, Service, from_manifest

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
NODE_CPU: Final = 4
RESOURCE_API: Final = "resource.k8s.io/v1"


def node_name(i: int) -> str:
    """Return the name of the i-th node."""
    return f"node-{i:06d}"


def home_of(i: int, nodes: int) -> str:
    """Return the node of the i-th running pod: running pods are spread evenly."""
    return node_name(i % max(nodes, 1))


def make_node(i: int, zones: Sequence[str] = (), taints: Sequence[Mapping[str, str]] = ()) -> Node:
    """Return a node of 4 CPUs, 32Gi and 110 pods, as in scheduler_perf; *zones* are assigned in turn."""
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
    """Return a pod of 100m and 500Mi, as in scheduler_perf. *spec*: more fields, as in a manifest."""
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
    # Made here and right: checking the fields would be a part of what is measured.
    return cast("Pod", from_manifest(manifest, strict=False))


def make_service(name: str) -> Service:
    """Return a service that selects no pod of the templates."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}},
    }
    return cast("Service", from_manifest(manifest))


def node_slice(driver: str, node: str, count: int) -> ResourceSlice:
    """Return a slice with *count* devices of one node; scheduler_perf makes the same."""
    devices = [
        {
            "name": device_name(i),
            "attributes": {
                "model": {"string": "A100"},
                "family": {"string": "GPU"},
                "driverVersion": {"version": "1.2.3"},
                "dra.example.com/numa": {"int": i},
            },
            "capacity": {"memory": {"value": "1Gi"}},
        }
        for i in range(count)
    ]
    pool = {"name": node, "resourceSliceCount": 1, "generation": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
    manifest = {
        "apiVersion": RESOURCE_API,
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": spec,
    }
    return cast("ResourceSlice", from_manifest(manifest))


def device_name(i: int) -> str:
    """Return the name of the i-th device of a node."""
    return f"instance-{i}"
