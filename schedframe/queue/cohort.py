"""Cohort: rejected pods that wait together, because all that the queue knows of them is equal.

The pools hold one entry for all of them, the *history*, in place of an entry each. A cohort has several
*lines*: the pods of one class, which no plugin can tell apart, in the order of their places. See
docs/explanation/waiting-together.md.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from math import inf

from attrs import field

from .._base.value import record
from ..errors import InvariantError
from .known_outcomes import PodClass
from .moments import Moment
from .queued_pod import NO_PLUGINS, Pool, QueuedPodInfo, copied

_numbers = count(1)


@record(eq=False)
class Line:
    """Members of a cohort that are of one class, in the order of their places."""

    pod_class: PodClass
    cohort: Cohort
    attempts: int = 0
    """What is added to the attempts of the history; a member adds its own."""
    rejections: int = 0
    """The same for ``unschedulable_count``."""
    shift: int = 0
    """What is added to the places of members, beside that of the cohort."""
    members: OrderedDict[str, QueuedPodInfo] = field(factory=OrderedDict)
    """By key."""
    reported: str | None = None
    """The ``report`` of the class that the cluster shows for all members; ``None``: they differ."""

    def add(self, member: QueuedPodInfo) -> None:
        """Add a pod with its absolute counts. O(1) at either end, else O(n log n)."""
        history = self.cohort.history
        member.attempts -= history.attempts + self.attempts
        member.unschedulable_count -= history.unschedulable_count + self.rejections
        member.place -= self.shift + self.cohort.shift
        member.line = self
        members = self.members
        last = members[next(reversed(members))].place if members else member.place - 1
        members[member.key] = member
        if last < member.place:
            return
        members.move_to_end(member.key, last=False)
        keys = iter(members)
        next(keys)
        if members[next(keys)].place < member.place:
            self.sort()

    def sort(self) -> None:
        """Put the members into the order of their places. O(n log n)."""
        ordered = sorted(self.members.values(), key=lambda one: one.place)
        self.members.clear()
        self.members.update((one.key, one) for one in ordered)

    def attempts_of(self, member: QueuedPodInfo) -> tuple[int, int]:
        """Return the attempts and the rejections of a member."""
        history = self.cohort.history
        return (
            member.attempts + self.attempts + history.attempts,
            member.unschedulable_count + self.rejections + history.unschedulable_count,
        )

    def place_of(self, member: QueuedPodInfo) -> int:
        """Return the place of a member."""
        return member.place + self.shift + self.cohort.shift

    def view(self, member: QueuedPodInfo) -> QueuedPodInfo:
        """Return a copy of a member with its history."""
        attempts, rejections = self.attempts_of(member)
        found = copied(self.cohort.history)
        found.pod, found.key, found.uid, found.cohort = member.pod, member.key, member.uid, None
        found.initial_attempt, found.place = member.initial_attempt, self.place_of(member)
        found.attempts, found.unschedulable_count = attempts, rejections
        return found

    def front(self) -> int:
        """Return the place of the first member, without the shift of the cohort."""
        return next(iter(self.members.values())).place + self.shift

    def first(self) -> QueuedPodInfo | None:
        """Return the first member that was not attempted in this pass, ``None`` without one."""
        attempted = self.cohort.attempted - self.shift - self.cohort.shift
        for member in self.members.values():
            if member.place >= attempted:
                return member
        return None


@record(eq=False)
class Cohort:
    """Pods with one history, in lines by class."""

    history: QueuedPodInfo
    """Stands for the members in the pools; its key is no pod's."""
    lines: dict[PodClass, Line] = field(factory=dict)
    size: int = 0
    shift: int = 0
    """What is added to the places of all members."""
    lowest: int = 0
    """No member has a lower place."""
    highest: int = 0
    """No member has a higher place."""
    rejectors_as_of: int = -1
    """Changes of rejectors up to which all classes are known to have those of the history."""
    attempted: int = 0
    """Members with a lower place were attempted in this pass over the active pods, in vain."""
    attempted_at: Moment | None = None
    """Of these attempts; ``None`` without any."""
    known_as_of: int = -1
    """What :meth:`.KnownOutcomes.look` returned when all classes were known; -1 if some may not be."""
    _order: list[tuple[int, int, Line]] | None = None
    """Lines by their fronts, or what these were before members left; ``None``: to be sorted."""

    @classmethod
    def like(cls, info: QueuedPodInfo) -> Cohort:
        """Return an empty cohort with the history of *info*."""
        history = copied(info)
        history.line = None
        history.key = history.uid = f"\0{next(_numbers)}"
        cohort = history.cohort = cls(history, lowest=info.place, highest=info.place)
        return cohort

    def add(self, member: QueuedPodInfo, pod_class: PodClass) -> None:
        """Add a pod that waits alone and has this history, but for its counts."""
        line = self.lines.get(pod_class)
        if line is None:
            line = self.lines[pod_class] = Line(pod_class, self, reported=pod_class.report)
            self.known_as_of = -1
        elif line.reported != pod_class.report:
            line.reported = None
        line.add(member)
        self.size += 1
        self.rejectors_as_of = -1
        place = line.place_of(member)
        if self._order is not None and next(iter(line.members)) == member.key:
            insort(self._order, (line.front(), id(line), line))
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

    def release(self, member: QueuedPodInfo) -> None:
        """Remove a member and give it its history: it is in the pool of the cohort, and waits alone. O(1)."""
        line, history = line_of(member), self.history
        member.attempts, member.unschedulable_count = line.attempts_of(member)
        member.place = line.place_of(member)
        self.drop(member)
        member.pool, member.timestamp, member.popped = history.pool, history.timestamp, history.popped
        member.moment, member.backoff_expiry = history.moment, history.backoff_expiry
        member.unschedulable_plugins, member.pending_plugins = history.unschedulable_plugins, NO_PLUGINS
        member.error_count, member.gating_plugin, member.flushed = 0, "", history.flushed

    def drop(self, member: QueuedPodInfo) -> None:
        """Remove a member that is gone. O(1)."""
        line = line_of(member)
        member.line = None
        del line.members[member.key]
        if not line.members:
            del self.lines[line.pod_class]
        self.size -= 1

    def views(self) -> list[QueuedPodInfo]:
        """Return copies of all members. O(n)."""
        return [line.view(member) for line in self.lines.values() for member in line.members.values()]

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        for line in self.lines.values():
            yield from line.members.values()

    # ---- the first member --------------------------------------------------------------------------------

    def first_of(
        self, pod_classes: Collection[PodClass], must_try: Callable[[PodClass], bool]
    ) -> QueuedPodInfo | None:
        """Return the first member of *pod_classes* that was not attempted in this pass. O(classes)."""
        best, place = None, 0
        for pod_class in pod_classes:
            line = self.lines.get(pod_class)
            member = line.first() if line is not None and must_try(pod_class) else None
            if line is not None and member is not None and (best is None or line.place_of(member) < place):
                best, place = member, line.place_of(member)
        return best

    def first_of_all(self, must_try: Callable[[PodClass], bool]) -> QueuedPodInfo | None:
        """As :meth:`first_of` for all classes; O(lines up to it, in the order of their first members)."""
        order = self._order
        if order is None:
            order = [(line.front(), id(line), line) for line in self.lines.values()]
            order.sort()
            self._order = order
        best, place, at = None, 0, 0
        while at < len(order):
            front, _, line = order[at]
            if not line.members or line.cohort is not self or line.front() != front:
                del order[at]
                if line.members and line.cohort is self and line.front() > front:
                    insort(order, (line.front(), id(line), line))
                continue
            if best is not None and front + self.shift >= place:
                break
            member = line.first() if must_try(line.pod_class) else None
            if member is not None and (best is None or line.place_of(member) < place):
                best, place = member, line.place_of(member)
            at += 1
        return best

    # ---- parts -------------------------------------------------------------------------------------------

    def split(self, goes: Callable[[Line], bool]) -> Cohort | None:
        """Move the lines for which *goes* is true to a cohort of their own, if there are any. O(lines)."""
        moved = [line for line in self.lines.values() if goes(line)]
        if not moved:
            return None
        part = Cohort.like(self.history)
        part.shift, part.known_as_of = self.shift, self.known_as_of
        for line in moved:
            del self.lines[line.pod_class]
            part.lines[line.pod_class] = line
            line.cohort = part
            part.size += len(line.members)
        self.size -= part.size
        part.lowest, part.highest = self.lowest, self.highest
        part.history.place = self.lowest
        return part

    def split_before(self, place: int) -> Cohort | None:
        """Move the members before that place to a cohort of their own; ``None`` without any.

        O(lines + members moved).
        """
        part = Cohort.like(self.history)
        part.shift, part.known_as_of = self.shift, self.known_as_of
        for pod_class, line in list(self.lines.items()):
            members, limit = line.members, place - line.shift - self.shift
            other = Line(pod_class, part, line.attempts, line.rejections, line.shift, reported=line.reported)
            while members and (member := members[next(iter(members))]).place < limit:
                del members[member.key]
                member.line = other
                other.members[member.key] = member
            if other.members:
                part.lines[pod_class] = other
                part.size += len(other.members)
            if not members:
                del self.lines[pod_class]
        self.size -= part.size
        part.lowest, part.highest = self.lowest, place
        part.history.place = part.lowest
        self.lowest = self.history.place = max(self.lowest, place)
        return part if part.size else None

    def absorb(self, other: Cohort) -> None:
        """Take over the members of a cohort that is equal but for its counts.

        O(lines of *other*), and the shorter of two lines of one class.
        """
        attempts = other.history.attempts - self.history.attempts
        rejections = other.history.unschedulable_count - self.history.unschedulable_count
        for pod_class, line in other.lines.items():
            line.attempts += attempts
            line.rejections += rejections
            line.shift += other.shift - self.shift
            line.cohort = self
            mine = self.lines.get(pod_class)
            self.lines[pod_class] = line if mine is None else _joined(mine, line)
        self.size += other.size
        self.rejectors_as_of, self._order = -1, None
        self.known_as_of = min(self.known_as_of, other.known_as_of)
        self._include(other.lowest, other.highest)
        other.lines, other.size = {}, 0

    def check_invariants(self, by_key: Mapping[str, QueuedPodInfo]) -> None:
        """Raise :class:`InvariantError` unless members, order and size fit together. O(n)."""
        found = sum([len(line.members) for line in self.lines.values()])
        if not self.size or self.size != found:
            raise InvariantError(f"a cohort of {self.size} members has {found}")
        if self.history.cohort is not self:
            raise InvariantError("the history of a cohort is another's")
        fronts = {id(line): front for front, _, line in reversed(self._order or ())}
        if self._order is not None and any(
            fronts.get(id(line), inf) > line.front() for line in self.lines.values()
        ):
            raise InvariantError("the order of a cohort does not reach a line in time")
        if self.history.pool not in (Pool.ACTIVE, Pool.BACKOFF, Pool.UNSCHEDULABLE):
            raise InvariantError(f"a cohort waits in {self.history.pool}")
        for pod_class, line in self.lines.items():
            places = list(map(line.place_of, line.members.values()))
            if (
                not places
                or places != sorted(places)
                or line.cohort is not self
                or line.pod_class is not pod_class
            ):
                raise InvariantError("a line of a cohort is not in order")
            if places[0] < self.lowest or places[-1] > self.highest:
                raise InvariantError("a cohort does not reach as far as its members")
            if places[0] < self.history.place and not self.attempted:
                raise InvariantError("a cohort stands behind its first member")
            for key, member in line.members.items():
                if member.line is not line or by_key.get(key) is not member:
                    raise InvariantError(f"{key} is not the member of a cohort that it seems to be")


def line_of(member: QueuedPodInfo) -> Line:
    """Return the line in which a pod waits with others; that has its history."""
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


def _joined(one: Line, other: Line) -> Line:
    """Move the members of the shorter of two lines of one class to the other one, and return that."""
    into, out = (one, other) if len(one.members) >= len(other.members) else (other, one)
    attempts, rejections = out.attempts - into.attempts, out.rejections - into.rejections
    shift = out.shift - into.shift
    for member in out.members.values():
        member.place += shift
    mine, members = into.members, list(out.members.values())
    goes_behind = not mine or mine[next(reversed(mine))].place < members[0].place
    goes_first = not goes_behind and members[-1].place < next(iter(mine.values())).place
    for member in reversed(members) if goes_first else members:
        member.attempts += attempts
        member.unschedulable_count += rejections
        member.line = into
        mine[member.key] = member
        if goes_first:
            mine.move_to_end(member.key, last=False)
    if not (goes_behind or goes_first):
        into.sort()
    if out.reported != into.reported:
        into.reported = None
    return into
