"""Checks of what annotations cannot say, such as ranges, and validators of the options of a scheduler.

All other arguments are checked against their annotations, see :mod:`._checked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar

import attrs

from ..errors import InputError
from .wording import described

T = TypeVar("T")
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def collection(path: str, value: Iterable[T], fix: str) -> tuple[T, ...]:
    """Return *value* as a tuple. Raises :class:`InputError` for a text, a mapping, or no collection."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise InputError(path, f"{described(value)} is not a collection", fix)
    return tuple(value)


def number(path: str, value: Any, fix: str, *, whole: bool = False, least: float = -inf) -> None:
    """Raise :class:`InputError` unless *value* is a finite number, a *whole* one if so, from *least*."""
    numbers: Any = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, numbers):
        kind = "a whole number" if whole else "a number"
        raise InputError(path, f"{described(value)} is not {kind}", fix)
    if not abs(value) < inf:
        raise InputError(path, f"{value} is not a finite number", fix)
    if not value >= least:
        raise InputError(path, f"{value} is below {least:g}", fix)


def has(path: str, value: Any, names: Iterable[str], fix: str) -> None:
    """Raise :class:`InputError` unless *value* has attributes with all these *names*."""
    missing = [name for name in names if not hasattr(value, name)]
    if missing:
        raise InputError(path, f"{described(value)} has no attribute {' and no '.join(missing)}", fix)


def optional_call(fix: str) -> Validator:
    """Return a validator of fields that are ``None`` or can be called."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None and not callable(value):
            raise InputError(attribute.name, f"{described(value)} cannot be called", fix)

    return check


def optional_with(names: Iterable[str], fix: str) -> Validator:
    """Return a validator of fields that are ``None`` or have attributes with these *names*."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None:
            has(attribute.name, value, names, fix)

    return check


def optional_number(fix: str, *, whole: bool = False, least: float = -inf) -> Validator:
    """Return a validator of fields that are ``None`` or a number, as :func:`number` checks it."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None:
            number(attribute.name.lstrip("_"), value, fix, whole=whole, least=least)

    return check


def share(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a field that is a number from 0 to 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise InputError(attribute.name, f"{described(value)} is not a share", "give a number from 0 to 1")


def one_of(*choices: Any) -> Validator:
    """Return a validator of fields that are one of *choices*."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not any(value is choice or (isinstance(choice, str) and value == choice) for choice in choices):
            fix = f"give one of {', '.join(map(repr, choices))}"
            raise InputError(attribute.name, f"{described(value)} is not a choice", fix)

    return check
