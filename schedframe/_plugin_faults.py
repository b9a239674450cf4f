"""What a plugin may raise without ending the scheduler. Apart from the other errors: asyncio loads slowly.

Python evaluates the expression of an ``except`` when something is raised. So these are functions, and
asyncio, which takes 6 MB with ``ssl``, is not loaded for its ``CancelledError`` alone.
"""

from __future__ import annotations

import sys
from typing import Any


def plugin_faults() -> tuple[type[BaseException], ...]:
    """Return the exceptions that are faults of the plugin whose hook raised them.

    A hook runs in a plain function, which is never cancelled: a ``CancelledError`` in it is the plugin's own,
    such as that of a loop that it ran.
    """
    return (Exception, *cancellations())


def cancellations() -> tuple[type[BaseException], ...]:
    """Return the exception of a cancelled awaitable; none if asyncio is not loaded."""
    asyncio = sys.modules.get("asyncio")
    return () if asyncio is None else (asyncio.CancelledError,)


def shown(answer: Any) -> str:
    """Return the beginning of ``repr``; the type where ``__repr__``, which is code of the plugin, fails."""
    try:
        return f"{answer!r:.200}"
    except Exception:  # noqa: BLE001 - the answer is reported either way
        return f"{type(answer).__name__} (its repr fails)"
