"""Every way to make a JSON value wrong in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]


def mutations(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(where, *value* with one thing changed there): a leaf altered, an item dropped or added."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), {name: other for name, other in value.items() if name != key}
            for where, changed in mutations(inner, (*path, key)):
                yield where, {**value, key: changed}
        yield (*path, "?"), {**value, "?": 1}
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*path, index), [*value[:index], *value[index + 1 :]]
            for where, changed in mutations(inner, (*path, index)):
                yield where, [*value[:index], changed, *value[index + 1 :]]
        yield (*path, len(value)), [*value, "?"]
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, int):
        yield path, value + 1
    elif isinstance(value, str):
        yield path, value + "?"
    else:
        yield path, "?"


def shows(compare: Callable[[], list[str]]) -> bool:
    """Whether *compare* finds something; that the answer is not of the form at all is a find too."""
    try:
        return bool(compare())
    except (KeyError, TypeError, AttributeError):
        return True
