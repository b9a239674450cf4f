"""Carry out a template and work out its figures."""

from __future__ import annotations

from math import ceil

from ..cluster import InMemoryCluster
from ..config import KubeSchedulerConfiguration
from ..cycle import Scheduler
from ..errors import InputError
from .memory import peak_rss_mb
from .templates import TEMPLATES, Figures, Size, Template
from .workload import Arena, Options, Progress


def run(name: str, options: Options, progress: Progress = lambda what: None) -> Figures:
    """The figures of the template *name*; :class:`InputError` if there is none.

    The machine's clock is used, and as much memory and time as the workload takes.
    """
    template = TEMPLATES.get(name)
    if template is None:
        raise InputError("--template", f"there is no template {name}", f"use one of {', '.join(TEMPLATES)}")
    size = template.size.with_options(options)
    _check(size, options)
    figures: Figures = {"template": name}
    if template.own is not None:
        figures |= template.own(size, progress)
    else:
        figures |= _scheduling(template, size, options, progress)
    figures["rss_mb"] = peak_rss_mb()
    return figures


def _check(size: Size, options: Options) -> None:
    for name, value in (("--nodes", size.nodes), ("--init", size.init), ("--pods", size.pods)):
        if value < 0:
            raise InputError(name, f"{value} is negative", "give a number from 0")
    if options.percentage is not None and not 0 <= options.percentage <= 100:
        raise InputError(
            "--percentage", f"{options.percentage} is no percentage", "give a number from 0 to 100"
        )


def _scheduling(template: Template, size: Size, options: Options, progress: Progress) -> Figures:
    """Run the operations against a scheduler with the default profile."""
    assert template.operations is not None
    cluster = InMemoryCluster()
    with Scheduler(
        cluster,
        KubeSchedulerConfiguration(percentage_of_nodes_to_score=options.percentage),
        seed=options.seed,
        score_all_nodes=options.percentage is None,
    ) as scheduler:
        arena = Arena(cluster, scheduler, progress)
        for operation in template.operations(size):
            operation.run(arena)
        return _figures(arena, size, options)


def _figures(arena: Arena, size: Size, options: Options) -> Figures:
    measured = arena.measured
    scheduled = sum(1 for pod in arena.cluster.list("Pod") if pod.spec.node_name) - size.init
    seconds = measured.elapsed / 1e9
    cycles = sorted(measured.attempts)
    return {
        "nodes": size.nodes,
        "init": size.init,
        "pods": measured.pods,
        "scheduled": scheduled,
        "unschedulable": measured.pods - scheduled,
        "attempts": len(cycles),
        "seconds": round(seconds, 6),
        "cpu_seconds": round(measured.cpu / 1e9, 6),
        "pods_per_s": _rate(scheduled, seconds),
        "attempts_per_s": _rate(len(cycles), seconds),
        "p50_us": _percentile(cycles, 50),
        "p99_us": _percentile(cycles, 99),
        "seed": options.seed,
        "percentage": options.percentage,
    }


def _rate(count: int, seconds: float) -> float:
    return round(count / seconds, 1) if seconds else 0.0


def _percentile(ascending: list[int], percent: int) -> float | None:
    """Microseconds within which *percent* of the cycles were done (nearest rank); ``None`` of none."""
    if not ascending:
        return None
    return round(ascending[ceil(len(ascending) * percent / 100) - 1] / 1e3, 1)
