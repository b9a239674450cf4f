"""Integers as the reference computes them: 64 bits, division that drops the fraction."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
Whole = npt.NDArray[np.float64]
"""Whole numbers kept as floats, which divide several times faster."""

EXACT: Final = 1 << 46
"""Below this a percentage may be taken in floats and is exact.

100 x 2**46 is an exact float, and a quotient of at most 100 that is no integer is at least 2**-46 away from
the next one, which is more than the rounding error of the division.
"""
_PERCENT: Final = 100
_WRAP: Final = 1 << 64
_HALF: Final = 1 << 63
"""Where an int64 of Go wraps around."""


def percent(part: int, whole: int) -> int:
    """``part * 100 / whole`` for 0 <= part <= whole, whole > 0; the product wraps at 64 bits as in Go."""
    if whole < EXACT:
        return part * _PERCENT // whole
    product = (part * _PERCENT + _HALF) % _WRAP - _HALF
    return product // whole if product >= 0 else -(-product // whole)


def percents(part: Column, whole: Column) -> Whole:
    """:func:`percent` of each row, and 0 where *whole* is 0. O(rows)."""
    if len(whole) and int(whole.max()) >= EXACT:
        return _wrapping_percents(part, whole)
    quotients = part.astype(np.float64)
    quotients *= _PERCENT
    divisors = whole.astype(np.float64)
    if len(divisors) and not divisors.min():
        np.maximum(divisors, 1, out=divisors)
    quotients /= divisors
    return np.floor(quotients, out=quotients)


def _wrapping_percents(part: Column, whole: Column) -> Whole:
    product = part * np.int64(_PERCENT)
    divisors = np.maximum(whole, 1)
    quotients = product // divisors
    quotients += (product < 0) & (quotients * divisors != product)
    return quotients.astype(np.float64)
