"""Members of a value that was read from a file: right ones, or nothing.

For checks of whole values. The walk over the published fields reports members of a wrong type itself, so a
check only passes over them: these functions return an empty value for them and never raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....errors import InputError
from ...quantity import Quantity, parse_quantity


def text(value: Mapping[Any, Any], key: str) -> str:
    """Return the text at *key*, empty if there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def number(value: Mapping[Any, Any], key: str) -> int | None:
    """Return the whole number at *key*, ``None`` if there is none."""
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def mapping(value: Mapping[Any, Any], key: str) -> Mapping[Any, Any]:
    """Return the object at *key*, an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def sequence(value: Mapping[Any, Any], key: str) -> Sequence[Any]:
    """Return the list at *key*, an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, list | tuple) else ()


def objects(value: Mapping[Any, Any], key: str) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield the objects of the list at *key*, each with its path, as ``ports[0]``."""
    for index, item in enumerate(sequence(value, key)):
        if isinstance(item, Mapping):
            yield f"{key}[{index}]", item


def texts(value: Mapping[Any, Any], key: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of the list at *key*, each with its path, as ``values[0]``."""
    for index, item in enumerate(sequence(value, key)):
        if isinstance(item, str):
            yield f"{key}[{index}]", item


def is_left_out(value: Mapping[Any, Any], key: str) -> bool:
    """Return whether there is no member *key*; one of a wrong type is there."""
    return value.get(key) is None


def amounts(value: Mapping[Any, Any], key: str) -> dict[str, Quantity]:
    """Return name → amount of the object at *key*; what is no amount is left out.

    Rounded up to thousandths, as the API server does before it validates.
    """
    found = {}
    for name, written in mapping(value, key).items():
        amount = quantity(written)
        if isinstance(name, str) and amount is not None:
            found[name] = amount
    return found


def quantity(written: Any) -> Quantity | None:
    """Return an amount rounded up to thousandths, ``None`` if it is none."""
    try:
        return parse_quantity(written).in_thousandths()
    except InputError:
        return None
