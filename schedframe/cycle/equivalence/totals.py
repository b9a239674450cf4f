"""Which of some feasible rows are the best, by the totals that a class remembers of all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...state import Rows
from .equivalence_class import PodClass
from .live_answers import Mask

Column = npt.NDArray[np.int64]


def totals_of(found: PodClass, rows: Rows) -> Column:
    """Totals of some of the feasible rows, normalised over just them; not to be changed."""
    totals = rows.take(found.maxima.values)
    for column in found.normalized:
        if not column.highest:
            continue
        raw = rows.take(column.raw)
        highest = int(raw.max())
        if highest != column.highest:
            change = column.weighted_rows(raw, highest) - column.weighted_rows(raw, column.highest)
            totals = totals + change
    return totals


def best_where(found: PodClass, rows: Rows, mask: Mask) -> Mask:
    """Which of *rows* are the best of those feasible ones at which *mask* is true."""
    if not any(column.highest for column in found.normalized):
        # Most often the best of all is among them: two passes, and no column is picked apart.
        tied: Mask = rows.take(found.maxima.values) == found.maxima.top()
        tied &= mask
        if np.count_nonzero(tied):  # half of what any() costs
            return tied
    chosen = mask.nonzero()[0]
    totals = totals_of(found, rows.select(chosen))
    best = np.zeros(len(mask), np.bool_)
    best[chosen[totals == totals.max()]] = True
    return best
