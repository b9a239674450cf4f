"""The templates ``backlog`` and ``gangs-waiting``: one running pod ends after another while others wait."""

from __future__ import annotations

from collections import deque
from time import perf_counter, process_time
from typing import Any

from ... import InMemoryCluster, Scheduler, VirtualClock
from ...api import Pod
from ...embed import Embedding, Group, Task, Worker
from ..memory import frozen_heap
from ..objects import make_node, make_pod, node_name
from ..options import Progress, Size

NODE_MILLICPUS = 4000
MANY_CLASSES = 1000
GANG = 8
GANG_CLASSES = 10
FEW_GANGS = 200


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


# ---- gangs -----------------------------------------------------------------------------------------------


def measure_waiting_gangs(size: Size, progress: Progress) -> dict[str, Any]:
    """Return the CPU time of an event while few and ``size.init`` gangs wait, and that of submitting them.

    Each worker has eight small tasks; a gang needs eight whole workers. An event: a task ends, one comes.
    """
    few = _with_gangs(size, min(FEW_GANGS, size.init), progress)
    many = _with_gangs(size, size.init, progress)
    return {
        "workers": size.nodes,
        "gangs": size.init,
        "submit_cpu_s": round(many[0], 3),
        "event_cpu_ms_few": round(few[1], 4),
        "event_cpu_ms": round(many[1], 4),
    }


def _with_gangs(size: Size, gangs: int, progress: Progress) -> tuple[float, float]:
    """Return CPU seconds for submitting *gangs*, and CPU milliseconds of an event then."""
    progress(f"{gangs} gangs begin to wait")
    clock = VirtualClock()
    workers = [Worker(f"w{number}", {"slot": GANG, "kind": GANG_CLASSES}) for number in range(size.nodes)]
    embedding: Embedding[Task, Worker] = Embedding(workers, clock=clock, groups=True, seed=1)
    for number in range(GANG * size.nodes):
        embedding.submit(Task(f"small-{number}", {"slot": 1}))
    embedding.run_until_idle()
    with frozen_heap():
        started = process_time()
        for number in range(gangs):
            needs = {"slot": GANG, "kind": 1 + number % GANG_CLASSES}
            tasks = [Task(f"g{number}-{each}", needs) for each in range(GANG)]
            embedding.submit_group(Group(tasks, key=f"g{number}"))
        embedding.run_until_idle()
        submitted = process_time() - started
        progress(f"{size.pods} tasks end")
        started = process_time()
        for number in range(size.pods):
            clock.advance(20.0)
            embedding.finish(f"small-{number}")
            embedding.submit(Task(f"small-{GANG * size.nodes + number}", {"slot": 1}))
            embedding.run_until_idle()
        seconds = process_time() - started
    embedding.close()
    return submitted, 1e3 * seconds / size.pods
