"""Scores whose normalisation depends on the highest raw score of a feasible row alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from ...framework import MAX_SCORE, Normalization
from ...framework.plan import ScoreEntry

Column = npt.NDArray[np.int64]


@frozen(eq=False)
class RawScores:
    """Raw scores of one normalised plugin by row."""

    entry: ScoreEntry
    how: Normalization
    raw: Column

    @classmethod
    def zeros(cls, entries: tuple[ScoreEntry, ...], size: int) -> tuple[RawScores, ...]:
        """Return a column of zeros for each of the normalised plugins *entries*."""
        return tuple(
            cls(entry, entry.normalization, np.zeros(size, np.int64))
            for entry in entries
            if entry.normalization is not None
        )

    def weighted(self, raw: int, highest: int) -> int:
        """Return the normalised and weighted score of a row, where *highest* is the highest."""
        score = raw * MAX_SCORE // highest if highest else 0
        return (MAX_SCORE - score if self.how is Normalization.BY_MAX_REVERSED else score) * self.entry.weight

    def weighted_rows(self, raw: Column, highest: int) -> Column:
        """As :meth:`weighted` for many rows; a fresh array."""
        return self.how.scaled(raw, highest) * self.entry.weight
