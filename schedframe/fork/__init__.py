"""Trials: a copy of a scheduler and its cluster to try things out in."""

from __future__ import annotations

from .diff import Diff, ObjectChange, Outcome, PodChange
from .fit import Fit
from .fork import Fork
from .freezing import freeze, thaw
from .placements import Placement, Placements
from .trial import Trial

__all__ = [
    "Diff",
    "Fit",
    "Fork",
    "ObjectChange",
    "Outcome",
    "Placement",
    "Placements",
    "PodChange",
    "Trial",
    "freeze",
    "thaw",
]
