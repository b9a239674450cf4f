"""The template ``fork``: what it costs to fork a scheduler, and to try things out in the fork."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from statistics import median
from time import process_time_ns
from typing import Any

from attrs import evolve

from ...api import Pod
from ...cluster import InMemoryCluster
from ...cycle import Scheduler
from ...fork import Fork
from ...fork.picture import Picture
from ..memory import frozen_heap
from ..objects import home_of, make_node, make_pod
from ..options import Progress, Size

ROUNDS = 5
"""Rounds of which the median counts, so that other processes disturb only a few of them."""


def measure_fork(size: Size, progress: Progress) -> dict[str, Any]:
    """Return CPU times: of a fork of --nodes nodes and --init pods, and of --pods trials in it.

    ``core_ms`` is the time that the thread of the scheduler takes; ``ready_ms`` goes from the request to the
    first answer. A trial creates one pod, places it and takes that back: of a class that is known, or the
    first of its class. ``revert_us`` is the revert alone, by pod of a trial that placed many, and by node of
    one that removed a node without pods.
    """
    cluster = InMemoryCluster()
    with Scheduler(cluster, seed=0) as scheduler:
        progress(f"loading {size.nodes} nodes and {size.init} running pods")
        for i in range(size.nodes):
            cluster.create(make_node(i))
        for pod in _running(size):
            cluster.create(pod)
        scheduler.sync()
        with frozen_heap():
            core = median(_ms(lambda: Picture.of(scheduler.core)) for _ in range(ROUNDS))
            progress("forking")
            ready = median(_ms(lambda: _first_answer(scheduler)) for _ in range(ROUNDS))
        progress(f"trying out {size.pods} pods")
        with Fork.of(scheduler) as fork, frozen_heap():
            return {
                "nodes": size.nodes,
                "init": size.init,
                "core_ms": round(core, 3),
                "ready_ms": round(ready, 3),
                **_trials(fork, size.pods),
            }


def _running(size: Size) -> Iterator[Pod]:
    """Yield running pods that share their spec but for the node, as those of a workload do."""
    pod = make_pod("running")
    for i in range(size.init):
        metadata = evolve(pod.metadata, name=f"running-{i:07d}", uid=f"running-{i:07d}")
        yield evolve(pod, metadata=metadata).with_node_name(home_of(i, size.nodes))


def _first_answer(scheduler: Scheduler) -> None:
    with Fork.of(scheduler) as fork:
        fork.would_fit(make_pod("first"))


def _trials(fork: Fork, pods: int) -> dict[str, Any]:
    pod, numbers = fork.admit(make_pod("tried")), count()

    def known() -> None:
        with fork.trial():
            fork.schedule((pod,))

    def first_of_class() -> None:
        memory = f"{next(numbers) + 1}Ki"
        other = evolve(make_pod("tried", memory=memory), metadata=pod.metadata)
        with fork.trial():
            fork.schedule((other,))

    some = max(1, pods // 10)
    return {
        "pods": pods,
        "trials_per_second": round(1e3 * pods / _repeated(known, pods)),
        "trials_per_second_first_of_class": round(1e3 * some / _repeated(first_of_class, some)),
        "revert_us_per_pod": round(median(_revert_of_pods(fork, pod, pods) for _ in range(ROUNDS)), 3),
        "revert_us_per_node": round(median(_revert_of_node(fork, name) for name in _some_nodes(fork)), 3),
    }


def _revert_of_pods(fork: Fork, pod: Pod, count: int) -> float:
    """Return microseconds for each pod of a trial that placed *count*."""
    pods = [
        evolve(pod, metadata=evolve(pod.metadata, name=f"tried-{i}", uid=f"tried-{i}")) for i in range(count)
    ]
    with fork.trial() as trial:
        fork.schedule(pods)
        return 1e3 * _ms(trial.revert) / count


def _some_nodes(fork: Fork) -> list[str]:
    return [node.name for node in fork.cluster.list("Node")[: 4 * ROUNDS]]


def _revert_of_node(fork: Fork, name: str) -> float:
    """Return microseconds of a revert that brings a node back."""
    with fork.trial():
        for pod in fork.pods_on(name):
            fork.remove("Pod", pod.key)
        with fork.trial() as trial:
            fork.remove_node(name)
            return 1e3 * _ms(trial.revert)


def _repeated(call: Callable[[], object], times: int) -> float:
    """Return milliseconds of CPU of *times* calls, after one that is not counted."""
    call()

    def calls() -> None:
        for _ in range(times):
            call()

    return _ms(calls)


def _ms(call: Callable[[], object]) -> float:
    started = process_time_ns()
    call()
    return (process_time_ns() - started) / 1e6
