"""The template ``backlog``: pods wait for room, and one running pod ends after another."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import Any

from ... import InMemoryCluster, Scheduler, VirtualClock
from ...api import Pod
from ..memory import frozen_heap
from ..objects import make_node, make_pod, node_name
from ..options import Progress, Size

NODE_MILLICPUS = 4000
MANY_CLASSES = 1000


def measure_backlog(size: Size, progress: Progress) -> dict[str, Any]:
    """Return placements per second with ``size.init`` waiting pods: alike ones, and of 1,000 sizes.

    Each node runs one pod that fills it; ``size.pods`` pods end, one a second, and one waiting pod is placed
    for each.
    """
    classes = min(MANY_CLASSES, size.init)
    return {
        "nodes": size.nodes,
        "waiting": size.init,
        "placements_per_s": round(_measure(size, progress, 1)),
        "classes": classes,
        "placements_per_s_of_classes": round(_measure(size, progress, classes)),
    }


def _measure(size: Size, progress: Progress, classes: int) -> float:
    progress(f"{size.init} pods of {classes} sizes begin to wait")
    clock = VirtualClock()
    cluster = InMemoryCluster(clock=clock, event_capacity=0)
    with Scheduler(cluster, clock=clock, seed=1) as scheduler:
        for i in range(size.nodes):
            cluster.create(make_node(i))
        for i in range(size.nodes):
            cluster.create(make_pod(f"running-{i:06d}", cpu=f"{NODE_MILLICPUS}m", node=node_name(i)))
        for i in range(size.init):
            cluster.create(make_pod(f"waiting-{i:06d}", cpu=f"{NODE_MILLICPUS - i % classes}m"))
        scheduler.run_until_idle()
        running = deque(pod.key for pod in cluster.list(Pod.KIND) if pod.node_name)
        progress(f"{size.pods} pods end")
        with frozen_heap():
            started = perf_counter()
            placed = sum([_end_one(scheduler, cluster, clock, running) for _ in range(size.pods)])
            seconds = perf_counter() - started
    return placed / seconds


def _end_one(scheduler: Scheduler, cluster: InMemoryCluster, clock: VirtualClock, running: deque[str]) -> int:
    """Let the pod that has run longest end; return the number of pods that were placed then."""
    clock.advance(1.0)
    cluster.delete(Pod.KIND, running.popleft())
    placed = 0
    while (decision := scheduler.schedule_one()) is not None:
        if decision.node_name is not None:
            running.append(decision.pod.key)
            placed += 1
    return placed
