"""Options as keyword arguments: a TypedDict for people and type checkers, a table for their checks.

A function takes ``**options: Unpack[ItsOptions]``. Options that several calls share are a plain dict of them:
``Scheduler(cluster, **options)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from .validators import Validator
from .wording import unknown_keyword

Given = TypeVar("Given", bound=Mapping[str, Any])


@attrs.frozen
class Option:
    """Default of an option, and the values that it may have."""

    default: Any = None
    validator: Validator | None = None
    converter: Callable[[Any], Any] | None = None
    """Applied before the check; raises :class:`InputError` itself."""


@attrs.frozen
class _Named:
    """The part of an attribute that validators read."""

    name: str


def completed(table: Mapping[str, Option], owner: str, given: Given) -> Given:
    """Return *given* options, checked, and the defaults of the others.

    Raises :class:`TypeError` for an unknown one, with a similar one, and :class:`InputError` for a wrong
    value. *owner*: what they were given to.
    """
    for name in given:
        if name not in table:
            raise unknown_keyword(f"{owner} has no option", name, list(table))
    found: dict[str, Any] = {}
    for name, option in table.items():
        if name not in given:
            found[name] = option.default
            continue
        value = given[name]
        found[name] = value if option.converter is None else option.converter(value)
        if option.validator is not None:
            attribute: Any = _Named(name)
            option.validator(None, attribute, found[name])
    return found  # type: ignore[return-value]  # has all that a mapping of that type may have
