"""Checks of a scheduler: its thread is alive, its caches are synced, its queue moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from attrs import field

from .._base.value import record
from ..cycle import Scheduler
from ..cycle.messages import Question
from ..queue import Pool
from .checks import Check

ALIVE_SECONDS: Final = 30.0
"""Seconds after which a scheduler that did not look into its inbox counts as hanging."""
STUCK_SECONDS: Final = 120.0
"""Seconds without an attempt after which a queue with active pods counts as stuck."""


@record(eq=False)
class SchedulerProbes:
    """The checks of one scheduler. They do nothing between two calls."""

    scheduler: Scheduler
    leads: Callable[[], bool]
    """Whether this process schedules; a standby's queue does not move."""
    clock: Callable[[], float] = time.monotonic
    _asked_at: float | None = field(default=None, init=False)
    """When the question that is not answered yet was put to the core."""
    _active: int = field(default=0, init=False)
    """Active pods at the last answer."""
    _cycle: int = field(default=-1, init=False)
    """Pods popped until then."""
    _moved_at: float = field(default=0.0, init=False)
    """When the queue was last seen to move, or to be empty."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def alive(self) -> Check:
        """Return the check that the scheduler's thread takes messages in."""
        return Check("scheduling-loop", self._alive)

    def queue(self) -> Check:
        """Return the check that active pods are attempted."""
        return Check("scheduling-queue", self._queue)

    def _alive(self) -> str | None:
        waits = self._ask()
        return None if waits < ALIVE_SECONDS else f"no message was taken in for {waits:.0f} s"

    def _queue(self) -> str | None:
        self._ask()
        with self._lock:
            waits = self.clock() - self._moved_at
            if not self._active or not self.leads() or waits < STUCK_SECONDS:
                return None
            return f"{self._active} pods are ready and none was attempted for {waits:.0f} s"

    def _ask(self) -> float:
        """Put a question to the core unless one is open; return the seconds since it was put."""
        with self._lock:
            now = self.clock()
            if self._asked_at is None:
                self._asked_at = now
                self.scheduler.core.inbox.put(Question(self._answer))
            return now - self._asked_at

    def _answer(self) -> None:
        """Read the state of the queue, in the thread of the core."""
        queue = self.scheduler.core.queue
        active, cycle = queue.counts().get(Pool.ACTIVE, 0), queue.scheduling_cycle
        with self._lock:
            self._asked_at = None
            if not active or cycle != self._cycle or not self.leads():
                self._moved_at = self.clock()
            self._active, self._cycle = active, cycle


def synced(follows: Callable[[str], bool], kinds: Callable[[], Iterable[str]]) -> Check:
    """Return the check that the first list of each of *kinds* is complete."""

    def problem() -> str | None:
        missing = [kind for kind in kinds() if not follows(kind)]
        return f"not synced: {', '.join(missing)}" if missing else None

    return Check("informer-sync", problem)
