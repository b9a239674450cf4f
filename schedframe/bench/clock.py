"""Clock of a benchmark: the time of the machine, except that idle waits are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define

from ..cycle import SystemClock


@define(eq=False)
class SkippingClock(SystemClock):
    """Seconds since the epoch. Computation takes its time; a wait ends at once because the clock jumps.

    Metrics take it for the machine's clock: what was skipped is not in the time that they count for a pod.
    """

    skipped: int = 0
    """Nanoseconds by which the clock jumped so far."""

    def skip_to(self, moment: float) -> None:
        """Jump to *moment*, or by one microsecond if *moment* has passed."""
        # A float of this magnitude is exact to 0.24 µs; the extra microsecond prevents ending up too early.
        self._jump(max(0, int((moment - self()) * 1e9)) + 1000)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock inside the ``with`` block."""
        started = self()
        try:
            yield
        finally:
            self._jump(int((started - self()) * 1e9))

    def _jump(self, nanoseconds: int) -> None:
        self.skipped += nanoseconds
        self._offset += nanoseconds / 1e9
