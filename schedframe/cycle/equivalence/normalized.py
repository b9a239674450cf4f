"""What a class of pods knows of raw scores whose normalisation depends on the highest of them alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ...framework import MAX_SCORE, Normalization
from ...state import Rows
from .node_columns import RawScores

Column = npt.NDArray[np.int64]


@define(eq=False)
class Normalized:
    """Which raw scores the feasible rows of a class have."""

    scores: RawScores
    counts: dict[int, int] = field(factory=dict)
    """Raw score → feasible rows that have it."""
    moved: bool = False
    """Whether rows were counted since the last totals."""
    highest: int = 0
    """The highest raw score of a feasible row, as of the last totals."""

    @property
    def raw(self) -> Column:
        """Raw scores by row."""
        return self.scores.raw

    def count(self, raw: int, change: int) -> None:
        """That many feasible rows more (or less) have this raw score."""
        self.moved = True
        left = self.counts.get(raw, 0) + change
        if left:
            self.counts[raw] = left
        else:
            del self.counts[raw]

    def count_rows(self, positions: npt.NDArray[np.intp], sign: int) -> None:
        """These feasible rows come (1) or go (-1); O(rows)."""
        raw = self.raw[positions]
        if not len(raw):
            return
        if not raw.any():
            self.count(0, sign * len(raw))
            return
        values, counts = np.unique(raw, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self.count(value, sign * count)

    def recount(self, feasible: Rows) -> None:
        """These are all feasible rows; O(rows)."""
        self.counts.clear()
        if self.raw.any():
            self.count_rows(feasible.positions, 1)
        elif len(feasible):
            self.counts[0] = len(feasible)
        self.moved = True

    def present_highest(self) -> int:
        """The highest raw score of a feasible row now."""
        return max(self.counts, default=0)

    def weighted(self, raw: int) -> int:
        """Normalised and weighted score of a row."""
        reverse = self.scores.how is Normalization.BY_MAX_REVERSED
        score = raw * MAX_SCORE // self.highest if self.highest else 0
        return (MAX_SCORE - score if reverse else score) * self.scores.entry.weight

    def weighted_rows(self, raw: Column, highest: int) -> Column:
        """As :meth:`weighted` for many rows of which *highest* is the highest; a fresh array."""
        return self.scores.weighted_rows(raw, highest)
