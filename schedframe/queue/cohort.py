"""Cohort: rejected pods that wait together, because all that the queue knows of them is equal.

The pools hold one entry for all of them, the *history*, in place of an entry each. A cohort has several
*lines*: the pods of one kin, which no plugin can tell apart, in the order of their places. See
docs/explanation/waiting-together.md.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from itertools import count

from attrs import define, evolve, field

from ..errors import InvariantError
from .foresight import Kin
from .queued_pod import NO_PLUGINS, Pool, QueuedPodInfo

_numbers = count(1)


@define(eq=False)
class Line:
    """Members of a cohort that are of one kin, in the order of their places."""

    kin: Kin
    cohort: Cohort
    attempts: int = 0
    """What is added to the attempts of the history; a member adds its own."""
    rejections: int = 0
    """The same for ``unschedulable_count``."""
    members: OrderedDict[str, QueuedPodInfo] = field(factory=OrderedDict)
    """By key."""
    reported: str | None = None
    """The ``report`` of the kin that the cluster shows for all members; ``None``: they differ."""

    def add(self, member: QueuedPodInfo) -> None:
        """Add a pod with its absolute counts. O(1) at either end, else O(n log n)."""
        history = self.cohort.history
        member.attempts -= history.attempts + self.attempts
        member.unschedulable_count -= history.unschedulable_count + self.rejections
        member.line = self
        members = self.members
        last = members[next(reversed(members))].place if members else -1
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

    def view(self, member: QueuedPodInfo) -> QueuedPodInfo:
        """Return a copy of a member with its history."""
        attempts, rejections = self.attempts_of(member)
        found = evolve(
            self.cohort.history,
            pod=member.pod,
            initial_attempt=member.initial_attempt,
            attempts=attempts,
            unschedulable_count=rejections,
            place=member.place,
        )
        found.cohort = None
        return found

    def first(self) -> QueuedPodInfo | None:
        """Return the first member that was not attempted in this pass, ``None`` without one."""
        attempted = self.cohort.attempted
        for member in self.members.values():
            if member.place >= attempted:
                return member
        return None

    def last_place(self) -> int:
        """Return the highest place."""
        return self.members[next(reversed(self.members))].place


@define(eq=False)
class Cohort:
    """Pods with one history, in lines by kin."""

    history: QueuedPodInfo
    """Stands for the members in the pools; its key is no pod's."""
    lines: dict[Kin, Line] = field(factory=dict)
    size: int = 0
    attempted: int = 0
    """Members with a lower place were attempted in this pass over the active pods, in vain."""
    attempted_at: tuple[float, int] = (0.0, 0)
    """Time and number of the moment of these attempts."""

    @classmethod
    def like(cls, info: QueuedPodInfo) -> Cohort:
        """Return an empty cohort with the history of *info*."""
        history = evolve(info, line=None)
        history.key = history.uid = f"\0{next(_numbers)}"
        cohort = history.cohort = cls(history)
        return cohort

    def add(self, member: QueuedPodInfo, kin: Kin) -> None:
        """Add a pod that waits alone and has this history, but for its counts."""
        line = self.lines.get(kin)
        if line is None:
            line = self.lines[kin] = Line(kin, self, reported=kin.report)
        elif line.reported != kin.report:
            line.reported = None
        line.add(member)
        self.size += 1
        self.history.place = min(self.history.place, member.place)

    def release(self, member: QueuedPodInfo) -> None:
        """Remove a member and give it its history: it is in the pool of the cohort, and waits alone. O(1)."""
        line, history = member.line, self.history
        member.attempts, member.unschedulable_count = line.attempts_of(member)
        self.drop(member)
        member.pool, member.timestamp, member.popped = history.pool, history.timestamp, history.popped
        member.moment, member.backoff_expiry = history.moment, history.backoff_expiry
        member.unschedulable_plugins, member.pending_plugins = history.unschedulable_plugins, NO_PLUGINS
        member.error_count, member.gating_plugin, member.flushed = 0, "", history.flushed

    def drop(self, member: QueuedPodInfo) -> None:
        """Remove a member that is gone. O(1)."""
        line = member.line
        member.line = None
        del line.members[member.key]
        if not line.members:
            del self.lines[line.kin]
        self.size -= 1

    def views(self) -> list[QueuedPodInfo]:
        """Return copies of all members. O(n)."""
        return [line.view(member) for line in self.lines.values() for member in line.members.values()]

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        for line in self.lines.values():
            yield from line.members.values()

    def first_place(self) -> int:
        """Return the lowest place of all members. O(lines)."""
        return min([next(iter(line.members.values())).place for line in self.lines.values()])

    def last_place(self) -> int:
        """Return the highest place of all members. O(lines)."""
        return max([line.last_place() for line in self.lines.values()])

    # ---- parts -------------------------------------------------------------------------------------------

    def split(self, goes: Callable[[Line], bool]) -> Cohort | None:
        """Move the lines for which *goes* is true to a cohort of their own, if there are any. O(lines)."""
        moved = [line for line in self.lines.values() if goes(line)]
        if not moved:
            return None
        part = Cohort.like(self.history)
        for line in moved:
            del self.lines[line.kin]
            part.lines[line.kin] = line
            line.cohort = part
            part.size += len(line.members)
        self.size -= part.size
        for cohort in (self, part):
            if cohort.lines:
                cohort.history.place = cohort.first_place()
        return part

    def split_before(self, place: int) -> Cohort | None:
        """Move the members before that place to a cohort of their own; ``None`` without any.

        O(lines + members moved).
        """
        part = Cohort.like(self.history)
        for kin, line in list(self.lines.items()):
            members = line.members
            other = Line(kin, part, line.attempts, line.rejections, reported=line.reported)
            while members and (member := members[next(iter(members))]).place < place:
                del members[member.key]
                member.line = other
                other.members[member.key] = member
            if other.members:
                part.lines[kin] = other
                part.size += len(other.members)
            if not members:
                del self.lines[kin]
        self.size -= part.size
        self.history.place = max(self.history.place, place)
        return part if part.size else None

    def absorb(self, other: Cohort) -> None:
        """Take over the members of a cohort that is equal but for its counts.

        O(lines of *other*), and the shorter of two lines of one kin.
        """
        attempts = other.history.attempts - self.history.attempts
        rejections = other.history.unschedulable_count - self.history.unschedulable_count
        for kin, line in other.lines.items():
            line.attempts += attempts
            line.rejections += rejections
            line.cohort = self
            mine = self.lines.get(kin)
            self.lines[kin] = line if mine is None else _joined(mine, line)
        self.size += other.size
        self.history.place = min(self.history.place, other.history.place)
        other.lines, other.size = {}, 0

    def check_invariants(self, by_key: Mapping[str, QueuedPodInfo]) -> None:
        """Raise :class:`InvariantError` unless members, order and size fit together. O(n)."""
        found = sum([len(line.members) for line in self.lines.values()])
        if not self.size or self.size != found:
            raise InvariantError(f"a cohort of {self.size} members has {found}")
        if self.history.cohort is not self:
            raise InvariantError("the history of a cohort is another's")
        if self.history.pool not in (Pool.ACTIVE, Pool.BACKOFF, Pool.UNSCHEDULABLE):
            raise InvariantError(f"a cohort waits in {self.history.pool}")
        for kin, line in self.lines.items():
            places = [member.place for member in line.members.values()]
            if not places or places != sorted(places) or line.cohort is not self or line.kin is not kin:
                raise InvariantError("a line of a cohort is not in order")
            if places[0] < self.history.place and not self.attempted:
                raise InvariantError("a cohort stands behind its first member")
            for key, member in line.members.items():
                if member.line is not line or by_key.get(key) is not member:
                    raise InvariantError(f"{key} is not the member of a cohort that it seems to be")


def _joined(one: Line, other: Line) -> Line:
    """Move the members of the shorter of two lines of one kin to the other one, and return that."""
    into, out = (one, other) if len(one.members) >= len(other.members) else (other, one)
    attempts, rejections = out.attempts - into.attempts, out.rejections - into.rejections
    mine, members = into.members, list(out.members.values())
    goes_behind = not mine or into.last_place() < members[0].place
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
