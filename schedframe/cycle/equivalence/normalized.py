"""Scores whose normalisation depends on the highest raw score of a feasible row alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from ...framework import MAX_SCORE, Normalization
from ...framework.plan import ScoreEntry
from ...state import Rows

Column = npt.NDArray[np.int64]


@frozen(eq=False)
class RawScores:
    """Raw scores of one normalised plugin by row."""

    entry: ScoreEntry
    how: Normalization
    raw: Column

    def weighted_rows(self, raw: Column, highest: int) -> Column:
        """Normalised and weighted, where *highest* is the highest; a fresh array."""
        return self.how.scaled(raw, highest) * self.entry.weight


@define(eq=False)
class NormalizedScores:
    """The raw scores of one plugin, and how many feasible rows of a class have each of them."""

    scores: RawScores
    counts: dict[int, int] = field(factory=dict)
    """Raw score → feasible rows that have it."""
    moved: bool = False
    """Whether counts changed since the totals were computed."""
    highest: int = 0
    """The highest raw score of a feasible row when the totals were computed."""

    @property
    def raw(self) -> Column:
        """Raw scores by row."""
        return self.scores.raw

    def count(self, raw: int, change: int) -> None:
        """Count *change* more feasible rows with this raw score."""
        self.moved = True
        left = self.counts.get(raw, 0) + change
        if left:
            self.counts[raw] = left
        else:
            del self.counts[raw]

    def count_rows(self, positions: npt.NDArray[np.intp], sign: int) -> None:
        """Count these feasible rows in (1) or out (-1); O(rows)."""
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
        """Count *feasible*, all feasible rows, from the start; O(rows)."""
        self.counts.clear()
        if self.raw.any():
            self.count_rows(feasible.positions, 1)
        elif len(feasible):
            self.counts[0] = len(feasible)
        self.moved = True

    def present_highest(self) -> int:
        """The highest raw score of a feasible row now; O(distinct raw scores)."""
        return max(self.counts, default=0)

    def weighted(self, raw: int) -> int:
        """Normalised and weighted score of a row."""
        reverse = self.scores.how is Normalization.BY_MAX_REVERSED
        score = raw * MAX_SCORE // self.highest if self.highest else 0
        return (MAX_SCORE - score if reverse else score) * self.scores.entry.weight

    def weighted_rows(self, raw: Column, highest: int) -> Column:
        """As :meth:`weighted` for many rows, where *highest* is the highest; a fresh array."""
        return self.scores.weighted_rows(raw, highest)
