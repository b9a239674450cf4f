"""Amounts of resources as the API server stores them."""

from __future__ import annotations

from collections.abc import Mapping

from ...api import Quantity


def rounded(amounts: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """Return *amounts* in whole thousandths, rounded up; the same mapping if they are."""
    stored = {name: amount.in_thousandths() for name, amount in amounts.items()}
    return amounts if all(stored[name] is amount for name, amount in amounts.items()) else stored


def like(amount: Quantity, other: Quantity) -> Quantity:
    """Return *amount* in the notation of *other*; sums have lost theirs."""
    return Quantity(amount.nano, other.format)
