"""Questions about the room in a cluster, each answered by the scheduler itself in a fork."""

from __future__ import annotations

from .advice import Obstacle
from .blocking import Block, BlockKind
from .drain import CapacityDrain, DrainStep, drain
from .fit import CapacityFit, fit
from .loss import CapacityLoss, DomainLoss, LostPod, loss

__all__ = [
    "Block",
    "BlockKind",
    "CapacityDrain",
    "CapacityFit",
    "CapacityLoss",
    "DomainLoss",
    "DrainStep",
    "LostPod",
    "Obstacle",
    "drain",
    "fit",
    "loss",
]
