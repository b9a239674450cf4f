"""Cohort: rejected pods that wait together, because all that the queue knows of them is equal.

The pools hold one entry for all of them, the *history*, in place of an entry each. A cohort files its members
by class, in the order of their places. Attempts, rejections and places of members are kept relative to those
of the cohort, so that one addition changes all.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import count, islice
from math import inf
from operator import attrgetter
from typing import Any, Final

from attrs import field

from ..._base.value import record
from ...errors import InvariantError
from ..queued_pod import NO_PLUGINS, Pool, QueuedPodInfo, copied
from .known_outcomes import PodClass

_numbers = count(1)
_place: Final = attrgetter("place")
_MIN_GAP = 64
"""Removed members at the front of a line up to which the list is not moved."""


@record(eq=False)
class Line:
    """Members of a cohort that are of one class, in the order of their places; these are relative."""

    pod_class: PodClass
    cohort: Cohort
    reported: str | None = None
    """The ``report`` of the class that the cluster shows for all members; ``None``: they differ."""
    _members: list[Any] = field(factory=list)
    """Those that left from the front are ``None``, so that leaving there costs O(1)."""
    _start: int = 0
    """Position of the first member."""

    def __len__(self) -> int:
        return len(self._members) - self._start

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return islice(self._members, self._start, None)

    @property
    def head(self) -> QueuedPodInfo:
        """The first member. O(1)."""
        found: QueuedPodInfo = self._members[self._start]
        return found

    def first(self, attempted: int) -> QueuedPodInfo | None:
        """Return the first member from that relative place on, ``None`` without one. O(log n)."""
        members, start = self._members, self._start
        if members[start].place < attempted:
            start = bisect_left(members, attempted, lo=start, key=_place)
            if start == len(members):
                return None
        found: QueuedPodInfo = members[start]
        return found

    def add(self, member: QueuedPodInfo) -> None:
        """Add a member. O(1) at either end, else O(n) moves in a list."""
        member.line = self
        members, start = self._members, self._start
        if len(members) == start or members[-1].place < member.place:
            members.append(member)
        elif start and member.place < members[start].place:
            self._start = start - 1
            members[start - 1] = member
        else:
            insort(members, member, lo=start, key=_place)

    def remove(self, member: QueuedPodInfo) -> None:
        """Remove a member. O(1) amortised at the front, else O(n) moves in a list."""
        members, start = self._members, self._start
        if members[start] is not member:
            del members[bisect_left(members, member.place, lo=start, key=_place)]
            return
        members[start] = None
        self._start = start + 1
        if start >= _MIN_GAP and 2 * start >= len(members):
            del members[: start + 1]
            self._start = 0

    def cut(self, place: int, cohort: Cohort) -> Line | None:
        """Move the members before that relative place to a line of *cohort*, if there are any. O(moved)."""
        members, start = self._members, self._start
        if members[start].place >= place:
            return None
        end = bisect_left(members, place, lo=start, key=_place)
        part = Line(self.pod_class, cohort, self.reported, members[start:end])
        for member in part:
            member.line = part
        del members[:end]
        self._start = 0
        return part


@record(eq=False)
class Cohort:
    """Pods with one history, filed by class."""

    history: QueuedPodInfo
    """Stands for the members in the pools; its key is no pod's."""
    lines: dict[PodClass, Line] = field(factory=dict)
    size: int = 0
    shift: int = 0
    """Added to the places of all members."""
    lowest: int = 0
    """No member has a lower place."""
    highest: int = 0
    """No member has a higher place."""
    rejectors_as_of: int = -1
    """Changes of rejectors up to which all classes are known to have those of the history."""
    known_as_of: int = -1
    """Result of :meth:`.KnownOutcomes.look` when all classes were known; -1 if some may not be."""
    _order: list[tuple[int, int, Line]] | None = None
    """Lines by the places of their heads, now or before members left; ``None``: to be sorted."""

    @classmethod
    def like(cls, info: QueuedPodInfo) -> Cohort:
        """Return an empty cohort with the history of *info*."""
        history = copied(info)
        history.line = None
        history.key = history.uid = f"\0{next(_numbers)}"
        cohort = history.cohort = cls(history, lowest=info.place, highest=info.place)
        return cohort

    # ---- members -----------------------------------------------------------------------------------------

    def add(self, member: QueuedPodInfo, pod_class: PodClass) -> None:
        """Add a pod that waits alone and has this history, but for its counts."""
        line, history, place = self.lines.get(pod_class), self.history, member.place
        if line is None:
            line = self.lines[pod_class] = Line(pod_class, self, pod_class.report)
            self.known_as_of = -1
        elif line.reported != pod_class.report:
            line.reported = None
        member.attempts -= history.attempts
        member.unschedulable_count -= history.unschedulable_count
        member.place -= self.shift
        line.add(member)
        self.size += 1
        self.rejectors_as_of = -1
        if self._order is not None and line.head is member:
            insort(self._order, (member.place, id(line), line))
        self._include(place, place)

    def _include(self, lowest: int, highest: int) -> None:
        self.lowest, self.highest = min(self.lowest, lowest), max(self.highest, highest)
        self.history.place = min(self.history.place, lowest)

    def shift_by(self, distance: int) -> None:
        """Add *distance* to the places of all members. O(1)."""
        self.shift += distance
        self.lowest += distance
        self.highest += distance
        self.history.place += distance

    def place_of(self, member: QueuedPodInfo) -> int:
        """Return the place of a member."""
        return member.place + self.shift

    def view(self, member: QueuedPodInfo) -> QueuedPodInfo:
        """Return a copy of a member with its history."""
        history = self.history
        found = copied(history)
        found.pod, found.key, found.uid, found.cohort = member.pod, member.key, member.uid, None
        found.initial_attempt, found.place = member.initial_attempt, member.place + self.shift
        found.attempts = member.attempts + history.attempts
        found.unschedulable_count = member.unschedulable_count + history.unschedulable_count
        return found

    def release(self, member: QueuedPodInfo) -> None:
        """Remove a member and give it its history: it is in the pool of the cohort, and waits alone. O(1)."""
        history = self.history
        self.drop(member)
        member.attempts += history.attempts
        member.unschedulable_count += history.unschedulable_count
        member.place += self.shift
        member.pool, member.timestamp, member.popped = history.pool, history.timestamp, history.popped
        member.moment, member.backoff_expiry = history.moment, history.backoff_expiry
        member.unschedulable_plugins, member.pending_plugins = history.unschedulable_plugins, NO_PLUGINS
        member.error_count, member.gating_plugin, member.flushed = 0, "", history.flushed

    def drop(self, member: QueuedPodInfo) -> None:
        """Remove a member that is gone. O(1) at the front of its class."""
        line = line_of(member)
        line.remove(member)
        member.line = None
        if not line:
            del self.lines[line.pod_class]
        self.size -= 1

    def views(self) -> list[QueuedPodInfo]:
        """Return copies of all members. O(n)."""
        return list(map(self.view, self))

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        for line in self.lines.values():
            yield from line

    # ---- the first member --------------------------------------------------------------------------------

    def has_between(self, first: int, end: int) -> bool:
        """Return whether a member has a place from *first* on and before *end*.

        O(1) if *end* is no higher than ``lowest``, else O(lines · log n).
        """
        if end <= self.lowest or first > self.highest:
            return False
        shift = self.shift
        members = (line.first(first - shift) for line in self.lines.values())
        if any(member is not None and member.place + shift < end for member in members):
            return True
        if first <= self.lowest:
            self.lowest = end
        return False

    def first_of(self, lines: Iterable[Line], attempted: int) -> QueuedPodInfo | None:
        """Return the first member of *lines* that has that place or a higher one. O(lines)."""
        firsts = [line.first(attempted - self.shift) for line in lines]
        return min((member for member in firsts if member is not None), key=_place, default=None)

    def first_of_all(self, must_try: Callable[[PodClass], bool], attempted: int) -> QueuedPodInfo | None:
        """As :meth:`first_of` for the classes that must be tried. O(lines whose heads are before it)."""
        order = self._order
        if order is None:
            order = self._order = sorted((line.head.place, id(line), line) for line in self.lines.values())
        best: QueuedPodInfo | None = None
        at = 0
        while at < len(order):
            front, _, line = order[at]
            present = line.head.place if line and line.cohort is self else front
            if present != front or not line or line.cohort is not self:
                del order[at]
                if present > front:
                    insort(order, (present, id(line), line))
                continue
            if best is not None and front >= best.place:
                break
            member = line.first(attempted - self.shift) if must_try(line.pod_class) else None
            if member is not None and (best is None or member.place < best.place):
                best = member
            at += 1
        return best

    # ---- parts -------------------------------------------------------------------------------------------

    def split(self, goes: Callable[[Line], bool]) -> Cohort | None:
        """Move the lines for which *goes* is true to a cohort of their own, if there are any. O(lines)."""
        moved = [line for line in self.lines.values() if goes(line)]
        for line in moved:
            del self.lines[line.pod_class]
        return self._part(moved, self.highest)

    def split_before(self, place: int) -> Cohort | None:
        """Move the members before a place to one of their own; ``None`` if none is, this one if all are.

        O(1) if it is no higher than ``lowest`` or above ``highest``, else O(lines + members moved).
        """
        if place <= self.lowest:
            return None
        if place > self.highest:
            return self
        cuts = [line.cut(place - self.shift, self) for line in self.lines.values()]
        self.lines = {pod_class: line for pod_class, line in self.lines.items() if line}
        if not self.lines:  # ``highest`` was above the last member
            self.lines, self._order = {line.pod_class: line for line in cuts if line is not None}, None
            return self
        part = self._part([line for line in cuts if line is not None], place)
        self.lowest = self.history.place = place
        return part

    def _part(self, lines: list[Line], highest: int) -> Cohort | None:
        """Return a cohort of *lines*, which are no longer among those of this one."""
        if not lines:
            return None
        part = Cohort.like(self.history)
        part.shift, part.known_as_of = self.shift, self.known_as_of
        part.lines = {line.pod_class: line for line in lines}
        for line in lines:
            line.cohort = part
        part.size = sum(map(len, lines))
        self.size -= part.size
        part.lowest, part.highest = self.lowest, highest
        part.history.place = self.lowest
        return part

    def absorb(self, other: Cohort) -> None:
        """Take over the members of a cohort that is equal but for its counts. O(members of *other*)."""
        attempts = other.history.attempts - self.history.attempts
        rejections = other.history.unschedulable_count - self.history.unschedulable_count
        shift = other.shift - self.shift
        for pod_class, line in other.lines.items():
            mine = self.lines.get(pod_class)
            if mine is None:
                mine = self.lines[pod_class] = Line(pod_class, self, line.reported)
            elif mine.reported != line.reported:
                mine.reported = None
            for member in _towards(mine, line, shift):
                member.attempts += attempts
                member.unschedulable_count += rejections
                member.place += shift
                mine.add(member)
        self.size += other.size
        self.rejectors_as_of, self._order = -1, None
        self.known_as_of = min(self.known_as_of, other.known_as_of)
        self._include(other.lowest, other.highest)
        other.lines, other.size = {}, 0

    def check_invariants(self, by_key: Mapping[str, QueuedPodInfo]) -> None:
        """Raise :class:`InvariantError` unless members, order and size fit together. O(n)."""
        found = sum(map(len, self.lines.values()))
        if not self.size or self.size != found:
            raise InvariantError(f"a cohort of {self.size} members has {found}")
        if self.history.cohort is not self:
            raise InvariantError("the history of a cohort is another's")
        heads = {id(line): front for front, _, line in reversed(self._order or ())}
        if self._order is not None and any(
            heads.get(id(line), inf) > line.head.place for line in self.lines.values()
        ):
            raise InvariantError("the order of a cohort does not reach a line in time")
        if self.history.pool not in (Pool.ACTIVE, Pool.BACKOFF, Pool.UNSCHEDULABLE):
            raise InvariantError(f"a cohort waits in {self.history.pool}")
        for pod_class, line in self.lines.items():
            places = list(map(self.place_of, line))
            if (
                not places
                or places != sorted(places)
                or line.cohort is not self
                or line.pod_class is not pod_class
            ):
                raise InvariantError("a line of a cohort is not in order")
            if places[0] < max(self.lowest, self.history.place) or places[-1] > self.highest:
                raise InvariantError("a cohort does not reach as far as its members")
            for member in line:
                if member.line is not line or by_key.get(member.key) is not member:
                    raise InvariantError(f"{member.key} is not the member of a cohort that it seems to be")


def _towards(mine: Line, line: Line, shift: int) -> Iterable[QueuedPodInfo]:
    """Return the members of *line* in the order in which adding them to *mine* moves least."""
    members = list(line)
    return reversed(members) if mine and members[-1].place + shift < mine.head.place else members


def line_of(member: QueuedPodInfo) -> Line:
    """Return the line in which a pod waits with others; its cohort has the history."""
    line = member.line
    assert isinstance(line, Line)
    return line


def cohort_of(info: QueuedPodInfo) -> Cohort | None:
    """Return the cohort for which an entry of the pools stands; ``None`` for a pod."""
    cohort = info.cohort
    assert cohort is None or isinstance(cohort, Cohort)
    return cohort


def size_of(info: QueuedPodInfo) -> int:
    """Return for how many pods an entry of the pools stands."""
    cohort = cohort_of(info)
    return 1 if cohort is None else cohort.size


def standing(info: QueuedPodInfo) -> QueuedPodInfo:
    """Return *info*, or a copy with its history if it waits with others."""
    return info if info.line is None else line_of(info).cohort.view(info)


def chosen(cohort: Cohort, pod_classes: Collection[PodClass]) -> list[Line]:
    """Return the lines of those of *pod_classes* that *cohort* has. O(pod_classes)."""
    found = (cohort.lines.get(pod_class) for pod_class in pod_classes)
    return [line for line in found if line is not None]
