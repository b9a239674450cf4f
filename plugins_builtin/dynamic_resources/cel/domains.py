"""Look-ups of domains that a device does not have: they return empty maps, although the domains are absent.

``device.attributes['absent.example.com']`` is an empty map, so ``device.attributes[?'absent.example.com']``
has a value, but ``'absent.example.com' in device.attributes`` is false. No map of the library does both.
Therefore look-ups are rewritten to read a second map, which has all domains that the expression names;
everything else reads the map of the device.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Sequence
from typing import Final

from attrs import frozen

PARTS: Final = ("attributes", "capacity")
"""Maps of the device by domain."""
OR_EMPTY: Final = "_or_empty"
"""Suffix of the names of the second maps."""

_TOKEN: Final = re.compile(
    r"""(?P<string>[rRbB]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
    |(?P<name>[A-Za-z_]\w*)|(?P<blank>\s+|//[^\n]*)|(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_Token = tuple[str, str, int]
"""Kind, text, position."""
_END: Final[_Token] = ("end", "", 0)


@frozen
class Rewritten:
    """An expression whose look-ups of domains read the second maps."""

    text: str
    domains: frozenset[tuple[str, str]]
    """(Map, domain) of the look-ups with a constant domain."""


def rewritten(text: str) -> Rewritten:
    """Rewrite the look-ups of domains in *text*, which must be valid; O(length)."""
    tokens = [
        (match.lastgroup or "", match[0], match.start())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "blank"
    ]
    domains = set()
    pieces, done = [], 0
    for index, (kind, part, place) in enumerate(tokens):
        if kind != "name" or part not in PARTS or not _is_of_device(tokens, index):
            continue
        rest = [*tokens[index + 1 : index + 5], _END, _END, _END, _END]
        found = _looked_up(rest)
        if found is None:
            continue
        pieces += [text[done:place], part, OR_EMPTY]
        done = place + len(part)
        if found:
            domains.add((part, found))
    return Rewritten("".join([*pieces, text[done:]]), frozenset(domains))


def _is_of_device(tokens: Sequence[_Token], index: int) -> bool:
    before = [token[1] for token in tokens[max(index - 3, 0) : index]]
    return before[-2:] == ["device", "."] and before[:-2] != ["."]


def _looked_up(rest: Sequence[_Token]) -> str | None:
    """Return the domain that is looked up, empty if it is computed; ``None`` if this is no look-up."""
    sign = rest[0][1]
    optional = rest[1][1] == "?"
    key, after = rest[2:4] if optional else rest[1:3]
    if sign == "[":
        return _value(key[1]) if key[0] == "string" and after[1] == "]" else ""
    if sign == "." and key[0] == "name" and after[1] != "(":
        return key[1]
    return None


def _value(literal: str) -> str:
    """Return the value of a string literal; empty for escapes and other literals."""
    value = "" if "\\" in literal else literal_eval(literal)
    return value if isinstance(value, str) else ""
