"""Pods that wait for an event: unschedulable and gated ones."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from attrs import field

from .._base.value import record
from ..errors import InvariantError
from .backoff import micros
from .heap import Heap
from .queued_pod import Pool, QueuedPodInfo

_Signature = tuple[str, str, frozenset[str], frozenset[str], bool]
_Timer = tuple[int, str]
"""(microsecond from which on the pod has waited too long, its key)."""


@record(eq=False, weakref_slot=False)
class Group:
    """Pods of one profile with the same rejectors and the same gate: an event means the same for all."""

    profile: str
    gate: str
    unschedulable: frozenset[str]
    pending: frozenset[str]
    parked: bool = False
    """Whether these are members of parked groups, which are woken by class."""
    pods: dict[str, QueuedPodInfo] = field(factory=dict)


class UnschedulablePods:
    """Waiting pods in groups, so that an event skips all pods whose rejectors did not register it at once.

    Every pod has a timer. When it expires the pod moves, unless its gate did not register the timeout: such
    pods are only marked, and set no deadline.
    """

    __slots__ = ("_gated", "_group_of", "_groups", "_marked", "_marks", "_max_stay", "_timeouts")

    def __init__(self, max_stay: float) -> None:
        self._max_stay = micros(max_stay)
        self._groups: dict[_Signature, Group] = {}
        self._group_of: dict[str, Group] = {}
        self._timeouts: Heap[_Timer] = Heap(itemgetter(1), sort_key=itemgetter(0))
        self._marks: Heap[_Timer] = Heap(itemgetter(1), sort_key=itemgetter(0))
        self._gated = 0
        self._marked = 0

    def put(self, info: QueuedPodInfo, now: float, *, timed: bool = True, parked: bool = False) -> Pool:
        """Add *info*, in place of an older version of it; return its pool. O(log n).

        *timed*: whether it moves when its timer expires. A pod that was moved so before, and came back
        without an attempt because it is gated, gets the whole time again.
        """
        signature = _signature(info, parked)
        if info.key in self._group_of:
            if timed and not info.flushed and self._stays(info, signature):
                return Pool.GATED if info.gating_plugin else Pool.UNSCHEDULABLE
            self.remove(info)
        group = self._groups.get(signature)
        if group is None:
            group = self._groups[signature] = Group(*signature)
        group.pods[info.key] = info
        self._group_of[info.key] = group
        since = max(info.timestamp, now) if info.flushed else info.timestamp
        timer = (micros(since) + self._max_stay + 1, info.key)
        if timed:
            self._timeouts.add(timer)
        elif not info.flushed:
            self._marks.add(timer)
        self._marked += info.flushed
        if not group.gate:
            return Pool.UNSCHEDULABLE
        self._gated += 1
        return Pool.GATED

    def _stays(self, info: QueuedPodInfo, signature: _Signature) -> bool:
        """Return whether *info*, which is here, is in that group and has the same timer."""
        group = self._group_of[info.key]
        return (
            group is self._groups.get(signature)
            and group.pods[info.key] is info
            and self._timeouts.get(info.key) == (micros(info.timestamp) + self._max_stay + 1, info.key)
        )

    def remove(self, info: QueuedPodInfo) -> bool:
        """Remove *info*; return whether it was here. O(1) amortised."""
        group = self._group_of.pop(info.key, None)
        if group is None:
            return False
        removed = group.pods.pop(info.key)
        if not group.pods:
            del self._groups[group.profile, group.gate, group.unschedulable, group.pending, group.parked]
        self._timeouts.delete(info.key)
        self._marks.delete(info.key)
        self._marked -= removed.flushed
        self._gated -= bool(group.gate)
        return True

    def groups(self) -> Iterable[Group]:
        """Return all groups with their pods, oldest group first."""
        return self._groups.values()

    def infos(self) -> list[QueuedPodInfo]:
        """Return all pods. O(n)."""
        return [info for group in self._groups.values() for info in group.pods.values()]

    def flush(self, now: float) -> list[QueuedPodInfo]:
        """Mark all pods whose timer expired as flushed, and return those that have to move.

        The caller removes them, or puts them back. O(log n) each.
        """
        present = micros(now)
        self._expire(self._marks, present)
        return self._expire(self._timeouts, present)

    @property
    def any_flushed(self) -> bool:
        """Return whether any pod here is flushed. O(1)."""
        return self._marked > 0

    def deadline(self) -> float | None:
        """Return when the next timer that moves a pod expires, ``None`` without one. O(1) amortised."""
        head = self._timeouts.peek()
        return None if head is None else head[0] / 1e6

    def wake_at(self, info: QueuedPodInfo) -> float | None:
        """Return when the timer of *info* expires; ``None`` if that does not move it."""
        timer = self._timeouts.get(info.key)
        return None if timer is None else timer[0] / 1e6

    @property
    def gated(self) -> int:
        """Number of gated pods."""
        return self._gated

    def __bool__(self) -> bool:
        return bool(self._group_of)

    def __len__(self) -> int:
        return len(self._group_of)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if groups, counts and timers disagree. O(n)."""
        self._timeouts.check_invariants()
        self._marks.check_invariants()
        infos = self.infos()
        if {info.key: id(self._group_of.get(info.key)) for info in infos} != {
            info.key: id(group) for group in self._groups.values() for info in group.pods.values()
        } or len(infos) != len(self._group_of):
            raise InvariantError("groups of waiting pods and their index disagree")
        if self._gated != sum(info.pool is Pool.GATED for info in infos):
            raise InvariantError(f"counted {self._gated} gated pods")
        if self._marked != sum(info.flushed for info in infos):
            raise InvariantError(f"counted {self._marked} pods that waited too long")
        for group in self._groups.values():
            if not group.pods:
                raise InvariantError("a group without pods is kept")
            for info in group.pods.values():
                self._check_pod(info, group)

    def _check_pod(self, info: QueuedPodInfo, group: Group) -> None:
        filed = (group.profile, group.gate, group.unschedulable, group.pending, group.parked)
        if _signature(info, group.parked) != filed:
            raise InvariantError(f"{info.key} waits in a group that is not its own")
        if info.pool is not (Pool.GATED if group.gate else Pool.UNSCHEDULABLE):
            raise InvariantError(f"{info.key} waits and says it is in {info.pool}")
        timers = (info.key in self._timeouts) + (info.key in self._marks)
        if timers > 1 or (timers == 0 and not info.flushed):
            raise InvariantError(f"{info.key} has {timers} timers")

    def _expire(self, timers: Heap[_Timer], present: int) -> list[QueuedPodInfo]:
        expired = []
        while (head := timers.peek()) is not None and head[0] <= present:
            timers.pop()
            info = self._group_of[head[1]].pods[head[1]]
            self._marked += not info.flushed
            info.flushed = True
            expired.append(info)
        return expired


def _signature(info: QueuedPodInfo, parked: bool) -> _Signature:
    return info.profile, info.gating_plugin, info.unschedulable_plugins, info.pending_plugins, parked
