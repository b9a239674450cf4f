"""Pods that were popped and are not done, and the events since then."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from .._base.brief import brief_of
from ..errors import InvariantError
from .events import WILDCARD, ClusterEvent
from .queued_pod import QueuedPodInfo

DEFAULT_MAX_EVENTS = 100_000
"""Events kept for pods in flight, beyond which the older half is merged into one wildcard."""
_MIN_PRUNED = 16
"""Stale events that are kept rather than moving all later ones in the list."""


class RecordedEvent(NamedTuple):
    """An event kept for the pods in flight, with its objects."""

    event: ClusterEvent
    old: Any
    new: Any
    rolled_back: int | None = None
    """See :meth:`PriorityQueue.move_all`."""


class InFlight:
    """One list of events for all pods in flight, and for each pod the position of its first event.

    Nothing is kept while no pod is in flight, and nothing older than the oldest pod in flight. Adding,
    recording and finishing are O(1) amortised. If more than *max_events* pile up behind a pod that does not
    come back, the older half is replaced by one wildcard event: a pod that fails after that is tried again
    without running hints, which costs an attempt, but nothing is missed and memory is bounded.
    """

    __slots__ = ("_base", "_deleted", "_events", "_max_events", "flights")

    def __init__(self, max_events: int = DEFAULT_MAX_EVENTS) -> None:
        if max_events < 1:
            raise ValueError(f"max_events is {max_events}; keep at least one event")
        self._max_events = max_events
        self.flights: OrderedDict[str, tuple[QueuedPodInfo, int]] = OrderedDict()
        """By uid, with the number of the first event after the pop; read-only."""
        self._deleted: set[str] = set()
        self._events: list[RecordedEvent] = []
        self._base = 0  # number of the first event in the list

    def start(self, info: QueuedPodInfo) -> bool:
        """Record that *info* was popped. ``False``, and no change, if its uid is in flight already."""
        flights, uid = self.flights, info.uid
        if uid in flights:
            return False
        flights[uid] = info, self._base + len(self._events)
        return True

    def finish(self, uid: str) -> bool:
        """End the flight of a pod; return whether it was deleted since its pop. Unknown uids do nothing."""
        self.flights.pop(uid, None)
        if self._events:
            self._prune()
        deleted = self._deleted
        if not deleted or uid not in deleted:
            return False
        deleted.remove(uid)
        return True

    def record(self, event: ClusterEvent, old: Any, new: Any, *, rolled_back: int | None = None) -> None:
        """Keep an event for the pods in flight, if there are any."""
        if not self.flights:
            return
        self._events.append(RecordedEvent(event, old, new, rolled_back))
        if len(self._events) > self._max_events:
            self._collapse()

    def events_since_pop(self, uid: str) -> list[RecordedEvent]:
        """Return the events since that pod was popped, oldest first. ``KeyError`` if it is not in flight."""
        return self._events[max(0, self.flights[uid][1] - self._base) :]

    def mark_deleted(self, uid: str) -> None:
        """Record that the cluster deleted the pod, if it is in flight."""
        if uid in self.flights:
            self._deleted.add(uid)

    def revive(self, uid: str) -> QueuedPodInfo | None:
        """Undo :meth:`mark_deleted`; return the pod, ``None`` if it is not in flight."""
        flight = self.flights.get(uid)
        if flight is None:
            return None
        self._deleted.discard(uid)
        return flight[0]

    def rest(self, uid: str, until: int) -> bool:
        """Let the pod rest up to that second once it is queued again; ``False`` if it is not in flight."""
        flight = self.flights.get(uid)
        if flight is not None:
            flight[0].not_before = until
        return flight is not None

    def is_deleted(self, uid: str) -> bool:
        """Return whether that pod is in flight and deleted."""
        return uid in self._deleted

    def infos(self) -> list[QueuedPodInfo]:
        """Return all pods in flight, in the order of their pops."""
        return [info for info, _ in self.flights.values()]

    def recorded(self) -> list[RecordedEvent]:
        """Return the events that are kept, oldest first. Any thread."""
        return list(self._events)

    def log(self) -> Iterator[str | RecordedEvent]:
        """Yield uids of pods and events in the order of their arrival. O(n)."""
        position = self._base
        events = iter(self._events)
        started = False
        for uid, (_, start) in self.flights.items():
            while position < start:
                event = next(events)
                position += 1
                if started:
                    yield event
            started = True
            yield uid
        if started:
            yield from events

    def clear(self) -> None:
        """Remove everything."""
        self.flights.clear()
        self._deleted.clear()
        self._events.clear()

    def __contains__(self, uid: object) -> bool:
        return uid in self.flights

    def __len__(self) -> int:
        return len(self.flights)

    def __repr__(self) -> str:
        return brief_of(self, len=len(self))

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if events are kept without need, or pods are out of order."""
        if self._events and not self.flights:
            raise InvariantError(f"{len(self._events)} events are kept while no pod is in flight")
        if not self._deleted <= self.flights.keys():
            raise InvariantError("pods are marked as deleted that are not in flight")
        starts = [start for _, start in self.flights.values()]
        if starts != sorted(starts):
            raise InvariantError("pods in flight are not in the order of their pops")
        if starts and starts[-1] > self._base + len(self._events):
            raise InvariantError("a pod in flight was popped after events that have not happened")
        if len(self._events) > self._max_events:
            raise InvariantError(f"{len(self._events)} events are kept, at most {self._max_events} should be")
        if starts and 2 * (starts[0] - self._base) > max(len(self._events), 2 * _MIN_PRUNED):
            raise InvariantError("more than half of the events are older than every pod in flight")

    def _prune(self) -> None:
        if not self.flights:
            self._base += len(self._events)
            self._events.clear()
            return
        oldest = next(iter(self.flights.values()))[1]
        stale = oldest - self._base
        # Deleting from the front moves the rest. Waiting until it is half of all keeps that O(1) amortised.
        if stale > _MIN_PRUNED and 2 * stale >= len(self._events):
            del self._events[:stale]
            self._base = oldest

    def _collapse(self) -> None:
        half = len(self._events) // 2 + 1
        self._events[:half] = [RecordedEvent(WILDCARD, None, None)]
        # Every pod popped before or within the older half now starts at the wildcard.
        self._base += half - 1
        for uid, (info, start) in self.flights.items():
            self.flights[uid] = info, max(start, self._base)
