"""Series of equal events, and budgets against too many of them: the rules of client-go's recorders.

Events about one version of an object with equal type, reason, action and controller are one series, however
their notes differ, as long as the next one comes within :data:`SERIES_SECONDS`. Where series are written is
left to the users of the log: the scheduler's recorder keeps them in memory, a real cluster writes them to its
API server.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from attrs import field

from .._base.value import record

SERIES_SECONDS: Final = 360.0
"""Seconds after its last event at which a series ends."""
BURST: Final = 25
"""Events about one object that are recorded at once, at most."""
REFILL_SECONDS: Final = 300.0
"""Seconds in which the budget of an object grows by one event."""


class EventKey(NamedTuple):
    """The fields that events of one series share."""

    kind: str
    key: str
    """The object's key."""
    uid: str
    version: str
    """The object's resource version."""
    type: str
    reason: str
    action: str
    controller: str = ""
    """Name of the scheduler that reports the event."""


@record(eq=False)
class Series:
    """Equal events so far."""

    note: str
    """Of the last event."""
    first: float
    last: float
    count: int = 1


@record(eq=False)
class EventLog:
    """The latest series by their keys, the one with the last event at the end. Not for several threads."""

    most: int
    """Series that are kept."""
    on_end: Callable[[EventKey, Series], None] | None = None
    """Called with each series that is kept no longer."""
    _series: OrderedDict[EventKey, Series] = field(factory=OrderedDict, init=False)

    def add(self, key: EventKey, note: str, moment: float) -> Series:
        """Count an event, and return its series: a new one, with count 1, if there is none. O(1)."""
        series = self._series.pop(key, None)
        if series is None or _has_ended(series, moment):
            if series is not None:
                self._end(key, series)
            series = Series(note, moment, moment)
        else:
            series.note, series.last, series.count = note, moment, series.count + 1
        self._series[key] = series
        if len(self._series) > self.most:
            self._end(*self._series.popitem(last=False))
        return series

    def remove(self, key: EventKey) -> None:
        """Let the next event of *key* begin a series; ``on_end`` is not called."""
        self._series.pop(key, None)

    def end_old(self, moment: float) -> float | None:
        """End the series whose time has come; return when the next one ends unless an event comes.

        ``None`` without any series. O(series that end).
        """
        while self._series:
            key, series = next(iter(self._series.items()))
            if not _has_ended(series, moment):
                return series.last + SERIES_SECONDS
            del self._series[key]
            self._end(key, series)
        return None

    def items(self) -> list[tuple[EventKey, Series]]:
        """Return the series that are kept. O(series)."""
        return list(self._series.items())

    def _end(self, key: EventKey, series: Series) -> None:
        if self.on_end is not None:
            self.on_end(key, series)


def _has_ended(series: Series, moment: float) -> bool:
    return moment - series.last >= SERIES_SECONDS


@record(eq=False)
class EventBudgets:
    """A budget for each object: :data:`BURST` events, and one more in :data:`REFILL_SECONDS`."""

    most: int
    """Objects that are remembered; a forgotten one has its whole budget again."""
    _budgets: OrderedDict[tuple[str, str], tuple[float, float]] = field(factory=OrderedDict, init=False)
    """Object → events left, and as of when."""

    def spend(self, about: tuple[str, str], moment: float) -> bool:
        """Take one event from the budget of an object; return whether there was one. O(1)."""
        left, since = self._budgets.pop(about, (float(BURST), moment))
        left = min(BURST, left + (moment - since) / REFILL_SECONDS)
        allowed = left >= 1
        self._budgets[about] = (left - 1 if allowed else left), moment
        if len(self._budgets) > self.most:
            self._budgets.popitem(last=False)
        return allowed

    def __len__(self) -> int:
        """Return the number of objects that are remembered."""
        return len(self._budgets)
