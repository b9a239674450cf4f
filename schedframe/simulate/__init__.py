"""Evaluate and schedule pods without a cluster."""

from __future__ import annotations

from ..fork.dry_run import DryRunCluster
from ..fork.placements import Placement, Placements
from .cycle_report import CycleReport
from .evaluation import Evaluation
from .hints import HintAnswer, queueing_hint
from .simulation import Simulation, evaluate

__all__ = [
    "CycleReport",
    "DryRunCluster",
    "Evaluation",
    "HintAnswer",
    "Placement",
    "Placements",
    "Simulation",
    "evaluate",
    "queueing_hint",
]
