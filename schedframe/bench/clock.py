"""Time of a benchmark: the machine's, except that nobody sits out a wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns, time_ns

from attrs import define, field


@define(eq=False)
class SkippingClock:
    """Seconds since the epoch. Waits are skipped: the clock jumps, and remembers by how much.

    What takes time takes time here; a backoff or the pause between two deletions is over at once.
    """

    skipped: int = 0
    """Nanoseconds jumped so far."""
    _start: int = field(factory=lambda: time_ns() - perf_counter_ns())

    def now(self) -> float:
        """The time now."""
        return (self._start + perf_counter_ns() + self.skipped) / 1e9

    def skip_to(self, moment: float) -> None:
        """Jump to *moment*; nothing if that is over."""
        ahead = int(moment * 1e9) - (self._start + perf_counter_ns() + self.skipped)
        # A float of this age is good to a quarter of a microsecond: a little further is not too early.
        self.skipped += max(0, ahead) + 1000

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """What is done inside takes no time."""
        started = perf_counter_ns()
        try:
            yield
        finally:
            self.skipped -= perf_counter_ns() - started
