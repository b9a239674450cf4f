"""Delays of failed tasks."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from numbers import Real

from attrs import Attribute, field

from .._base.brief import shown
from .._base.value import value
from ..errors import InputError

Retry = Callable[[int], float]
"""``retry(failures)``: seconds to wait after the n-th failure of a task, finite and not below 0."""


def checked_seconds(seconds: object, path: str) -> float:
    """Return *seconds* as a float. Raises :class:`InputError` unless it is a finite number, 0 or more."""
    try:
        if not isinstance(seconds, Real) or isinstance(seconds, bool) or not (value := float(seconds)) >= 0:
            raise InputError(path, f"{shown(seconds)} is not a number of seconds", "give 0 or more")
    except OverflowError:  # a whole number, which may have more digits than Python writes
        raise InputError(path, "the number of seconds is larger than any float", "give fewer") from None
    if not isfinite(value):
        raise InputError(path, f"{shown(seconds)} seconds never end", "finish the task to give it up")
    return value


def _check_seconds(owner: object, attribute: Attribute[float], seconds: float) -> None:
    checked_seconds(seconds, attribute.name)


@value
class Backoff:
    """Seconds to wait after the n-th failure of a task: ``initial``, doubled each time, up to ``longest``."""

    initial: float = field(default=1.0, validator=_check_seconds)
    longest: float = field(default=60.0, validator=_check_seconds)

    def __call__(self, failures: int) -> float:
        """Return the seconds."""
        return min(self.longest, self.initial * 2.0 ** min(failures - 1, 60))
