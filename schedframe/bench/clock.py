"""Clock of a benchmark: the time of the machine, except that idle waits are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns, time_ns

from attrs import field
from typing_extensions import override

from .._base.value import record
from ..cycle import SystemClock


@record(eq=False)
class SkippingClock(SystemClock):
    """Seconds since the epoch. Computation takes its time; a wait ends at once because the clock jumps.

    Metrics take it for the machine's clock: pods that came after a skip seem younger to them by what was
    skipped, which no benchmark reads.
    """

    skipped: int = 0
    """Nanoseconds by which the clock jumped so far."""
    _start: int = field(factory=lambda: time_ns() - perf_counter_ns())

    @override
    def __call__(self) -> float:
        return (self._start + perf_counter_ns() + self.skipped) / 1e9

    def skip_to(self, moment: float) -> None:
        """Jump to *moment*, or by one microsecond if *moment* has passed."""
        ahead = int(moment * 1e9) - (self._start + perf_counter_ns() + self.skipped)
        # A float of this magnitude is exact to 0.24 µs; the extra microsecond prevents ending up too early.
        self.skipped += max(0, ahead) + 1000

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock inside the ``with`` block."""
        started = perf_counter_ns()
        try:
            yield
        finally:
            self.skipped -= perf_counter_ns() - started
