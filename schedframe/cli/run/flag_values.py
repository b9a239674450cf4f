"""Values of flags: booleans and durations as kube-scheduler writes them."""

from __future__ import annotations

from typing import Final

import typer

from ..._base.validators import number
from ...config import Duration
from ...errors import InputError

_BOOLEANS: Final = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)
"""The spellings that Go accepts."""


def boolean(flag: str, text: str) -> bool:
    """Return what *flag* is set to. Raises :class:`InputError` unless it is true or false."""
    value = _BOOLEANS.get(text)
    if value is None:
        raise InputError(flag, f"{text!r} is neither true nor false", "write true or false")
    return value


def duration(flag: str, text: str, *, zero: bool = False) -> Duration:
    """Return what *flag* is set to: more than zero, or zero if that has a meaning. Raises InputError."""
    try:
        value = Duration.parse(text)
    except ValueError as error:
        raise InputError(flag, str(error), "write a duration such as 15s") from None
    if value < Duration() or (value == Duration() and not zero):
        raise InputError(flag, f"{text} is no wait", "write a duration such as 15s")
    return value


def finite(value: float) -> float:
    """Return *value* of a flag. Raises :class:`typer.BadParameter`, which names the flag, for inf and NaN."""
    try:
        number("", value, "")
    except InputError as error:
        raise typer.BadParameter(error.problem) from None
    return value
