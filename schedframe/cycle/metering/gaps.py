"""Which of many calls and events are measured, at random."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Final, TypeVar

LONGEST_GAP: Final = 19
"""Calls from one measured call to the next, at most: ten on the average, as in kube-scheduler."""
SAMPLED: Final = 10
"""Runs of Bind and PreBind for each one that counts as a measured call, too."""
EVENTS_FOR_EACH_MEASURED: Final = 50
"""Events of the cluster for each one that is measured, on the average: there are several for each pod."""
CHOICES: Final = 4093
"""Choices that are drawn in advance and then repeat; a prime, so that they fit no rhythm of the events."""
_draw: Final = Random().random
"""Apart from the scheduler's generator, whose draws are the same with and without metrics."""
_T = TypeVar("_T")


def random_gap() -> int:
    """Return after how many calls the next one is measured, from 1 to :data:`LONGEST_GAP`."""
    return 1 + int(_draw() * LONGEST_GAP)


def random_tenth() -> slice:
    """Return a slice of about one duration in ten."""
    return slice(int(_draw() * SAMPLED), None, SAMPLED)


def choices_of_events(plain: _T, measured: _T) -> Iterator[_T]:
    """Yield *measured* for about one event in fifty, else *plain*, without an end. Any thread."""
    return cycle([measured if _draw() * EVENTS_FOR_EACH_MEASURED < 1 else plain for _ in range(CHOICES)])
