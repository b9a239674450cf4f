"""The common normalisations, as data: the framework can then update the scores of single rows."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from .._base.checked import check_arguments

MIN_SCORE = 0
MAX_SCORE = 100

Scores = npt.NDArray[np.int64]


class Normalization(Enum):
    """Function from the raw scores of a plugin to scores from 0 to 100.

    A plugin that declares one (class attribute ``normalization``) has no normalize_scores hook. The result
    for one row then depends on that row and on the highest raw score alone, which the framework can keep
    track of.
    """

    BY_MAX = "by-max"
    """``raw * 100 // highest``; all zeros stay zero."""
    BY_MAX_REVERSED = "by-max-reversed"
    """``100 - raw * 100 // highest``; all zeros become 100."""

    @property
    def of_zeros(self) -> int:
        """Return the score of each node if all are zero."""
        return MAX_SCORE if self is Normalization.BY_MAX_REVERSED else 0

    def apply(self, scores: Scores) -> Scores:
        """Normalise in place and return *scores*."""
        return normalize_by_max(scores, reverse=self is Normalization.BY_MAX_REVERSED)

    def scaled(self, scores: Scores, highest: int) -> Scores:
        """Return a normalised copy of *scores*, none of which is negative; *highest* is the highest one."""
        scaled = scores * MAX_SCORE // highest if highest else np.zeros_like(scores)
        return MAX_SCORE - scaled if self is Normalization.BY_MAX_REVERSED else scaled


def normalize_by_max(scores: Scores, *, reverse: bool = False) -> Scores:
    """Scale to 0…100 by the highest score, in place; *reverse* gives the highest score 0.

    If no score is positive they stay, or all become 100 when reversed. Integers, truncated; int64 only.
    Source of the rule: the reference's helper.DefaultNormalizeScore.
    """
    try:
        highest = int(scores.max()) if len(scores) else 0
    except (AttributeError, TypeError):
        check_arguments(normalize_by_max, scores)
        raise
    if highest <= 0:
        if reverse:
            scores[:] = MAX_SCORE
        return scores
    np.multiply(scores, MAX_SCORE, out=scores)
    _truncated(scores, highest)
    if reverse:
        np.subtract(MAX_SCORE, scores, out=scores)
    return scores


def _truncated(scores: Scores, divisor: int) -> Scores:
    """Divide in place by a positive number, rounding towards zero as Go does."""
    if scores.min() < 0:
        np.copyto(scores, np.sign(scores) * (np.abs(scores) // divisor))
        return scores
    return np.floor_divide(scores, divisor, out=scores)
