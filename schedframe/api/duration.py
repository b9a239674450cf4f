"""Durations, exact to the nanosecond, in the notation of Go (``1m30s``)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Final

from .._base.annotations import Instead
from .._base.brief import shown
from .._base.checked import checked
from .._base.validators import number
from .._base.value import value
from .._base.wording import described

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]+)", re.ASCII)
_LIMIT: Final = 2**63
_FRACTION_LIMIT: Final = (_LIMIT - 1) // 10
_FROM_TEXT: Final = Instead(lambda value: f"an int of nanoseconds, or Duration.parse({described(value)})")


@value(order=True)
class Duration:
    """A span of time in whole ``nanoseconds``, possibly negative.

    ``str()`` gives Go's form (``10m0s``), :meth:`parse` reads it; the two are inverse to each other.
    """

    nanoseconds: Annotated[int, _FROM_TEXT] = 0

    @classmethod
    @checked
    def parse(cls, text: str) -> Duration:
        """Read ``300ms``, ``-1.5h`` or ``2h45m``; ValueError for anything else and beyond 292 years."""
        return _parse(text)

    @classmethod
    @checked
    def of(cls, seconds: float) -> Duration:
        """Return the duration of *seconds*, rounded to the nearest nanosecond."""
        number("seconds", seconds, "give a finite number")
        return cls(round(seconds * 1_000_000_000))

    @property
    def seconds(self) -> float:
        """Return the seconds; inexact beyond 104 days."""
        return self.nanoseconds / 1_000_000_000

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __str__(self) -> str:
        return _format(self.nanoseconds)


@lru_cache(maxsize=256)
def _parse(text: str) -> Duration:
    body = text[1:] if text[:1] in ("-", "+") else text
    if body == "0":
        return Duration()
    total = 0
    position = 0
    while position < len(body) or not body:
        match = _PART.match(body, position)
        if match is None or not (match[1] or match[2]):
            raise ValueError(
                f'{shown(text)} is not a duration; write a number with a unit, as in "10s" or "1m30s"'
            )
        unit = _NANOSECONDS.get(match[3])
        if unit is None:
            raise ValueError(f"{shown(text)} has no unit {shown(match[3])}; use ns, us, ms, s, m or h")
        total += int(match[1] or 0) * unit + _fraction(match[2] or "", unit)
        position = match.end()
    if total > _LIMIT - (text[:1] != "-"):
        raise ValueError(f"{shown(text)} is longer than 292 years; use a shorter duration")
    return Duration(-total if text[:1] == "-" else total)


def _fraction(digits: str, unit: int) -> int:
    """Digits after the point in nanoseconds, truncated, as Go does: with the digits that fit int64."""
    value, scale = 0, 1.0
    for digit in digits:
        if value > _FRACTION_LIMIT or value * 10 + int(digit) > _LIMIT:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return int(float(value) * (float(unit) / scale))


def _format(nanoseconds: int) -> str:
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if rest < size * 1_000 and rest < _NANOSECONDS["s"]:
            return f"{sign}{_decimal(rest, size)}{unit}"
    minutes, rest = divmod(rest, _NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    prefix = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{prefix}{_decimal(rest, _NANOSECONDS['s'])}s"


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(size)) - 1}d}".rstrip("0")
