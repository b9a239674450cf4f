"""Carry out a template and work out its figures."""

from __future__ import annotations

from math import ceil
from typing import Any

from ..api import DEFAULT_SCHEDULER_NAME
from ..cluster import InMemoryCluster
from ..cycle import Scheduler
from ..errors import InputError
from .clock import SkippingClock
from .memory import peak_rss_mb
from .sizes import Size
from .templates import TEMPLATES, Figures, Template
from .workload import Arena, Measured, Options, Progress


def run(name: str, options: Options, progress: Progress = lambda what: None) -> Figures:
    """The figures of the template *name*; :class:`InputError` if there is none.

    The machine's clock is used, and as much memory and time as the workload takes.
    """
    template = TEMPLATES.get(name)
    if template is None:
        raise InputError("--template", f"there is no template {name}", f"use one of {', '.join(TEMPLATES)}")
    size = template.size.with_options(options)
    check(size, options)
    figures: Figures = {"template": name}
    if template.own is not None:
        figures |= template.own(size, progress)
    else:
        figures |= _scheduling(template, size, options, progress)
    figures["rss_mb"] = peak_rss_mb()
    return figures


def check(size: Size, options: Options) -> None:
    """Raises :class:`InputError` for numbers that mean nothing."""
    for name, value in (("--nodes", size.nodes), ("--init", size.init), ("--pods", size.pods)):
        if value < 0:
            raise InputError(name, f"{value} is negative", "give a number from 0")
    if options.percentage is not None and not 0 <= options.percentage <= 100:
        raise InputError(
            "--percentage", f"{options.percentage} is no percentage", "give a number from 0 to 100"
        )


def _scheduling(template: Template, size: Size, options: Options, progress: Progress) -> Figures:
    """Run the operations against a scheduler with the default profile and the plugins of the template."""
    assert template.operations is not None
    cluster, clock = InMemoryCluster(), SkippingClock()
    with Scheduler(
        cluster,
        _config(template, options),
        plugins=template.plugins,
        clock=clock.now,
        seed=options.seed,
        score_all_nodes=options.percentage is None,
    ) as scheduler:
        arena = Arena(cluster, scheduler, clock, progress)
        for operation in template.operations(size):
            operation.run(arena)
        placed = {pod.key for pod in cluster.list("Pod") if pod.spec.node_name}
    figures: Figures = {"nodes": size.nodes, "init": size.init}
    figures |= figures_of(arena.measured, len(arena.measured.keys), len(placed & arena.measured.keys))
    return figures | {"seed": options.seed, "percentage": options.percentage}


def _config(template: Template, options: Options) -> dict[str, Any]:
    enabled = [{"name": name} for name in template.plugins]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": options.percentage,
        "profiles": [
            {
                "schedulerName": DEFAULT_SCHEDULER_NAME,
                "plugins": {"multiPoint": {"enabled": enabled}},
            }
        ],
    }


def figures_of(measured: Measured, pods: int, scheduled: int) -> Figures:
    """What every benchmark of the scheduler tells."""
    seconds, cpu = measured.elapsed / 1e9, measured.cpu / 1e9
    cycles = sorted(measured.attempts)
    return {
        "pods": pods,
        "scheduled": scheduled,
        "unschedulable": pods - scheduled,
        "attempts": len(cycles),
        "seconds": round(seconds, 6),
        "cpu_seconds": round(cpu, 6),
        "pods_per_s": rate(scheduled, seconds),
        "attempts_per_s": rate(len(cycles), seconds),
        "pods_per_cpu_s": rate(scheduled, cpu),
        "attempts_per_cpu_s": rate(len(cycles), cpu),
        "p50_us": _percentile(cycles, 50),
        "p99_us": _percentile(cycles, 99),
    }


def rate(count: int, seconds: float) -> float:
    """So many a second; 0 if no time went by."""
    return round(count / seconds, 1) if seconds else 0.0


def _percentile(ascending: list[int], percent: int) -> float | None:
    """Microseconds within which *percent* of the cycles were done (nearest rank); ``None`` of none."""
    if not ascending:
        return None
    return round(ascending[ceil(len(ascending) * percent / 100) - 1] / 1e3, 1)
