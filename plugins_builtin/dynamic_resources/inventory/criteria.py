"""The part of a request that decides whether a single device matches, as a key of caches."""

from __future__ import annotations

from functools import lru_cache

from attrs import frozen

from schedframe import Quantity
from schedframe.api import DeviceToleration


@frozen(cache_hash=True)
class DeviceCriteria:
    """All conditions of a request on a single device."""

    expressions: tuple[str, ...]
    tolerations: tuple[DeviceToleration, ...]
    capacity: frozenset[tuple[str, Quantity]]
    admin: bool


@lru_cache(maxsize=256)
def interned(criteria: DeviceCriteria) -> DeviceCriteria:
    """Return one object for equal criteria, so that later comparisons are by identity."""
    return criteria
