"""Questions about the room in a cluster, each answered by the scheduler itself in a fork."""

from __future__ import annotations

from .advice import Obstacle
from .blocking import Block, BlockKind
from .configurations import (
    Amount,
    ConfigurationComparison,
    ConfigurationRun,
    PlacedOtherwise,
    compare_configurations,
)
from .drain import CapacityDrain, DrainStep, drain
from .fit import CapacityFit, fit
from .loss import CapacityLoss, DomainLoss, LostPod, loss

__all__ = [
    "Amount",
    "Block",
    "BlockKind",
    "CapacityDrain",
    "CapacityFit",
    "CapacityLoss",
    "ConfigurationComparison",
    "ConfigurationRun",
    "DomainLoss",
    "DrainStep",
    "LostPod",
    "Obstacle",
    "PlacedOtherwise",
    "compare_configurations",
    "drain",
    "fit",
    "loss",
]
