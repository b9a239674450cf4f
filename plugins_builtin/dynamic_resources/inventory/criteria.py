"""What decides which devices are candidates for a request, in a form that is quick to look up."""

from __future__ import annotations

from functools import lru_cache

from attrs import frozen

from schedframe import Quantity
from schedframe.api import DeviceToleration


@frozen(cache_hash=True)
class Terms:
    """All that a request says about a single device."""

    expressions: tuple[str, ...]
    tolerations: tuple[DeviceToleration, ...]
    capacity: frozenset[tuple[str, Quantity]]
    admin: bool


@lru_cache(maxsize=4096)
def interned(terms: Terms) -> Terms:
    """One and the same object for equal terms, so that they are compared only once."""
    return terms
