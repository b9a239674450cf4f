"""JSON read without recursion, for what the decoder in C refuses: how deep it is nested never matters.

Slower by far than msgspec, so it is used only after a failure. It finds where the members of an object or
list begin and end by their brackets and quotes. It reads a value with an
:class:`~schedframe.api.codec.UnreadPart` in place of each part that no decoder could read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ...api._text import json_source
from ...api.valuecodecs import MOST_LEVELS, UnreadPart

LEVELS: Final = MOST_LEVELS + 64
"""Levels of an object that are read: those of a value of any form, and of the fields around it. Every Python
from 3.11 on reads that many."""
_MOST_DIGITS: Final = 400
"""Digits of a whole number; no field has more than 20, and Python refuses more than 4,300."""

_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN: Final = re.compile(_STRING + rb'|[\[\]{},:"]', re.DOTALL)
_BRACKET: Final = re.compile(_STRING + rb'|[\[\]{}"]', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"
_PAIRS: Final = {ord("]"): ord("["), ord("}"): ord("{")}
_SPACE: Final = b" \t\r\n"
_QUOTE: Final = b'"'
_MARK: Final = b"-Infinity"

_TOO_DEEP: Final = UnreadPart(f"nesting of more than {LEVELS} levels")
_NO_VALUE: Final = UnreadPart("no value of JSON")
_TOO_LONG: Final = UnreadPart("a number that no computer has room for")


class JsonError(ValueError):
    """Text that is no JSON, or not all of it."""


class Member(NamedTuple):
    """A member of an object or an item of a list, which has no key."""

    key: str
    value: bytes


def members(data: bytes) -> Iterator[Member]:
    """Yield the members of the object, or the items of the list, that *data* is. O(length).

    Raises :class:`JsonError` unless *data* is one, from its first bracket to its last.
    """
    stripped = data.strip(_SPACE)
    if stripped[:1] not in (b"{", b"["):
        raise JsonError("it is neither an object nor a list")
    is_object = stripped[:1] == b"{"
    open_brackets: list[int] = []
    key: bytes | None = None
    begin = end = 0
    for token in _TOKEN.finditer(stripped):
        start, end = token.span()
        kind = stripped[start]
        if kind in _OPENING:
            open_brackets.append(kind)
            begin = begin if len(open_brackets) > 1 else end
        elif kind in _CLOSING:
            if not open_brackets or open_brackets.pop() != _PAIRS[kind]:
                raise JsonError("a bracket closes what another kind opened")
            if not open_brackets:
                if key is not None or stripped[begin:start].strip(_SPACE):
                    yield _member(is_object, key, stripped[begin:start])
                break
        elif end - start == 1 and kind == _QUOTE[0]:
            raise JsonError("a text does not end")
        elif len(open_brackets) == 1 and kind == ord(","):
            yield _member(is_object, key, stripped[begin:start])
            begin, key = end, None
        elif len(open_brackets) == 1 and kind == ord(":") and key is None:
            begin, key = end, stripped[begin:start]
    if open_brackets:
        raise JsonError("it ends too early")
    if end != len(stripped):
        raise JsonError("something follows it")


def _member(is_object: bool, key: bytes | None, value: bytes) -> Member:
    if is_object != (key is not None):
        raise JsonError("a member has no key" if is_object else "an item has a key")
    return Member("" if key is None else _name(key), value.strip(_SPACE))


def _name(key: bytes) -> str:
    name = read(key)
    if not isinstance(name, str):
        raise JsonError("a key is no text")
    return name


def read(data: bytes) -> Any:
    """Return the value of *data*, with an ``UnreadPart`` for each part that cannot be read. O(length).

    Raises :class:`JsonError` for text that is no JSON.
    """
    try:
        return _DECODER.decode(json_source(_shallow(data)))
    except RecursionError:  # the caller's own stack is nearly used up
        raise JsonError("it is nested too deeply") from None
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError(str(error)) from None


def _shallow(data: bytes) -> bytes:
    """Return *data* with ``-Infinity``, which no JSON has, for what lies deeper than :data:`LEVELS`."""
    if data.count(b"[") + data.count(b"{") <= LEVELS:
        return data
    depth, kept, begin = 0, [], 0
    for token in _BRACKET.finditer(data):
        kind = data[token.start()]
        if kind in _OPENING:
            depth += 1
            if depth == LEVELS + 1:
                kept.append(data[begin : token.start()])
        elif kind in _CLOSING:
            if depth == LEVELS + 1:
                kept.append(_MARK)
                begin = token.end()
            depth -= 1
    if depth > LEVELS:
        raise JsonError("it ends too early")
    kept.append(data[begin:])
    return b"".join(kept)


def _constant(name: str) -> UnreadPart:
    return _TOO_DEEP if name == _MARK.decode() else _NO_VALUE


def _integer(digits: str) -> int | UnreadPart:
    return int(digits) if len(digits) <= _MOST_DIGITS else _TOO_LONG


def _number(digits: str) -> float | UnreadPart:
    value = float(digits)
    return value if math.isfinite(value) else _TOO_LONG


_DECODER: Final = json.JSONDecoder(
    strict=False, parse_constant=_constant, parse_int=_integer, parse_float=_number
)
