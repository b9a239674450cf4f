"""Characters that a terminal or a reader of lines would act on, written as escapes.

Names and texts of objects come from others. Raw, they could colour, move, reorder or forge lines of output:
control characters, marks of writing direction, separators of lines, invisible characters. What Python's
``repr`` escapes is escaped here, by the same escapes; all else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

_ESCAPED: Final = re.compile(r"[^\n -~]")
"""Characters to look at in documents, whose own line breaks stay."""


def visible(text: str) -> str:
    """Return *text* as one line without raw control characters; O(1) calls for printable text."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def visible_lines(lines: Iterable[str]) -> str:
    """Return *lines* as one text. Line breaks inside a line are data, and visible."""
    return "\n".join(map(visible, lines))


def visible_json(text: str) -> str:
    """Return the JSON *text* of a value with escapes in its strings. It reads back as the same value."""
    return _document(text, _json_escape)


def visible_yaml(text: str) -> str:
    """Return a YAML *text* with escapes in its strings; those to be escaped are in double quotes."""
    return _document(text, _yaml_escape)


def _document(text: str, escape: Callable[[str], str]) -> str:
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _ESCAPED.sub(lambda match: match[0] if match[0].isprintable() else escape(match[0]), text)


def _json_escape(character: str) -> str:
    """Return the escape of JSON: that of two surrogates beyond 16 bits."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


def _yaml_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
