"""Which classes check their arguments."""

from __future__ import annotations

from typing import Any

import attrs


def is_checked(cls: type[Any]) -> bool:
    """Return whether *cls* has fields, and a constructor that refuses what does not fit their annotations."""
    return attrs.has(cls) and "__refuse" in getattr(cls.__init__, "__globals__", ())
