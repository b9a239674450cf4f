"""Amounts of resources as the API server stores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...api import Quantity

_MILLI: Final = 10**6
"""Billionths of a thousandth."""


def rounded(amounts: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """Return *amounts* in whole thousandths, rounded up; the same mapping if they are."""
    if not any(amount.nano % _MILLI for amount in amounts.values()):
        return amounts
    return {
        name: Quantity(-(-amount.nano // _MILLI) * _MILLI, amount.format) for name, amount in amounts.items()
    }


def like(amount: Quantity, other: Quantity) -> Quantity:
    """Return *amount* in the notation of *other*; sums have lost theirs."""
    return Quantity(amount.nano, other.format)
