"""Which events of the cluster are measured: some, chosen where choosing costs no event that is not measured.

What posts events hands them to a plain handler, and for a while to one that samples: from a moment that the
scheduler chooses until the first of them is handled. That one is measured, and of those that were posted in
the meantime one in a hundred.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from ...cluster import WatchEvent
from .gaps import nothing, random_gap_of_events

Handler = Callable[[WatchEvent], None]


@define(eq=False)
class SampledEvents:
    """The handler that samples. The core's thread only."""

    plain: Handler
    timed: Handler
    """As ``plain``, and measures."""
    divert: Callable[[bool], None] = nothing
    """Has events posted to :meth:`handle` if it is called with true, else to ``plain``."""
    _awaits_first: bool = False
    _left: int = field(factory=random_gap_of_events)

    def begin(self) -> None:
        """Measure the next event that is posted."""
        if not self._awaits_first:
            self._awaits_first = True
            self.divert(True)

    def handle(self, event: WatchEvent) -> None:
        """Handle an event that was posted here."""
        self._left -= 1
        if self._awaits_first:
            self._awaits_first = False
            self.divert(False)
        elif self._left > 0:
            self.plain(event)
            return
        self._left = random_gap_of_events()
        self.timed(event)
