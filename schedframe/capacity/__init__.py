"""Questions about the room in a cluster, each answered by the scheduler itself in a fork."""

from __future__ import annotations

from .advice import Obstacle
from .fit import CapacityFit, fit
from .loss import CapacityLoss, DomainLoss, LostPod, loss

__all__ = [
    "CapacityFit",
    "CapacityLoss",
    "DomainLoss",
    "LostPod",
    "Obstacle",
    "fit",
    "loss",
]
