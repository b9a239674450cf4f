"""Layouts of Go's time package, which write the time Mon Jan 2 15:04:05 2006 in the wanted format."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

RFC3339: Final = "2006-01-02T15:04:05Z07:00"

_DIRECTIVES: Final = {
    "January": "%B",
    "Monday": "%A",
    "2006": "%Y",
    "Z07:00": "%z",
    "-07:00": "%z",
    "Z0700": "%z",
    "-0700": "%z",
    "Jan": "%b",
    "Mon": "%a",
    "01": "%m",
    "02": "%d",
    "15": "%H",
    "03": "%I",
    "04": "%M",
    "05": "%S",
    "06": "%y",
    "PM": "%p",
}
_TOKENS: Final = re.compile("|".join(map(re.escape, _DIRECTIVES)) + r"|[.,][09]+|\d+|%")
_FRACTION: Final = re.compile(r"(?<=:\d\d)[.,]\d+")


@lru_cache(maxsize=64)
def python_format(layout: str) -> str:
    """Return the ``strptime`` format of *layout*. Raises ``ValueError`` for an invalid layout.

    Fractions of a second are ignored, since scores have a resolution of one second.
    """

    def directive(match: re.Match[str]) -> str:
        text = match[0]
        if text in _DIRECTIVES:
            return _DIRECTIVES[text]
        if text == "%":
            return "%%"
        if text[0] in ".,":
            return ""
        raise ValueError(f"has {text!r}, which stands for nothing; layouts show Jan 2 2006 as 2006-01-02")

    result = _TOKENS.sub(directive, layout)
    if "%Y" not in result and "%y" not in result:
        raise ValueError("has no year; layouts show it as 2006")
    return result


def seconds(text: str, layout: str) -> int | None:
    """Return seconds since the epoch (default zone UTC); ``None`` if *text* does not match *layout*."""
    try:
        moment = datetime.strptime(_FRACTION.sub("", text), python_format(layout))
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
