"""Raw scores of a plugin whose normalisation depends on the highest of them alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ..framework import MAX_SCORE, Normalization
from ..framework.plan import ScoreEntry

Column = npt.NDArray[np.int64]


@define(eq=False)
class Normalized:
    """Raw scores of the rows, and how many feasible rows have which."""

    entry: ScoreEntry
    how: Normalization
    node_only: bool
    """Whether the raw score of a row depends on the node object alone."""
    raw: Column
    counts: dict[int, int] = field(factory=dict)
    """Raw score → feasible rows that have it."""
    moved: bool = False
    """Whether rows were counted since the last totals."""
    highest: int = 0
    """The highest raw score of a feasible row, as of the last totals."""

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
        values, counts = np.unique(self.raw[positions], return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self.count(value, sign * count)

    def present_highest(self) -> int:
        """The highest raw score of a feasible row now."""
        return max(self.counts, default=0)

    def weighted(self, raw: int) -> int:
        """Normalised and weighted score of a row."""
        if self.highest == 0:
            score = MAX_SCORE if self.how is Normalization.BY_MAX_REVERSED else 0
        else:
            score = raw * MAX_SCORE // self.highest
            if self.how is Normalization.BY_MAX_REVERSED:
                score = MAX_SCORE - score
        return score * self.entry.weight

    def weighted_rows(self, raw: Column, highest: int) -> Column:
        """As :meth:`weighted` for many rows of which *highest* is the highest; a fresh array."""
        return self.how.scaled(raw, highest) * self.entry.weight
