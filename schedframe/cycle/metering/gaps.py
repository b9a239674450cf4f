"""Which of many cycles, calls and events are measured, at random."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from attrs import field

from ..._value import record

SAMPLED: Final = 10
"""Cycles for each one that is measured, on the average, as in kube-scheduler; runs of Bind and PreBind for
each one that counts as a measured call, too.
"""
TOGETHER: Final = 100
"""Measured cycles in a row, at most. To switch the calls of a plan takes 8 µs, and 15 where its entries have
left the processor's caches: with 20 in a row, metrics took 6.3 % of the time of a pod (basic at 5,000 nodes),
with 100 they take 5.2 %.
"""
EVENTS_FOR_EACH_MEASURED: Final = 100
"""Events for each one that is measured, on the average."""
_draw: Final = Random().random
"""Apart from the scheduler's generator, whose draws are the same with and without metrics."""


def random_gap(mean: int) -> int:
    """Return a number from 1 to 2 * *mean* - 1."""
    return 1 + int(_draw() * (2 * mean - 1))


def random_tenth() -> slice:
    """Return a slice of about one duration in ten."""
    return slice(int(_draw() * SAMPLED), None, SAMPLED)


def random_gap_of_events() -> int:
    """Return after how many events the next one is measured."""
    return random_gap(EVENTS_FOR_EACH_MEASURED)


def nothing(measured: bool) -> None:
    """Default for callbacks that are set later."""


@record(eq=False)
class MeasuredCycles:
    """Sampling of scheduling cycles: one in ten is measured, many in a row. Core's thread only.

    Ten in a row at first, then twice as many each time up to :data:`TOGETHER`: a short run has measured
    cycles, too, and others.

    Each cycle calls :meth:`begin`. Between two cycles ``_left`` is at least 1: below, the cycles would stay
    measured, or unmeasured, for good.
    """

    turned: Callable[[bool], None] = nothing
    """Called with ``now`` when it changes."""
    now: bool = False
    """Whether the cycle under way, or the last one, is measured."""
    _in_row: int = SAMPLED
    """Measured cycles in a row next time."""
    _left: int = field(factory=lambda: random_gap(SAMPLED))
    """Cycles up to the next switch."""

    def begin(self) -> None:
        """Choose whether the cycle that begins is measured."""
        self._left -= 1
        if not self._left:
            self.turn()

    def turn(self) -> None:
        """Switch between measured and unmeasured cycles; at any time."""
        self.now = not self.now
        if self.now:
            self._left, self._in_row = self._in_row, min(2 * self._in_row, TOGETHER)
        else:
            self._left = random_gap((SAMPLED - 1) * self._in_row)
        self.turned(self.now)
