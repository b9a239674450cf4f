"""Differences between two JSON values, as lines that say where they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def differences(path: str, expected: Any, actual: Any) -> Iterator[str]:
    """One line for each place where *actual* differs from *expected*, types included: 1 is not 1.0."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            inner = f"{path}.{key}" if path else str(key)
            if key not in actual:
                yield f"{inner}: expected {_show(expected[key])}, got nothing"
            elif key not in expected:
                yield f"{inner}: expected nothing, got {_show(actual[key])}"
            else:
                yield from differences(inner, expected[key], actual[key])
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(f"{path}[{index}]", one, other)
    elif type(expected) is not type(actual) or expected != actual:
        yield f"{path}: expected {_show(expected)}, got {_show(actual)}"


def as_json(value: Any) -> Any:
    """*value* as it comes back from JSON; a TypeError if it holds anything else (a NumPy number, a set)."""
    return json.loads(json.dumps(value))


def _show(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 300 else f"{text[:300]}…"
