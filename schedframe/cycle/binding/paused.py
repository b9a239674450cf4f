"""Paused bindings: attempts whose pre_bind returned Wait, or whose bind had no answer, or that are held.

They are resumed by a matching cluster event or by their deadline, those that are held by a current view of
the cluster; no thread is blocked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from math import inf
from typing import Any

from attrs import field
from sortedcontainers import SortedList

from ..._base.value import record
from ...errors import InvariantError
from ...queue import Action, ClusterEvent, EventOf, matches
from ...state import policy
from .attempt import Attempt

FIRST_VERIFICATION_SECONDS = 1.0
LONGEST_VERIFICATION_SECONDS = 30.0
"""Waits before the cluster is asked what became of a bind; each is twice the one before."""

Wanted = ClusterEvent | EventOf


@record(eq=False)
class PausedBinding:
    """One paused attempt."""

    attempt: Attempt = field(repr=False)
    uid: str
    deadline: float
    events: tuple[Wanted, ...] = ()
    verify: bool = False
    """Whether to ask the cluster what became of the bind, rather than to go on binding."""
    held: bool = False
    """Whether it waits until the view of the cluster is current, without a deadline."""


@record(eq=False)
class PausedBindings:
    """All paused attempts with their deadlines; O(log n) each.

    An event costs O(attempts that wait for its kind, or for that very object). It ends the wait also if it
    came after the attempt was submitted to the executor, because pre_bind read the cluster off the core and
    may have missed it. For that, the last occurrence of each kind of event is kept, and that of objects with
    a recent event.
    """

    moment: int = 0
    """Number of events so far."""
    _last: dict[ClusterEvent, int] = field(factory=dict)
    """Moment of the last occurrence; as many entries as there are kinds of events."""
    _last_of: dict[EventOf, tuple[int, str]] = field(factory=dict)
    """The same by object, with the version that it showed; complete for moments after ``_complete``; latest
    events last."""
    _complete: int | None = None
    """``None`` until the first attempt waits for an object."""
    _paused: dict[str, PausedBinding] = field(factory=dict)
    _by_kind: dict[str, PausedBinding] = field(factory=dict)
    """Those that wait for some kind of event."""
    _by_key: dict[str, dict[str, PausedBinding]] = field(factory=dict)
    """Key of an object → those that wait for an event about it."""
    _deadlines: SortedList[tuple[float, str]] = field(factory=SortedList)

    def pause(self, attempt: Attempt, uid: str, deadline: float, events: Iterable[Wanted] = ()) -> bool:
        """Go on with the attempt after one of the events, at the latest at *deadline*.

        ``False``, and nothing done, if one of the events came since the attempt was handed off.
        """
        wanted = tuple(events)
        if any(self._missed(each, attempt.submitted_at) for each in wanted):
            return False
        if self._complete is None and any(isinstance(each, EventOf) for each in wanted):
            self._complete = self.moment
        self._add(PausedBinding(attempt, uid, deadline, wanted))
        return True

    def verify_later(self, attempt: Attempt, uid: str, now: float) -> None:
        """Ask the cluster what became of the bind, ever less often."""
        doublings = min(attempt.unknown_outcomes, 16)
        delay = min(FIRST_VERIFICATION_SECONDS * 2.0**doublings, LONGEST_VERIFICATION_SECONDS)
        attempt.unknown_outcomes += 1
        self._add(PausedBinding(attempt, uid, now + delay, verify=True))

    def hold(self, attempt: Attempt, uid: str) -> None:
        """Let the attempt wait for :meth:`release`."""
        self._add(PausedBinding(attempt, uid, inf, held=True))

    def release(self) -> Iterator[PausedBinding]:
        """Take out, one by one, those that are held, in their order. O(paused)."""
        for uid in [uid for uid, paused in self._paused.items() if paused.held]:
            paused = self.leave(uid)
            if paused is not None:  # else the one before has ended it
                yield paused

    def resume_at(self, paused: PausedBinding, moment: float) -> None:
        """Let an attempt that was taken out wait again, for no event and until *moment*."""
        self._add(PausedBinding(paused.attempt, paused.uid, moment, verify=paused.verify))

    def get(self, uid: str) -> PausedBinding | None:
        """Return the paused attempt of that pod."""
        return self._paused.get(uid)

    def leave(self, uid: str) -> PausedBinding | None:
        """Take the attempt out; ``None`` if it is not paused."""
        paused = self._paused.pop(uid, None)
        if paused is not None:
            if not paused.held:
                self._deadlines.remove((paused.deadline, uid))
            self._by_kind.pop(uid, None)
            for key in _keys(paused):
                waiting = self._by_key[key]
                del waiting[uid]
                if not waiting:
                    del self._by_key[key]
        return paused

    def next_deadline(self) -> float | None:
        """Return when the next one is resumed, ``None`` if none is due by itself."""
        return self._deadlines[0][0] if self._deadlines else None

    def due(self, now: float) -> Iterator[PausedBinding]:
        """Take out, one by one, those whose moment has come."""
        while self._deadlines and self._deadlines[0][0] <= now:
            paused = self.leave(self._deadlines[0][1])
            assert paused is not None
            yield paused

    def concerned(self, event: ClusterEvent, subject: Any = None) -> list[PausedBinding]:
        """Note that *event* came, about an object, and take out those that wait for it."""
        self.moment += 1
        self._last[event] = self.moment
        key = version = ""
        if self._complete is not None and subject is not None:
            key, version = subject.key, _version_in(event, subject)
            self._remember(EventOf(event, key), version)
        if not self._paused:
            return []
        candidates = self._by_kind | self._by_key[key] if key in self._by_key else self._by_kind
        found = [
            p for p in candidates.values() if any(_is_met(wanted, event, key, version) for wanted in p.events)
        ]
        for paused in found:
            self.leave(paused.uid)
        return found

    def _remember(self, came: EventOf, version: str) -> None:
        last = self._last_of
        last.pop(came, None)
        last[came] = self.moment, version
        if len(last) > 2 * policy.KEPT_CHANGES:
            for old in list(islice(last, policy.KEPT_CHANGES)):
                self._complete, _ = last.pop(old)

    def _missed(self, wanted: Wanted, since: int) -> bool:
        """Return whether it came after *since*; in doubt, yes: to look once more does no harm."""
        event = wanted.event if isinstance(wanted, EventOf) else wanted
        came = [last for last, moment in self._last.items() if moment > since and matches(event, last)]
        if not isinstance(wanted, EventOf) or self._complete is None or since < self._complete:
            return bool(came)
        for last in came:
            moment, version = self._last_of.get(EventOf(last, wanted.key), (0, ""))
            if moment > since and not _is_seen(wanted, version):
                return True
        return False

    def _add(self, paused: PausedBinding) -> None:
        if paused.uid in self._paused:
            raise InvariantError(f"pod {paused.uid} is paused already")
        self._paused[paused.uid] = paused
        if not paused.held:
            self._deadlines.add((paused.deadline, paused.uid))
        for key in _keys(paused):
            self._by_key.setdefault(key, {})[paused.uid] = paused
        if any(isinstance(wanted, ClusterEvent) for wanted in paused.events):
            self._by_kind[paused.uid] = paused

    def __len__(self) -> int:
        return len(self._paused)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if attempts and deadlines do not fit together; O(n log n)."""
        expected = sorted((paused.deadline, uid) for uid, paused in self._paused.items() if not paused.held)
        if expected != list(self._deadlines):
            raise InvariantError("deadlines of paused attempts are not those in their list")
        if any(uid != paused.uid for uid, paused in self._paused.items()):
            raise InvariantError("an attempt is paused under another's uid")
        if any(moment > self.moment for moment in self._last.values()):
            raise InvariantError("an event is kept that has not come yet")
        filed = {(key, uid) for key, waiting in self._by_key.items() for uid in waiting}
        if filed != {(key, uid) for uid, paused in self._paused.items() for key in _keys(paused)}:
            raise InvariantError("attempts that wait for an object are not filed under its key")


def _keys(paused: PausedBinding) -> set[str]:
    return {wanted.key for wanted in paused.events if isinstance(wanted, EventOf)}


def _version_in(event: ClusterEvent, subject: Any) -> str:
    """Return the resource version that an event shows; empty for a deletion, which is always news."""
    shown: str = "" if event.actions & Action.DELETE else subject.metadata.resource_version
    return shown


def _is_seen(wanted: EventOf, version: str) -> bool:
    """Return whether an event about the object brought nothing but the version that was looked at."""
    return bool(version) and wanted.seen_version == version


def _is_met(wanted: Wanted, event: ClusterEvent, key: str, version: str) -> bool:
    if isinstance(wanted, EventOf):
        return wanted.key == key and matches(wanted.event, event) and not _is_seen(wanted, version)
    return matches(wanted, event)
