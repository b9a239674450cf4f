"""Run a workload of scheduler_perf and work out its figures."""

from __future__ import annotations

from pathlib import Path

from ...config import EffectiveConfig, KubeSchedulerConfiguration, load_config
from ...config.feature_gates import FEATURE_GATES, GateSupport
from ...framework import Registry
from ..measurement import Figures, Measurement
from ..memory import peak_rss_mb
from ..options import Options, Progress, no_progress
from ..runner import WorkloadDefinition, WorkloadRunner
from .definitions import Workload
from .operations import operations_of


def run_workload(workload: Workload, options: Options, progress: Progress = no_progress) -> Figures:
    """Return the figures of *workload*. Of *options* seed, percentage and metrics have an effect.

    ``pods_per_s`` is what scheduler_perf calls throughput: measured pods that got a node, by the time that
    passed, waits included. Operations that cannot be carried out and pods that are never scheduled are
    reported in the figures. Raises :class:`InputError` for definitions that make no sense.
    """
    registry = Registry.installed()
    definition = WorkloadDefinition(
        operations_of(workload, frozenset(registry)),
        _config(workload, options, registry),
        score_all_nodes="auto" if options.percentage is None else False,
        registry=registry,
        feature_gates=_switched(workload),
    )
    outcome = WorkloadRunner(options.seed, progress, options.metrics).run(definition)
    return {
        "workload": workload.full_name,
        "nodes": len(outcome.cluster.list("Node")),
        **_figures(outcome.measurement, workload),
        **outcome.problems,
        "seed": options.seed,
        "percentage": options.percentage,
        "metrics": options.metrics,
        "ignored": [
            f"{gate}={str(on).lower()}"
            for gate, on in sorted(workload.feature_gates.items())
            if gate not in _switched(workload)
        ],
        "rss_mb": peak_rss_mb(),
    }


def _switched(workload: Workload) -> dict[str, bool]:
    """Return the feature gates of the workload that take effect here."""
    return {
        name: on
        for name, on in workload.feature_gates.items()
        if name in FEATURE_GATES and FEATURE_GATES[name].support is GateSupport.SWITCHABLE
    }


def _config(workload: Workload, options: Options, registry: Registry) -> EffectiveConfig:
    given: Path | KubeSchedulerConfiguration = KubeSchedulerConfiguration(
        percentage_of_nodes_to_score=options.percentage
    )
    if workload.scheduler_config is not None:
        given = workload.folder / workload.scheduler_config
    return load_config(given, catalogue=registry.full_catalogue(), feature_gates=_switched(workload))


def _figures(measurement: Measurement, workload: Workload) -> Figures:
    figures, threshold = measurement.figures(with_waits=True), workload.threshold
    figures["waited_seconds"] = round(measurement.waited / 1e9, 6)
    figures["threshold"] = threshold
    figures["ratio"] = round(figures["pods_per_s"] / threshold, 1) if threshold else None
    return figures
