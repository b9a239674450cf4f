"""The time that deadlines and waits are counted in: that of the event loop, which a test may replace."""

from __future__ import annotations

import asyncio


def loop_time() -> float:
    """Return the seconds of the running loop. Raises :class:`RuntimeError` outside of a loop."""
    return asyncio.get_running_loop().time()
