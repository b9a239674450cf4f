"""The writer of YAML: quick, as thousands of small documents are usual, and without PyYAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .._base.visible import visible_yaml

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})


def to_yaml(data: Any) -> str:
    """Return JSON *data* in block style, without a line break at the end.

    Every reader of YAML 1.1 and 1.2 gets *data* back: text is quoted as JSON does unless it is a plain word,
    so that no reader takes it for anything else.
    """
    return "\n".join(_lines(data, ""))


def _lines(data: Any, indent: str) -> Iterator[str]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", value, indent)
    elif isinstance(data, list | tuple) and data:
        for value in data:
            first, *rest = _lines(value, f"{indent}  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest
    else:
        yield indent + _scalar(data)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list | tuple) and value:
        yield head
        yield from _lines(value, f"{indent}  ")
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return visible_yaml(text)
    # YAML 1.1 wants a point in every number with an exponent
    return text.replace("e", ".0e", 1) if isinstance(value, float) and "." not in text else text
