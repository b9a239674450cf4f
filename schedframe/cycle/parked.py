"""Bindings that wait for the outside world: for an event or a moment, nobody's thread held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from attrs import define, field
from sortedcontainers import SortedList

from ..errors import InvariantError
from ..queue import ClusterEvent, matches

if TYPE_CHECKING:
    from .core import Attempt

FIRST_VERIFICATION_SECONDS = 1.0
LONGEST_VERIFICATION_SECONDS = 30.0


@define(eq=False)
class Parked:
    """An attempt that waits."""

    attempt: Attempt = field(repr=False)
    uid: str
    deadline: float
    events: tuple[ClusterEvent, ...] = ()
    verify: bool = False
    """Whether to ask the cluster what became of the bind, rather than to go on binding."""


@define(eq=False)
class ParkedBindings:
    """All parked attempts with their deadlines; O(log n) each, O(parked) for an event.

    A plugin that says what it waits for looked at the world a moment ago, off the core. So the last
    occurrence of each kind of event is kept: one that came after the attempt was handed off ends the wait.
    """

    moment: int = 0
    """Number of events so far."""
    _last: dict[ClusterEvent, int] = field(factory=dict)
    """Moment of the last occurrence; as many entries as there are kinds of events."""
    _parked: dict[str, Parked] = field(factory=dict)
    _deadlines: SortedList[tuple[float, str]] = field(factory=SortedList)

    def park(self, attempt: Attempt, uid: str, deadline: float, events: Iterable[ClusterEvent] = ()) -> bool:
        """Go on with the attempt after one of the events, at the latest at *deadline*.

        ``False``, and nothing done, if one of the events came since the attempt was handed off.
        """
        wanted = tuple(events)
        if wanted and self._missed(wanted, attempt.handed_off):
            return False
        self._add(Parked(attempt, uid, deadline, wanted))
        return True

    def verify_later(self, attempt: Attempt, uid: str, now: float) -> None:
        """Ask the cluster what became of the bind, ever less often."""
        doublings = min(attempt.unanswered, 16)
        delay = min(FIRST_VERIFICATION_SECONDS * 2.0**doublings, LONGEST_VERIFICATION_SECONDS)
        attempt.unanswered += 1
        self._add(Parked(attempt, uid, now + delay, verify=True))

    def get(self, uid: str) -> Parked | None:
        """The parked attempt of that pod."""
        return self._parked.get(uid)

    def leave(self, uid: str) -> Parked | None:
        """Take the attempt out; ``None`` if it is not parked."""
        parked = self._parked.pop(uid, None)
        if parked is not None:
            self._deadlines.remove((parked.deadline, uid))
        return parked

    def next_deadline(self) -> float | None:
        """When the next one goes on, ``None`` if nobody waits."""
        return self._deadlines[0][0] if self._deadlines else None

    def due(self, now: float) -> Iterator[Parked]:
        """Take out, one by one, those whose moment has come."""
        while self._deadlines and self._deadlines[0][0] <= now:
            parked = self.leave(self._deadlines[0][1])
            assert parked is not None
            yield parked

    def concerned(self, event: ClusterEvent) -> list[Parked]:
        """Note that *event* came, and take out those that wait for it."""
        self.moment += 1
        self._last[event] = self.moment
        if not self._parked:
            return []
        found = [p for p in self._parked.values() if any(matches(wanted, event) for wanted in p.events)]
        for parked in found:
            self.leave(parked.uid)
        return found

    def _missed(self, wanted: tuple[ClusterEvent, ...], since: int) -> bool:
        return any(
            moment > since and any(matches(event, came) for event in wanted)
            for came, moment in self._last.items()
        )

    def _add(self, parked: Parked) -> None:
        if parked.uid in self._parked:
            raise InvariantError(f"pod {parked.uid} is parked already")
        self._parked[parked.uid] = parked
        self._deadlines.add((parked.deadline, parked.uid))

    def __len__(self) -> int:
        return len(self._parked)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if attempts and deadlines do not fit together; O(n log n)."""
        expected = sorted((parked.deadline, uid) for uid, parked in self._parked.items())
        if expected != list(self._deadlines):
            raise InvariantError("deadlines of parked attempts are not those in their list")
        if any(uid != parked.uid for uid, parked in self._parked.items()):
            raise InvariantError("an attempt is parked under another's uid")
        if any(moment > self.moment for moment in self._last.values()):
            raise InvariantError("an event is kept that has not come yet")
