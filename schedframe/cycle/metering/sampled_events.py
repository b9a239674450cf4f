"""Sampling of cluster events for their handling time, at no cost for each event that is not measured.

Events are posted with one of two handlers. :meth:`SampledEvents.begin` switches from the plain one to the
sampling one, the first event that the latter handles switches back. That event is measured, and one in a
hundred of those posted in between. A switch that is not undone would cost a call for each event.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from ...cluster import WatchEvent
from .gaps import nothing, random_gap_of_events

Handler = Callable[[WatchEvent], None]


@define(eq=False)
class SampledEvents:
    """The sampling handler. The core's thread only; events may be posted in any thread."""

    plain: Handler
    timed: Handler
    """As ``plain``, and measures."""
    divert: Callable[[bool], None] = nothing
    """Has events posted to :meth:`handle` if it is called with true, else to ``plain``."""
    _awaits_first: bool = False
    """Whether events are posted here; from :meth:`begin` until one of them is handled."""
    _left: int = field(factory=random_gap_of_events)
    """Events up to the next one that is measured; at least 1 between events, else none ever is again."""

    def begin(self) -> None:
        """Measure the next event that is posted."""
        if not self._awaits_first:
            self._awaits_first = True
            self._left = 1
            self.divert(True)

    def handle(self, event: WatchEvent) -> None:
        """Handle an event that was posted here."""
        self._left -= 1
        if self._left:
            self.plain(event)
            return
        if self._awaits_first:
            self._awaits_first = False
            self.divert(False)
        self._left = random_gap_of_events()
        self.timed(event)
