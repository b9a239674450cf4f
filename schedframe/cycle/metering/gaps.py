"""Which of many cycles, calls and events are measured, at random."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from attrs import define, field

SAMPLED: Final = 10
"""Cycles for each one that is measured, on the average, as in kube-scheduler; runs of Bind and PreBind for
each one that counts as a measured call, too.
"""
TOGETHER: Final = 20
"""Measured cycles in a row. To switch the calls of a plan takes 8 µs, 0.4 % of the time of a pod (basic at
5,000 nodes); with 40 in a row 13 µs, since more of its entries have left the processor's caches.
"""
EVENTS_FOR_EACH_MEASURED: Final = 100
"""Events that come together for each one that is measured, on the average."""
_draw: Final = Random().random
"""Apart from the scheduler's generator, whose draws are the same with and without metrics."""


def random_gap(mean: int) -> int:
    """Return a number from 1 to 2 * *mean* - 1."""
    return 1 + int(_draw() * (2 * mean - 1))


def random_tenth() -> slice:
    """Return a slice of about one duration in ten."""
    return slice(int(_draw() * SAMPLED), None, SAMPLED)


def random_gap_of_events() -> int:
    """Return after how many events that come together the next one is measured."""
    return random_gap(EVENTS_FOR_EACH_MEASURED)


def nothing(measured: bool) -> None:
    """Default for callbacks that are set later."""


@define(eq=False)
class MeasuredCycles:
    """Sampling of scheduling cycles: one in ten is measured, :data:`TOGETHER` in a row. Core's thread only.

    Each cycle calls :meth:`begin`. Between two cycles ``_left`` is at least 1: below, the cycles would stay
    measured, or unmeasured, for good.
    """

    turned: Callable[[bool], None] = nothing
    """Called with ``now`` when it changes."""
    now: bool = False
    """Whether the cycle under way, or the last one, is measured."""
    _left: int = field(factory=lambda: random_gap(SAMPLED))
    """Cycles up to the next switch; few at first, so that short runs have measured cycles, too."""

    def begin(self) -> None:
        """Choose whether the cycle that begins is measured."""
        self._left -= 1
        if not self._left:
            self.turn()

    def turn(self) -> None:
        """Switch between measured and unmeasured cycles; at any time."""
        self.now = not self.now
        self._left = TOGETHER if self.now else random_gap((SAMPLED - 1) * TOGETHER)
        self.turned(self.now)
