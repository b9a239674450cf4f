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
"""Measured cycles after one another: to exchange the calls of a plan takes longer than to measure some."""
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
    """Stand in for what is not there yet."""


@define(eq=False)
class MeasuredCycles:
    """Which scheduling cycles are measured: one in ten, ten after one another. The core's thread only.

    A cycle calls :meth:`begin`, or does the same itself: the call would take 1 % of the time of a pod.
    """

    turned: Callable[[bool], None] = nothing
    """Called with ``now`` when it changes."""
    now: bool = False
    """Whether the cycle under way, or the last one, is measured."""
    left: int = field(factory=lambda: random_gap(SAMPLED))
    """Cycles up to the next ones that are measured, or that are not; few at first, for short runs."""

    def begin(self) -> None:
        """Choose whether the cycle that begins is measured."""
        self.left -= 1
        if not self.left:
            self.turn()

    def turn(self) -> None:
        """Begin the cycles that are measured, or those that are not; where ``left`` is 0."""
        self.now = not self.now
        self.left = TOGETHER if self.now else random_gap((SAMPLED - 1) * TOGETHER)
        self.turned(self.now)
