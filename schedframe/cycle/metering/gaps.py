"""Which of many calls and events are measured, at random."""

from __future__ import annotations

from random import Random
from typing import Final

LONGEST_GAP: Final = 19
"""Calls from one measured call to the next, at most: ten on the average, as in kube-scheduler."""
LONGEST_EVENT_GAP: Final = 99
"""Events of the cluster from one measured event to the next, at most: there are several for each pod."""
_draw: Final = Random().random
"""Apart from the scheduler's generator, whose draws are the same with and without metrics."""


def random_gap(longest: int = LONGEST_GAP) -> int:
    """Return after how many calls the next one is measured, from 1 to *longest*."""
    return 1 + int(_draw() * longest)


def event_gap() -> int:
    """Return after how many events of the cluster the next one is measured."""
    return random_gap(LONGEST_EVENT_GAP)
