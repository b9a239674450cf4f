"""Carry out a workload of scheduler_perf and work out its figures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...api import Pod
from ...cluster import InMemoryCluster
from ...config import EffectiveConfig, KubeSchedulerConfiguration, load_config
from ...cycle import Scheduler
from ...framework import Registry, Status
from ...simulate import ClaimController
from ..clock import SkippingClock
from ..memory import peak_rss_mb
from ..run import figures_of
from ..templates import Figures
from ..workload import Options, Progress
from .definitions import Workload
from .operations import Player
from .stage import NotDeliveredError, Stage, StalledError


def run_workload(workload: Workload, options: Options, progress: Progress = lambda what: None) -> Figures:
    """The figures of *workload*; of *options* seed and percentage count.

    ``pods_per_s`` is what scheduler_perf calls throughput: measured pods that were placed, by the time that
    went by, waits included. What is not delivered, and pods never scheduled, are told and not raised.
    """
    registry = Registry.installed()
    clock, faults = SkippingClock(), []  # type: SkippingClock, list[str]
    cluster = InMemoryCluster(clock=clock.now)

    def on_fault(status: Status, pod: Pod | None) -> None:
        faults.append(f"{status.plugin or 'scheduler'}: {status.message}")

    figures: Figures = {"workload": workload.full_name}
    with (
        _quiet(),
        Scheduler(
            cluster,
            _config(workload, options, registry),
            registry=registry,
            clock=clock.now,
            seed=options.seed,
            score_all_nodes="auto" if options.percentage is None else False,
            on_fault=on_fault,
        ) as scheduler,
    ):
        ClaimController(cluster)
        stage = Stage(cluster, scheduler, clock, progress)
        problem = _play(Player(workload, stage, frozenset(registry)))
        figures["nodes"] = len(cluster.list("Node"))
    figures |= _figures(stage, workload)
    if problem is not None:
        figures |= problem
    if faults:
        figures |= {"faults": len(faults), "fault": faults[0]}
    return figures | {
        "seed": options.seed,
        "percentage": options.percentage,
        "ignored": [f"{gate}={str(on).lower()}" for gate, on in sorted(workload.feature_gates.items())],
        "rss_mb": peak_rss_mb(),
    }


def _play(player: Player) -> dict[str, str] | None:
    """What kept the workload from being carried out, if anything did."""
    try:
        player.play()
    except NotDeliveredError as error:
        return {"not_delivered": str(error)}
    except StalledError as error:
        return {"stalled": str(error)}
    return None


def _config(workload: Workload, options: Options, registry: Registry) -> EffectiveConfig:
    given: Path | KubeSchedulerConfiguration = KubeSchedulerConfiguration(
        percentage_of_nodes_to_score=options.percentage
    )
    if workload.scheduler_config is not None:
        given = workload.folder / workload.scheduler_config
    return load_config(given, catalogue=registry.full_catalogue())


def _figures(stage: Stage, workload: Workload) -> Figures:
    collection = stage.collection
    placed = collection.placed if collection is not None else 0
    created = collection.created if collection is not None else 0
    figures = figures_of(stage.measured, max(created, placed), placed)
    figures["waited_seconds"] = round(stage.waited / 1e9, 6)
    figures["threshold"] = workload.threshold
    figures["ratio"] = round(figures["pods_per_s"] / workload.threshold, 1) if workload.threshold else None
    return figures


@contextmanager
def _quiet() -> Iterator[None]:
    """Faults are figures here, and not lines of a log."""
    logger = logging.getLogger("schedframe")
    handler, propagates = logging.NullHandler(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = propagates
        logger.removeHandler(handler)
