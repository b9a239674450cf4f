"""Former place of the plugin SelectorSpread."""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    from .legacy import selector_spread

    value = getattr(selector_spread, name)
    warnings.warn(
        f"{__name__}.{name} is now {selector_spread.__name__}.{name}", DeprecationWarning, stacklevel=2
    )
    return value
