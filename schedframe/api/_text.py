"""Texts that are no Unicode, read and written as Go does: what cannot stand in UTF-8 becomes U+FFFD.

JSON can name half of a surrogate pair (``"\\ud800"``), and Python keeps it in a text. Go, so every client and
server of Kubernetes, takes the replacement character for it, and one for each byte that is no UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

REPLACEMENT: Final = "\ufffd"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HEX: Final = "[0-9a-fA-F]"
_ESCAPE: Final = re.compile(
    rf"\\(?:u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}|(u[dD][89a-fA-F]{_HEX}{{2}})|.)", re.DOTALL
)
"""A pair of surrogates; a lone one, which is the group; any other escape."""
_PER_BYTE: Final = "schedframe.replace-bytes"


def _replace_bytes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return REPLACEMENT * (error.end - error.start), error.end


codecs.register_error(_PER_BYTE, _replace_bytes)


def without_surrogates(text: str) -> str:
    """Return *text* with U+FFFD in place of each surrogate. O(1) for ASCII."""
    return text if text.isascii() else _SURROGATE.sub(REPLACEMENT, text)


def encodable(value: Any) -> Any:
    """Return *value*, made of mappings, lists and plain values, with texts that can be encoded. O(size)."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, Mapping):
        return {encodable(key): encodable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [encodable(entry) for entry in value]
    return value


def json_source(data: bytes) -> str:
    """Return JSON as text, without bytes that are no UTF-8 and escapes that name no character."""
    text = data.decode("utf-8", _PER_BYTE)
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(lambda found: "\\ufffd" if found.group(1) else found.group(0), text)
    return text


def meant(word: str, known: Iterable[str]) -> str:
    """Return the question after a similar word of *known*; empty if none is similar."""
    folded = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), folded, n=1)
    return did_you_mean(folded[close[0]]) if close else ""


def did_you_mean(word: str) -> str:
    """Return the question whether *word* is meant."""
    return f"did you mean {word}?"
