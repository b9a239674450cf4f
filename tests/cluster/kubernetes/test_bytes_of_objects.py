"""Bytes that nodes and running pods take: their values, the scheduler's cache and its columns.

Counted are allocations, so the figures are equal on every machine; what a process takes in addition while it
reads a page of a list does not depend on the number of objects.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from schedframe import InMemoryCluster, Scheduler
from schedframe.api import Node, Pod
from schedframe.cluster.kubernetes.decoding import Decoder

from .scripted import listed

NODES = 2_000
PODS = 2_000
PAGE = 500
IMAGES_A_NODE = 40
DISTINCT_IMAGES = 3_000
MANAGED = [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {"f:conditions": {}}}}]


def moment(number: int) -> str:
    return f"2026-01-{1 + number % 28:02d}T{number % 24:02d}:{number // 7 % 60:02d}:{number % 60:02d}Z"


def node(number: int) -> dict[str, Any]:
    name = f"ip-10-0-{number // 256}-{number % 256}.eu-west-1.compute.internal"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "m5.8xlarge",
        "topology.kubernetes.io/zone": f"eu-west-1{'abc'[number % 3]}",
        "topology.kubernetes.io/region": "eu-west-1",
    }
    images = [
        {
            "names": [f"registry.example/app-{image}@sha256:{image:064d}", f"registry.example/app-{image}:3"],
            "sizeBytes": 1_000_000 + image,
        }
        for image in random.Random(number).sample(range(DISTINCT_IMAGES), IMAGES_A_NODE)
    ]
    conditions = [
        {"type": type, "status": "False", "reason": "Kubelet", "lastTransitionTime": moment(number)}
        for type in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    amounts = {
        "cpu": "31",
        "memory": "120Gi",
        "pods": "110",
        "ephemeral-storage": "90Gi",
        "hugepages-2Mi": "0",
    }
    return {
        "metadata": {
            "name": name,
            "uid": f"6a9e7e4e-8e6f-4c2c-8b8f-{number:012d}",
            "resourceVersion": str(100_000 + number),
            "creationTimestamp": moment(number),
            "labels": labels,
            "annotations": {"node.alpha.kubernetes.io/ttl": "0", "csi.volume/nodeid": f"i-{number:017d}"},
            "managedFields": MANAGED,
        },
        "spec": {
            "podCIDR": f"10.{number // 256}.{number % 256}.0/24",
            "providerID": f"aws:///i-{number:017d}",
        },
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions, "images": images},
    }


def running_pod(number: int) -> dict[str, Any]:
    app = f"app-{number // 50}"
    name = f"{app}-7d9c5b8f6d-{number:05x}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-7d9c5b8f6d", "uid": f"{app:036}"}
    container = {
        "name": "c",
        "image": f"registry.example/{app}:3",
        "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}, "limits": {"memory": "500Mi"}},
        "env": [{"name": "A", "value": str(number)}],
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
    }
    status = {
        "name": "c",
        "ready": True,
        "image": container["image"],
        "containerID": f"containerd://{number:064d}",
    }
    conditions = [
        {"type": type, "status": "True", "lastTransitionTime": moment(number)}
        for type in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    return {
        "metadata": {
            "name": name,
            "generateName": f"{app}-7d9c5b8f6d-",
            "namespace": f"ns-{number % 100}",
            "uid": f"5a9e7e4e-8e6f-4c2c-8b8f-{number:012d}",
            "resourceVersion": str(200_000 + number),
            "creationTimestamp": moment(number),
            "labels": {"app": app, "pod-template-hash": "7d9c5b8f6d"},
            "annotations": {"cni.example/ip": f"10.{number // 256}.{number % 256}.1/32"},
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
            "managedFields": MANAGED,
        },
        "spec": {
            "volumes": [{"name": f"kube-api-access-{number:05x}", "projected": {"sources": []}}],
            "containers": [container],
            "nodeName": node(number % NODES)["metadata"]["name"],
            "priority": 0,
        },
        "status": {
            "phase": "Running",
            "conditions": conditions,
            "hostIP": "10.0.0.1",
            "podIP": f"10.{number // 256}.{number % 256}.1",
            "startTime": moment(number),
            "containerStatuses": [status],
        },
    }


def pages(make: Callable[[int], dict[str, Any]], count: int) -> list[bytes]:
    """Return the manifests as the API server sends them."""
    starts = range(0, count, PAGE)
    return [
        json.dumps(listed("1", *[make(n) for n in range(start, start + PAGE)])).encode() for start in starts
    ]


def bytes_each(cluster: InMemoryCluster, decoder: Decoder, bodies: list[bytes], count: int) -> float:
    """Return the bytes that each object takes in the cluster and in the scheduler that watches it."""
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for body in bodies:
        for obj in decoder.page(body).objects:
            cluster.create(obj)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    return (after - before) / count


def texts_shared_before() -> list[str]:
    """Return texts that make Python's table of shared texts grow now: it grows by megabytes at once."""
    return [sys.intern(f"text {number}") for number in range(100_000)]


@pytest.mark.slow
def test_a_node_takes_at_most_6_kb_and_a_running_pod_4() -> None:
    nodes, pods = pages(node, NODES), pages(running_pod, PODS)
    before = texts_shared_before()
    cluster = InMemoryCluster()
    with Scheduler(cluster) as scheduler:
        scheduler.start()
        tracemalloc.start()
        try:
            node_bytes = bytes_each(cluster, Decoder(Node), nodes, NODES)
            pod_bytes = bytes_each(cluster, Decoder(Pod), pods, PODS)
        finally:
            tracemalloc.stop()
    del before  # not earlier: the table shrinks when they go
    assert node_bytes <= 6_000
    assert pod_bytes <= 4_000
