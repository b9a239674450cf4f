"""Spans of time as people write them, in microseconds."""

from __future__ import annotations

import re
from typing import Final

from .._base.brief import shown
from ..errors import InputError

Span = str | int | float
"""A text with units (``90s``, ``2d12h``), or a number of seconds."""

SECOND: Final = 1_000_000
UNITS: Final = {
    "us": 1,
    "ms": 1_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3_600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 604_800 * SECOND,
}
"""Unit → microseconds."""
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s|m|h|d|w)")
_TEXT: Final = re.compile(rf"(?:{_PART.pattern})+")
_FIX: Final = "write it like 90s, 1.5h or 2d12h, or give a number of seconds"
_LONGEST: Final = 2**62


def micros(span: Span, name: str = "time") -> int:
    """Return a span of time in microseconds. Raises :class:`InputError` with the *name* of the argument."""
    if isinstance(span, str) and _TEXT.fullmatch(span):
        total = sum(round(float(number) * UNITS[unit]) for number, unit in _PART.findall(span))
    elif isinstance(span, int | float) and not isinstance(span, bool) and abs(span) < _LONGEST:
        total = round(span * SECOND)
    else:
        raise InputError(name, f"{shown(span)} is not a span of time", _FIX)
    if not 0 <= total < _LONGEST:
        raise InputError(name, f"{shown(span)} is out of range", "give a span from 0")
    return total


def spelled(time: int) -> str:
    """Return microseconds in the two largest units, such as ``2d 12h``; exact below a minute."""
    if time < 0:
        return f"-{spelled(-time)}"
    if time < UNITS["m"]:
        return f"{time / SECOND:.6g}s"
    units = [(name, UNITS[name]) for name in ("d", "h", "m", "s")]
    largest = next(index for index, (_, size) in enumerate(units) if time >= size)
    (name, size), (next_name, next_size) = units[largest], units[largest + 1]
    rest = time % size // next_size
    return f"{time // size}{name}" + (f" {rest}{next_name}" if rest else "")
