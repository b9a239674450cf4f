"""Figures of a benchmark as text: one line of JSON, or a table for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .._base.visible import visible_lines


def as_line(figures: Mapping[str, Any]) -> str:
    """Return one line of JSON."""
    return json.dumps(figures)


def as_text(figures: Mapping[str, Any]) -> str:
    """Return one line per figure."""
    width = max(map(len, figures))
    return visible_lines(f"{name:<{width}}  {_shown(value)}" for name, value in figures.items())


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
