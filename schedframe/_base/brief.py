"""Short reprs: at most :data:`LONGEST` characters, in a time that does not depend on the size of a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from itertools import islice
from types import FunctionType, MethodType
from typing import Any, Final, TypeVar

import attrs

LONGEST: Final = 200
"""Characters of a repr. A line in a debugger or a failing assert shows about as many."""
_ITEMS: Final = 3
"""Items of a container that are shown; the others are counted."""
_DEPTH: Final = 3
"""Levels of nesting that are shown; deeper values are three dots."""
_MOST_BITS: Final = 4096
"""Bits of a whole number that is written in digits; Python writes at most 4,300 of these."""
_BRACKETS: Final = {list: ("[", "]"), tuple: ("(", ")")}

_Class = TypeVar("_Class")


def brief_of(obj: object, *positional: object, **named: object) -> str:
    """Return ``Class(positional, name=value)`` for a ``__repr__`` that is written by hand.

    Named values that are ``None`` or the empty text are left out.
    """
    shown = [brief(value) for value in positional]
    shown += [
        f"{name}={brief(v)}" for name, v in named.items() if v is not None and v not in ("", [], {}, ())
    ]
    return shortened(f"{type(obj).__name__}({', '.join(shown)})")


def brief(value: object, depth: int = _DEPTH) -> str:
    """Return a repr of at most :data:`LONGEST` characters; *depth* is the number of levels to show.

    Classes with a ``__repr__`` of their own in Python are trusted to be short.
    """
    written = type(value).__repr__
    if written is brief_of_fields:
        return brief_of_fields(value, depth)
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, str | bytes):
        return shortened(repr(value[: LONGEST + 1]))
    if isinstance(value, FunctionType | MethodType):
        return value.__qualname__
    if written is object.__repr__:
        return type(value).__name__
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}" if value.shape else repr(value)
    if isinstance(value, Collection) and not isinstance(written, FunctionType):
        return _brief_of_items(value, depth)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return shown(value)
    return shortened(repr(value))


def shortened(text: str, most: int = LONGEST) -> str:
    """Return *text* with at most *most* characters, the last one ``…`` if some are missing."""
    return text if len(text) <= most else text[: most - 1] + "…"


def shown(value: object, most: int = 40) -> str:
    """Return a repr of any value for a message: at most *most* characters, and never an exception.

    Python writes no whole number of more than 4,300 digits, and calls itself for each level of nesting.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _MOST_BITS:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, str | bytes):
        return _cut(repr(value[: most + 1]), most)
    try:
        return _cut(brief(value), most)
    except Exception as error:  # noqa: BLE001 - the message is about another mistake
        return f"{_a(type(value).__name__)} whose repr raises {type(error).__name__}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _a(noun: str) -> str:
    return f"{'an' if noun[:1] in 'AEIOUaeio' else 'a'} {noun}"


def _brief_of_items(container: Collection[Any], depth: int) -> str:
    opening, closing = _BRACKETS.get(type(container), ("{", "}"))
    if not container:
        return opening + closing
    if depth <= 0:
        return f"{opening}…{closing}"
    first = islice(container, _ITEMS)
    if isinstance(container, Mapping):
        shown = [f"{brief(key, depth - 1)}: {brief(container[key], depth - 1)}" for key in first]
    else:
        shown = [brief(item, depth - 1) for item in first]
    if len(container) > _ITEMS:
        shown.append(f"… {len(container) - _ITEMS:,} more")
    text = ", ".join(shown)
    if type(container) is tuple and len(container) == 1:
        text += ","
    return shortened(opening + text + closing)


def brief_of_fields(value: Any, depth: int = _DEPTH) -> str:
    """Return the public fields of *value* that differ from their defaults."""
    name = type(value).__name__
    if depth <= 0:
        return f"{name}(…)"
    parts: list[str] = []
    length = len(name)
    for attribute in attrs.fields(type(value)):
        if attribute.name.startswith("_") or not attribute.repr:
            continue
        held = getattr(value, attribute.name, attrs.NOTHING)
        if held is attrs.NOTHING or _is_default(attribute, held):
            continue
        parts.append(f"{attribute.name}={brief(held, depth - 1)}")
        length += len(parts[-1])
        if length > LONGEST:
            break
    return shortened(f"{name}({', '.join(parts)})")


def _is_default(attribute: attrs.Attribute[Any], held: object) -> bool:
    default = attribute.default
    if held is default:
        return True
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
        return isinstance(held, Collection) and not held
    return isinstance(held, bool | int | float | str) and type(held) is type(default) and held == default
