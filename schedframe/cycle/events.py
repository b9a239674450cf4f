"""Events for people, from plugins and programs: equal ones in series, and only a few about one object.

The rules are client-go's. Events about one version of an object with equal type, reason and action are one
series as long as none is missing for :data:`SERIES_SECONDS`. An object has a budget of :data:`BURST` events,
which grows by one in :data:`REFILL_SECONDS`; events beyond it are dropped and counted.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final, Literal

from attrs import define, evolve, field, frozen

from .._brief import brief_repr
from ..api import ClusterObject
from ..cluster import ClusterPort
from .runtime.clock import Clock

SERIES_SECONDS: Final = 360.0
"""Seconds after its last event at which a series ends."""
BURST: Final = 25
"""Events about one object that are recorded at once, at most."""
REFILL_SECONDS: Final = 300.0
"""Seconds in which the budget of an object grows by one event."""
KEPT: Final = 4096
"""Objects whose budgets, and series that are kept, the latest ones."""


@brief_repr
@frozen
class EventSeries:
    """Equal events about one object. Times are seconds of the scheduler's clock."""

    kind: str
    key: str
    """The object's key."""
    type: str
    """``Normal`` or ``Warning``."""
    reason: str
    action: str
    note: str
    """Of the last event."""
    count: int
    first: float
    last: float


@brief_repr
@define(eq=False)
class EventRecorder:
    """Records events of one scheduler in its cluster, and keeps their series. Any thread."""

    cluster: ClusterPort
    clock: Clock
    dropped: int = field(default=0, init=False)
    """Events that were beyond the budget of their object."""
    _series: OrderedDict[tuple[str, ...], EventSeries] = field(factory=OrderedDict, init=False)
    _budgets: OrderedDict[tuple[str, str], tuple[float, float]] = field(factory=OrderedDict, init=False)
    """Object → events left, and as of when."""
    _lock: Lock = field(factory=Lock, init=False)

    def record(
        self, obj: ClusterObject, reason: str, note: str, *, warning: bool = False, action: str = ""
    ) -> bool:
        """Tell people what happened to *obj*; return whether it was recorded. O(1).

        *reason* and *action* are single words for machines, *note* is a sentence for people. Without an
        action, a remote cluster says Scheduling.
        """
        kind: Literal["Normal", "Warning"] = "Warning" if warning else "Normal"
        now = self.clock()
        with self._lock:
            if not self._spend((obj.KIND, obj.uid or obj.key), now):
                self.dropped += 1
                return False
            self._count(obj, (kind, reason, action), note, now)
        self.cluster.record_event(obj, kind, reason, note, action)
        return True

    def series(self) -> tuple[EventSeries, ...]:
        """Return the latest series, the one with the last event at the end."""
        with self._lock:
            return tuple(self._series.values())

    def _spend(self, about: tuple[str, str], now: float) -> bool:
        left, since = self._budgets.pop(about, (float(BURST), now))
        left = min(BURST, left + (now - since) / REFILL_SECONDS)
        allowed = left >= 1
        self._budgets[about] = (left - 1 if allowed else left), now
        if len(self._budgets) > KEPT:
            self._budgets.popitem(last=False)
        return allowed

    def _count(self, obj: ClusterObject, what: tuple[str, str, str], note: str, now: float) -> None:
        kind, reason, action = what
        key = (obj.KIND, obj.key, obj.uid, obj.metadata.resource_version, *what)
        known = self._series.pop(key, None)
        if known is None or now - known.last > SERIES_SECONDS:
            found = EventSeries(obj.KIND, obj.key, kind, reason, action, note, 1, now, now)
        else:
            found = evolve(known, note=note, count=known.count + 1, last=now)
        self._series[key] = found
        if len(self._series) > KEPT:
            self._series.popitem(last=False)
