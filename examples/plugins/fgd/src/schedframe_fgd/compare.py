"""Compare strategies by unallocated GPUs: ``python -m schedframe_fgd.compare --trace DIR``.

Tasks of the openb trace arrive one by one in random order, some repeatedly, until they request more than all
GPUs of the cluster. Each is scheduled when it arrives, and rejected if it fits nowhere. No task ends.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from attrs import define, field, frozen

from schedframe import InMemoryCluster, Registry, Scheduler, VirtualClock

from .args import DEVICE
from .plugin import FGD
from .strategies import BestFit, DotProduct
from .trace import RESOURCE, Task, Trace, inflated, make_pod, read_trace, task_types

VARIABLE: Final = "OPENB_TRACE"
_RESOURCES: Final = [{"name": "cpu", "weight": 1}, {"name": RESOURCE, "weight": 1}]


@frozen
class Strategy:
    """A strategy: the score plugins that choose a node, and the rule that chooses a device on it."""

    devices: str
    scorers: dict[str, int] = field(factory=dict)
    """Plugin → weight."""
    allocated: str = ""
    """Scoring strategy of NodeResourcesFit, if that is one of the plugins."""


_FIT: Final = "NodeResourcesFit"
STRATEGIES: Final[dict[str, Strategy]] = {
    "random": Strategy("first"),
    "least allocated": Strategy("emptiest", {_FIT: 1}, "LeastAllocated"),
    "dot product": Strategy("fullest", {"DotProduct": 1}),
    "most allocated": Strategy("fullest", {_FIT: 1}, "MostAllocated"),
    "best fit": Strategy("fullest", {"BestFit": 1}),
    "FGD alone": Strategy("fragmentation", {"FGD": 1}),
    "FGD": Strategy("fragmentation", {"FGD": 100, "BestFit": 1}),
}
"""The last one uses FGD, and best fit for nodes with equal FGD scores."""


@define
class Outcome:
    """Result of one run."""

    unallocated: dict[int, float]
    """Percent of the GPUs requested so far → percent of the GPUs not allocated."""
    placed: int = 0
    rejected: int = 0
    seconds: float = 0.0


def configuration(strategy: Strategy, trace: Trace, scale: int) -> dict[str, Any]:
    """Return a profile that filters by resources, models and devices, and scores only by the strategy."""
    tasks = [
        {"cpuMilli": t.cpu_milli, "gpuMilli": t.gpu_milli, "models": list(t.models), "weight": t.weight}
        for t in task_types(trace.tasks)
    ]
    args: dict[str, dict[str, Any]] = {
        "FGD": {"tasks": tasks, "deviceChoice": strategy.devices, "scale": scale},
    }
    if strategy.allocated:
        args[_FIT] = {"scoringStrategy": {"type": strategy.allocated, "resources": _RESOURCES}}
    off = [{"name": "*"}]
    scorers = [{"name": name, "weight": weight} for name, weight in strategy.scorers.items()]

    def point(*names: str) -> dict[str, Any]:
        return {"disabled": off, "enabled": [{"name": name} for name in names]}

    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"disabled": off},
                    "queueSort": point("PrioritySort"),
                    "preFilter": point("NodeAffinity", "NodeResourcesFit"),
                    "filter": point("NodeAffinity", "NodeResourcesFit", "FGD"),
                    "preScore": point(*([_FIT] if strategy.allocated else [])),
                    "score": {"disabled": off, "enabled": scorers},
                    "reserve": point("FGD"),
                    "preBind": point("FGD"),
                    "bind": point("DefaultBinder"),
                },
                "pluginConfig": [{"name": name, "args": value} for name, value in args.items()],
            }
        ],
    }


def run(
    trace: Trace, strategy: Strategy, tasks: Sequence[Task], *, seed: int, scale: int = DEVICE
) -> Outcome:
    """Schedule *tasks* one after another on the empty cluster."""
    start = time.process_time()
    cluster = InMemoryCluster(trace.nodes, clock=VirtualClock(), event_capacity=0)
    registry = Registry.installed()
    for name, plugin in {"FGD": FGD, "BestFit": BestFit, "DotProduct": DotProduct}.items():
        if name not in registry:
            registry.register(name, plugin)
    scheduler = Scheduler(
        cluster,
        configuration(strategy, trace, scale),
        registry=registry,
        clock=VirtualClock(),
        seed=seed,
    )
    outcome = Outcome({})
    requested = allocated = 0
    for number, task in enumerate(tasks):
        pod = cluster.create(make_pod(number, task))
        scheduler.run_until_idle()
        requested += task.gpu_milli
        placed = cluster.get("Pod", pod.key)
        if placed is not None and placed.spec.node_name:
            allocated += task.gpu_milli
            outcome.placed += 1
        else:
            cluster.delete("Pod", pod.key)
            outcome.rejected += 1
        outcome.unallocated[100 * requested // trace.capacity] = 100 - 100 * allocated / trace.capacity
    scheduler.close()
    outcome.seconds = time.process_time() - start
    return outcome


def installed() -> set[str]:
    """Return the plugins whose package is installed, which need not be registered."""
    from importlib.metadata import entry_points

    return {entry.name for entry in entry_points(group="schedframe.plugins")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table of strategies by requested share of the GPUs."""
    options = _parse(arguments)
    try:
        trace = read_trace(options.trace, options.pods)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"compare: cannot read the trace: {error}")
    chosen = options.strategy or list(STRATEGIES)
    at = [percent for percent in (80, 90, 100, 110, 120, 130) if percent <= round(100 * options.ratio)]
    print(f"{len(trace.nodes)} nodes, {trace.capacity // DEVICE} GPUs, {len(trace.tasks)} tasks to draw from")
    print(f"\nunallocated GPUs (%) {' ' * 3} at the requested share of the GPUs (%)")
    print(f"{'':18}{''.join(f'{percent:>8}' for percent in at)}{'tasks':>8}{'CPU s':>8}")
    for name in chosen:
        outcomes = [
            run(
                trace,
                STRATEGIES[name],
                inflated(trace, options.ratio, Random(seed)),
                seed=seed,
                scale=options.scale,
            )
            for seed in range(options.seed, options.seed + options.runs)
        ]
        print(_line(name, outcomes, at), flush=True)


def _line(name: str, outcomes: Sequence[Outcome], at: Sequence[int]) -> str:
    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    cells = "".join(f"{mean([_last(outcome, percent) for outcome in outcomes]):>8.2f}" for percent in at)
    tasks = sum(outcome.placed + outcome.rejected for outcome in outcomes)
    return f"{name:18}{cells}{tasks:>8}{sum(outcome.seconds for outcome in outcomes):>8.1f}"


def _last(outcome: Outcome, percent: int) -> float:
    """Return the unallocated share when *percent* of the GPUs had been requested."""
    reached = [share for share in outcome.unallocated if share <= percent]
    return outcome.unallocated[max(reached)] if reached else 100.0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m schedframe_fgd.compare", description=__doc__)
    folder = os.environ.get(VARIABLE)
    parser.add_argument(
        "--trace",
        type=Path,
        default=folder,
        required=not folder,
        help=f"folder with openb_node_list_*.csv and openb_pod_list_*.csv (default: ${VARIABLE})",
    )
    parser.add_argument(
        "--pods", default="default", help="which pod list: default, gpushare40, multigpu20, …"
    )
    parser.add_argument(
        "--ratio", type=float, default=1.3, help="stop when this share of the GPUs has been requested"
    )
    parser.add_argument("--runs", type=int, default=1, help="runs with different orders; the mean is shown")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--scale", type=int, default=DEVICE, help="FGD's scale")
    parser.add_argument(
        "--strategy", action="append", choices=list(STRATEGIES), help="only these; all by default"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
