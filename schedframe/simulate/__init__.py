"""Evaluate and schedule pods without a cluster."""

from __future__ import annotations

from .claim_controller import ClaimController
from .dry_run import DryRunCluster
from .evaluation import Evaluation
from .hints import HintAnswer, queueing_hint
from .placements import Placement, Placements
from .simulation import CycleReport, Simulation, evaluate

__all__ = [
    "ClaimController",
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
