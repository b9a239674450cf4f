"""Which of many calls and events are measured, at random."""

from __future__ import annotations

from random import Random
from typing import Final

LONGEST_GAP: Final = 19
"""Calls from one measured call to the next, at most: ten on the average, as in kube-scheduler."""
SAMPLED: Final = 10
"""Runs of Bind and PreBind for each one that counts as a measured call, too."""
EVENTS_FOR_EACH_MEASURED: Final = 100
"""Events of the cluster for each one that is measured, on the average: there are several for each pod."""
_draw: Final = Random().random
"""Apart from the scheduler's generator, whose draws are the same with and without metrics."""


def random_gap() -> int:
    """Return after how many calls the next one is measured, from 1 to :data:`LONGEST_GAP`."""
    return 1 + int(_draw() * LONGEST_GAP)


def random_tenth() -> slice:
    """Return a slice of about one duration in ten."""
    return slice(int(_draw() * SAMPLED), None, SAMPLED)


def random_gap_of_events() -> int:
    """Return after how many events the next one is measured."""
    return 1 + int(_draw() * (2 * EVENTS_FOR_EACH_MEASURED - 1))
