"""Integers as the reference computes them: 64 bits, division that drops the fraction."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]

EXACT: Final = 1 << 46
"""Below this a percentage may be taken in floats and is exact.

100 x 2**46 is an exact float, and a quotient of at most 100 that is no integer is at least 2**-46 away from
the next one, which is more than the rounding error of the division.
"""
_WRAP: Final = 1 << 64
_HALF: Final = 1 << 63


def percent(part: int, whole: int) -> int:
    """``part * 100 / whole`` for 0 <= part <= whole, whole > 0; the product wraps at 64 bits as in Go."""
    if whole < EXACT:
        return part * 100 // whole
    product = (part * 100 + _HALF) % _WRAP - _HALF
    return product // whole if product >= 0 else -(-product // whole)


def percents(part: Column, whole: Column) -> Column:
    """:func:`percent` of each row, and 0 where *whole* is 0; *part* is overwritten."""
    if not len(whole):
        return part
    part *= 100
    if int(whole.min()) == 0:
        whole = np.maximum(whole, 1)
    if int(whole.max()) < EXACT:
        return np.true_divide(part, whole).astype(np.int64)
    quotient = part // whole
    quotient += (part < 0) & (quotient * whole != part)
    return quotient


def truncated(numerator: npt.NDArray[Any], denominator: Any) -> Column:
    """Quotients of small integers without their fraction: towards zero, unlike ``//``."""
    quotient: Column = np.true_divide(numerator, denominator).astype(np.int64)
    return quotient
