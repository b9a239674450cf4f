"""A guard against YAML that is nested so deeply that a parser written in C overflows its stack."""

from __future__ import annotations

import re
from typing import Final

MAX_DEPTH: Final = 5000
"""Levels of nesting that a parser may see; libyaml's composer ends the process from some 20,000 on."""

_DASHES: Final = re.compile(rf"(?:- ){{{MAX_DEPTH}}}")
_BRACKET: Final = re.compile(r"[\[\]{}]")


def is_too_deep(text: str) -> bool:
    """Return whether YAML *text* may be nested deeper than :data:`MAX_DEPTH`. O(length).

    Nesting by indentation is not looked at: that deep it would take a text of 100 MB.
    """
    if text.count("[") + text.count("{") > MAX_DEPTH:
        depth = 0
        for bracket in _BRACKET.findall(text):
            depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
            if depth > MAX_DEPTH:
                return True
    return _DASHES.search(text) is not None
