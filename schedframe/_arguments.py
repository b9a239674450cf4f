"""Checks of what callers pass: each error names the argument, what it is, and what to give instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import attrs

from .errors import InputError

Options = TypeVar("Options")
T = TypeVar("T")
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def collection(path: str, value: Iterable[T], fix: str) -> tuple[T, ...]:
    """Return *value* as a tuple. Raises :class:`InputError` for a text, a mapping, or no collection."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise InputError(path, f"{shown(value)} is not a collection", fix)
    return tuple(value)


def count(path: str, value: Any) -> None:
    """Raise :class:`InputError` unless *value* is a whole number from 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(path, f"{shown(value)} is not a whole number", "give a number from 0")
    if value < 0:
        raise InputError(path, f"{value} is below 0", "give a number from 0")


def has(path: str, value: Any, names: Iterable[str], fix: str) -> None:
    """Raise :class:`InputError` unless *value* has attributes with all these *names*."""
    missing = [name for name in names if not hasattr(value, name)]
    if missing:
        raise InputError(path, f"{shown(value)} has no attribute {' and no '.join(missing)}", fix)


def options(cls: type[Options], owner: str, keywords: Mapping[str, Any]) -> Options:
    """Return options with these *keywords*. Raises :class:`TypeError` for an unknown one, with a similar one.

    *owner*: what the keywords were given to.
    """
    known = [each.name for each in attrs.fields(cls)]  # type: ignore[arg-type]  # an attrs class
    for name in keywords:
        if name not in known:
            raise unknown_keyword(f"{owner} has no option", name, known)
    return cls(**keywords)


def unknown_keyword(problem: str, name: str, known: Sequence[str], most: int | None = None) -> TypeError:
    """Return the error for a keyword that is not *known*, with a similar one, or *most* of those known."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    close = get_close_matches(snake, known, n=1)
    listed = [*known[:most], *(["…"] if len(known) > len(known[:most]) else [])]
    fix = f"did you mean {close[0]}?" if close else f"it takes {', '.join(listed) or 'none'}"
    return TypeError(f"{problem} {name!r}; {fix}")


def shown(value: Any) -> str:
    """Return a short text of *value*: ``None``, a number or a text as it is, else its type."""
    if value is None or isinstance(value, int | float):
        return repr(value)
    return repr(value) if isinstance(value, str) and len(value) <= _LONGEST else f"a {type(value).__name__}"


_LONGEST = 40
"""Characters of a text that an error repeats."""


# ---- validators of options -------------------------------------------------------------------------------


def optional_call(fix: str) -> Validator:
    """Return a validator of fields that are ``None`` or can be called."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None and not callable(value):
            raise InputError(attribute.name, f"{shown(value)} cannot be called", fix)

    return check


def optional_with(names: Iterable[str], fix: str) -> Validator:
    """Return a validator of fields that are ``None`` or have attributes with these *names*."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None:
            has(attribute.name, value, names, fix)

    return check


def optional_number(fix: str, *, whole: bool = False, least: float = float("-inf")) -> Validator:
    """Return a validator of fields that are ``None`` or a number from *least*."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            kind = "a whole number" if whole else "a number"
            raise InputError(attribute.name, f"{shown(value)} is not {kind}", fix)
        if not value >= least:
            raise InputError(attribute.name, f"{value} is below {least:g}", fix)

    return check


def share(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a field that is a number from 0 to 1."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InputError(attribute.name, f"{shown(value)} is not a share", "give a number from 0 to 1")


def one_of(*choices: Any) -> Validator:
    """Return a validator of fields that are one of *choices*."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not any(value is choice or (isinstance(choice, str) and value == choice) for choice in choices):
            fix = f"give one of {', '.join(map(repr, choices))}"
            raise InputError(attribute.name, f"{shown(value)} is not a choice", fix)

    return check
