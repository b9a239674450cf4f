"""Wording of errors about arguments: short texts of values, and of keywords that are not known."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

from .brief import shown

_LONGEST: Final = 40
"""Characters of a text that an error repeats."""
_VOWELS: Final = "AEIOUaeio"


def described(value: Any) -> str:
    """Return a short text of *value* for messages, such as ``5``, ``'web'`` or ``an ObjectMeta``."""
    if value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _LONGEST):
        return shown(value, 2 * _LONGEST)
    return f"the class {value.__name__}" if isinstance(value, type) else with_article(type(value).__name__)


def with_article(name: str) -> str:
    """Return *name* after *a* or *an*."""
    return f"{'an' if name[0] in _VOWELS else 'a'} {name}"


def unknown_keyword(problem: str, name: str, known: Sequence[str], most: int | None = None) -> TypeError:
    """Return the error for a keyword that is not *known*, with a similar one, or *most* of those known."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    close = get_close_matches(snake, known, n=1)
    listed = [*known[:most], *(["…"] if len(known) > len(known[:most]) else [])]
    fix = f"did you mean {close[0]}?" if close else f"it takes {', '.join(listed) or 'none'}"
    return TypeError(f"{problem} {name!r}; {fix}")
