"""Changes of the cluster that are repeated while pods are scheduled."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from .._base.value import record


class Unit(Enum):
    """Unit of the interval of an interference."""

    SECONDS = "seconds"
    """Of the scheduler's clock."""
    CYCLES = "cycles"
    """Measured scheduling cycles."""


@record(eq=False)
class Interference:
    """A change that is made every *interval* seconds or cycles, from the first interval on."""

    interval: float
    unit: Unit
    act: Callable[[], bool]
    """Make the change once; return False if that was the last time."""
    due: float = 0.0
    """Second or number of cycles of the next change."""

    def start(self, position: float) -> None:
        """Let the first interval begin at *position*."""
        self.due = position + self.interval

    def act_if_due(self, position: float) -> bool:
        """Make the change if it is due; return False if that was the last time.

        Missed changes are not made up for, as with a ticker of Go.
        """
        if position < self.due:
            return True
        self.due = max(self.due + self.interval, position)
        return self.act()
