"""Events for people, from plugins and programs: equal ones in series, and only a few about one object."""

from __future__ import annotations

from threading import Lock
from typing import Final, Literal

from attrs import field

from .._base.value import record
from ..api import ClusterObject
from ..cluster import ClusterPort
from ..cluster.event_log import EventBudgets, EventKey, EventLog
from .runtime.clock import Clock

KEPT: Final = 4096
"""Objects whose budgets are kept, and series that are kept, the latest ones."""


@record(frozen=True)
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


@record(eq=False)
class EventRecorder:
    """Records events of one scheduler in its cluster, and keeps their series. Any thread.

    The rules are those of :mod:`schedframe.cluster.event_log`, by which a real cluster writes them, too.
    """

    cluster: ClusterPort
    clock: Clock
    dropped: int = field(default=0, init=False)
    """Events that were beyond the budget of their object."""
    _log: EventLog = field(factory=lambda: EventLog(KEPT), init=False)
    _budgets: EventBudgets = field(factory=lambda: EventBudgets(KEPT), init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def record(
        self, obj: ClusterObject, reason: str, note: str, *, warning: bool = False, action: str = ""
    ) -> bool:
        """Record for people what happened to *obj*; return whether it was recorded. O(1).

        *reason* and *action* are single words for machines, *note* is a sentence for people. Without an
        action, a remote cluster says Scheduling.
        """
        kind: Literal["Normal", "Warning"] = "Warning" if warning else "Normal"
        version, now = obj.metadata.resource_version, self.clock()
        with self._lock:
            if not self._budgets.spend((obj.KIND, obj.uid or obj.key), now):
                self.dropped += 1
                return False
            key = EventKey(obj.KIND, obj.key, obj.uid, version, kind, reason, action)
            self._log.add(key, note, now)
        self.cluster.record_event(obj, kind, reason, note, action)
        return True

    def series(self) -> tuple[EventSeries, ...]:
        """Return the latest series, the one with the last event at the end."""
        with self._lock:
            return tuple(
                EventSeries(
                    key.kind,
                    key.key,
                    key.type,
                    key.reason,
                    key.action,
                    series.note,
                    series.count,
                    series.first,
                    series.last,
                )
                for key, series in self._log.items()
            )
