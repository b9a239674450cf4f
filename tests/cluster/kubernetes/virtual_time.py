"""An event loop whose time jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

LONGEST = 100_000.0
"""Virtual seconds after which a test has gone wrong."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """For coroutines that wait for timers and for each other only."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        if not ready and scheduled:
            self.now = max(self.now, scheduled[0].when())
            assert self.now < LONGEST, "nothing happens any more"
        super()._run_once()  # type: ignore[misc]


def run_virtually(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine function in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work())
