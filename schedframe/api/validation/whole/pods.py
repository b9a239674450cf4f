"""Pods and what they consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ....errors import InputError

POD_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterable[InputError]]]] = {}
"""Published type → its check."""
