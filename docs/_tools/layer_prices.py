"""What optional layers cost and save: CPU time of a workload with each layer on and off, alternating.

``python docs/_tools/layer_prices.py [--rounds N] [--pods N] [--nodes N]``

A row is the median over rounds of the CPU time for each pod, in microseconds, in both states of the layer.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

from schedframe import InMemoryCluster, Scheduler, Simulation, VirtualClock
from schedframe.cycle import Meter, Tuning, Watchdog, observing
from schedframe.testing import node, pod


def cluster_of(nodes: int, pods: int, cpu: str) -> tuple[InMemoryCluster, VirtualClock]:
    """Return a cluster with *pods* that wait, each of *cpu*, and its clock."""
    clock = VirtualClock()
    made = InMemoryCluster(clock=clock, event_capacity=0)
    for number in range(nodes):
        made.create(node(f"n{number}").allocatable(cpu="16", memory="64Gi", pods=110).build())
    for number in range(pods):
        made.create(pod(f"p{number}").requests(cpu=cpu).build())
    return made, clock


def placing(nodes: int, pods: int, **options: Any) -> float:
    """Return the seconds in which all pods get a node."""
    cluster, clock = cluster_of(nodes, pods, "10m")
    with Scheduler(cluster, clock=clock, seed=0, **options) as scheduler:
        scheduler.sync()
        began = process_time()
        scheduler.run_until_idle()
        return process_time() - began


def waiting(nodes: int, pods: int, **options: Any) -> float:
    """Return the seconds for twenty nodes that come while no pod fits anywhere, but one on each of these."""
    cluster, clock = cluster_of(nodes, pods, "17")
    with Scheduler(cluster, clock=clock, seed=0, **options) as scheduler:
        scheduler.run_until_idle()
        began = process_time()
        for number in range(20):
            cluster.create(node(f"m{number}").allocatable(cpu="18", pods=110).build())
            clock.advance(20)
            scheduler.run_until_idle()
        return process_time() - began


def offline(nodes: int, pods: int, **options: Any) -> float:
    """Return the seconds in which a simulation takes in its objects."""
    made = [node(f"n{n}").allocatable(cpu="16", pods=110).build() for n in range(nodes)]
    waiting = [pod(f"p{n}").requests(cpu="10m").build() for n in range(pods)]
    began = process_time()
    with Simulation([*made, *waiting], **options):
        return process_time() - began


def seen(*_: object) -> None:
    """Nothing."""


LAYERS: dict[str, tuple[Callable[..., float], Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]]] = {
    "equivalence cache": (placing, dict, lambda: {"tuning": Tuning(remember=0)}),
    "verify, one pod in a hundred": (placing, lambda: {"tuning": Tuning(verify=0.01)}, dict),
    "verify, each pod": (placing, lambda: {"tuning": Tuning(verify=1.0)}, dict),
    "waiting together": (waiting, dict, lambda: {"tuning": Tuning(wait_together=False)}),
    "pod groups": (placing, lambda: {"feature_gates": {"GenericWorkload": True}}, dict),
    "meter": (placing, lambda: {"observers": [Meter()]}, dict),
    "meter, all calls": (placing, lambda: {"observers": [Meter(cycles_per_sample=1)]}, dict),
    "observer of decisions": (placing, lambda: {"observers": [observing(decided=seen)]}, dict),
    "observer of all calls": (placing, lambda: {"observers": [observing(plugin_called=seen)]}, dict),
    "watchdog": (placing, lambda: {"observers": [Watchdog()]}, dict),
    "debug": (placing, lambda: {"debug": True}, dict),
    "admission and controllers": (offline, dict, lambda: {"without": "all"}),
}
"""Layer → workload, options with it, options without it."""


def main() -> None:
    """Print a row for each layer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=3000)
    given = parser.parse_args()
    print(f"{'layer':<30} {'with':>8} {'without':>8}")
    for name, (workload, on, off) in LAYERS.items():
        found: dict[bool, list[float]] = {True: [], False: []}
        for number in range(given.rounds):
            for is_on in (number % 2 == 0, number % 2 == 1):
                gc.collect()
                seconds = workload(given.nodes, given.pods, **(on() if is_on else off()))
                found[is_on].append(seconds / given.pods * 1e6)
        print(f"{name:<30} {median(found[True]):>8.1f} {median(found[False]):>8.1f}", flush=True)


if __name__ == "__main__":
    main()
