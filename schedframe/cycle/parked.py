"""Bindings that wait for the outside world: for an event or a moment, nobody's thread held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field
from sortedcontainers import SortedList

from ..queue import ClusterEvent, matches

FIRST_VERIFICATION_SECONDS = 1.0
LONGEST_VERIFICATION_SECONDS = 30.0


@define(eq=False)
class Parked:
    """An attempt that waits."""

    attempt: Any
    uid: str
    deadline: float
    events: tuple[ClusterEvent, ...] = ()
    verify: bool = False
    """Whether to ask the cluster what became of the bind, rather than to go on binding."""


@define(eq=False)
class ParkedBindings:
    """All parked attempts with their deadlines; O(log n) each, O(parked) for an event."""

    _parked: dict[str, Parked] = field(factory=dict)
    _deadlines: SortedList[tuple[float, str]] = field(factory=SortedList)
    _tries: dict[str, int] = field(factory=dict)

    def park(self, attempt: Any, uid: str, deadline: float, events: Iterable[ClusterEvent] = ()) -> None:
        """Go on with the attempt after one of the events, at the latest at *deadline*."""
        self._add(Parked(attempt, uid, deadline, tuple(events)))

    def verify_later(self, attempt: Any, uid: str, now: float) -> None:
        """Ask the cluster what became of the bind, ever less often."""
        tries = self._tries.get(uid, 0)
        self._tries[uid] = tries + 1
        delay = min(FIRST_VERIFICATION_SECONDS * 2.0**tries, LONGEST_VERIFICATION_SECONDS)
        self._add(Parked(attempt, uid, now + delay, verify=True))

    def get(self, uid: str) -> Parked | None:
        """The parked attempt of that pod."""
        return self._parked.get(uid)

    def leave(self, uid: str) -> Parked | None:
        """Take the attempt out for good; ``None`` if it is not parked."""
        self._tries.pop(uid, None)
        return self._take(uid)

    def next_deadline(self) -> float | None:
        """When the next one goes on, ``None`` if nobody waits."""
        return self._deadlines[0][0] if self._deadlines else None

    def due(self, now: float) -> Iterator[Parked]:
        """Take out, one by one, those whose moment has come."""
        while self._deadlines and self._deadlines[0][0] <= now:
            parked = self._take(self._deadlines[0][1])
            assert parked is not None
            yield parked

    def concerned(self, event: ClusterEvent) -> list[Parked]:
        """Take out those that wait for *event*."""
        if not self._parked:
            return []
        found = [p for p in self._parked.values() if any(matches(wanted, event) for wanted in p.events)]
        for parked in found:
            self._take(parked.uid)
        return found

    def _add(self, parked: Parked) -> None:
        self._parked[parked.uid] = parked
        self._deadlines.add((parked.deadline, parked.uid))

    def _take(self, uid: str) -> Parked | None:
        parked = self._parked.pop(uid, None)
        if parked is not None:
            self._deadlines.remove((parked.deadline, uid))
        return parked

    def __len__(self) -> int:
        return len(self._parked)
