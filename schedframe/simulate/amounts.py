"""Amounts of resources as text for people."""

from __future__ import annotations

from ..api import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY

MILLI_CPU = "milli-CPU"
BYTES = "bytes"
COUNT = "count"

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def unit_of(resource: str) -> str:
    """Return the unit of a resource: ``milli-CPU``, ``bytes`` or ``count``."""
    if resource == CPU:
        return MILLI_CPU
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGE_PAGES_PREFIX):
        return BYTES
    return COUNT


def amount_text(resource: str, amount: int) -> str:
    """Return ``2.5`` (CPUs), ``30Gi`` or ``4``, with at most one digit after the point of bytes."""
    unit = unit_of(resource)
    if unit == MILLI_CPU:
        return _short(amount / 1000, 3)
    if unit == COUNT:
        return str(amount)
    value, step = float(amount), 0
    while abs(value) >= 1024 and step < len(_BINARY) - 1:
        value, step = value / 1024, step + 1
    return f"{_short(value, 1)}{_BINARY[step]}"


def share_text(part: int, whole: int) -> str:
    """Return *part* of *whole* in per cent, empty if *whole* is 0."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def _short(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
