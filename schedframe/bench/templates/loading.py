"""The template ``load``: time and memory of loading nodes and running pods into a scheduler."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from time import perf_counter_ns, process_time_ns
from typing import Any

from ...api import Node, NodeStatus, ObjectMeta, Pod
from ...cluster import InMemoryCluster
from ...cycle import Scheduler
from ..memory import resident_mb
from ..objects import HOSTNAME, home_of, make_node, make_pod, node_name
from ..options import Progress, Size


def measure_loading(size: Size, progress: Progress) -> dict[str, Any]:
    """Return seconds and memory of nodes and running pods, from the iterator to the scheduler's cache."""
    cluster = InMemoryCluster()
    with Scheduler(cluster) as scheduler:
        scheduler.sync()
        progress(f"loading {size.nodes} nodes")
        nodes = _load(scheduler, cluster, _nodes(size.nodes))
        progress(f"loading {size.init} running pods")
        pods = _load(scheduler, cluster, _pods(size))
    return {
        "nodes": size.nodes,
        "init": size.init,
        "nodes_seconds": nodes[0],
        "nodes_cpu_seconds": nodes[1],
        "nodes_resident_mb": nodes[2],
        "bytes_per_node": _per(nodes[2] - nodes[3], size.nodes),
        "pods_seconds": pods[0],
        "pods_cpu_seconds": pods[1],
        "pods_resident_mb": pods[2],
        "bytes_per_pod": _per(pods[2] - pods[3], size.init),
    }


def _load(
    scheduler: Scheduler, cluster: InMemoryCluster, objects: Iterator[Any]
) -> tuple[float, float, float, float]:
    """Return seconds, CPU seconds, and MiB resident after and before."""
    gc.collect()
    before = resident_mb()
    started, cpu = perf_counter_ns(), process_time_ns()
    for obj in objects:
        cluster.create(obj)
        scheduler.sync()
    seconds, cpu_seconds = (perf_counter_ns() - started) / 1e9, (process_time_ns() - cpu) / 1e9
    gc.collect()
    return round(seconds, 3), round(cpu_seconds, 3), resident_mb(), before


def _per(mebibytes: float, count: int) -> int:
    return round(mebibytes * 2**20 / count) if count else 0


def _nodes(count: int) -> Iterator[Node]:
    """Yield nodes as values that share their equal parts, as a program without manifests makes them."""
    capacity = make_node(0).status.capacity
    for i in range(count):
        name = node_name(i)
        yield Node(ObjectMeta(name, labels={HOSTNAME: name}), status=NodeStatus(capacity=capacity))


def _pods(size: Size) -> Iterator[Pod]:
    """Yield running pods, each decoded from a manifest of its own."""
    for i in range(size.init):
        yield make_pod(f"running-{i:07d}", node=home_of(i, size.nodes))
