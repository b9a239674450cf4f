"""Run a template and work out its figures."""

from __future__ import annotations

from typing import Any

from ..api import DEFAULT_SCHEDULER_NAME
from ..errors import InputError
from .measurement import Figures
from .memory import peak_rss_mb
from .options import Options, Progress, Size, no_progress
from .runner import WorkloadDefinition, WorkloadRunner
from .templates import TEMPLATES, Template


def run(name: str, options: Options, progress: Progress = no_progress) -> Figures:
    """Return the figures of the template *name*.

    It takes the memory and time that the size needs. Raises :class:`InputError` for an unknown template and
    for numbers out of range.
    """
    template = TEMPLATES.get(name)
    if template is None:
        raise InputError("--template", f"there is no template {name}", f"use one of {', '.join(TEMPLATES)}")
    size = template.size.with_options(options)
    check(size, options)
    figures: Figures = {"template": name}
    if template.measure is not None:
        if options.metrics:
            raise InputError("--metrics", f"{name} measures without metrics", "leave it out")
        figures |= template.measure(size, progress)
    else:
        figures |= _scheduling_figures(template, size, options, progress)
    figures["rss_mb"] = peak_rss_mb()
    return figures


def check(size: Size, options: Options) -> None:
    """Raise :class:`InputError` for numbers out of range."""
    for name, value in (("--nodes", size.nodes), ("--init", size.init), ("--pods", size.pods)):
        if value < 0:
            raise InputError(name, f"{value} is negative", "give a number from 0")
    if options.percentage is not None and not 0 <= options.percentage <= 100:
        raise InputError(
            "--percentage", f"{options.percentage} is no percentage", "give a number from 0 to 100"
        )


def _scheduling_figures(template: Template, size: Size, options: Options, progress: Progress) -> Figures:
    assert template.operations is not None
    definition = WorkloadDefinition(
        template.operations(size),
        _config(template, options),
        score_all_nodes=options.percentage is None,
        plugins=template.plugins,
        feature_gates=template.feature_gates,
    )
    outcome = WorkloadRunner(options.seed, progress, options.metrics).run(definition)
    figures: Figures = {"nodes": size.nodes, "init": size.init}
    figures |= outcome.measurement.figures(with_waits=False)
    figures |= outcome.problems
    return figures | {
        "seed": options.seed,
        "percentage": options.percentage,
        "metrics": options.metrics,
    }


def _config(template: Template, options: Options) -> dict[str, Any]:
    """Return the default profile with the plugins of the template."""
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
