"""The queue with pod groups: a group is one entry, its members are popped together, and a failed group waits.

In each pool a group is one entry, with the place of its foremost member there: the priority of the group is
the highest of its members, its time the earliest. Behaviour: kube-scheduler v1.36 with the feature gate
GenericWorkload, but for what v1.37 mends. In v1.36 a rejected member may be popped again at once while the
scheduler is idle, and all other members with it, over and over. Here the members of a group that failed are
held until their backoff is over, or until an event comes that a hint of their rejectors accepts. As in v1.37
the longest backoff grows with the square root of the group's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from math import sqrt
from operator import attrgetter
from typing import Any, ClassVar

from ..api import Pod, PodGroup, group_of
from ..errors import InvariantError
from .answers import strategy_since_pop
from .backoff import BackoffQueues
from .events import FORCE_ACTIVATE, ClusterEvent
from .group_filing import GatedMembers, HeldMembers
from .grouped_heap import GroupedHeap
from .heap import Heap
from .hints import RequeueStrategy
from .options import QueueOptions
from .pools import BACKING_OFF, Pools
from .priority_queue import PriorityQueue
from .queued_pod import Pool, QueuedPodInfo, identity
from .unschedulable import Group


class GroupBackoffQueues(BackoffQueues):
    """Backoff queues with one entry for each group; members of groups are held apart from other pods.

    The longest backoff of a member is the configured one times the square root of the size of its group.
    """

    __slots__ = ("held_group", "held_members", "size_of")

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        BackoffQueues.__init__(self, *arguments, **keywords)
        self.errors = GroupedHeap(attrgetter("key"), _group_of, sort_key=self.expiry)
        self.held_group = self._new_heap()
        self.held_members = HeldMembers()
        self.size_of: Callable[[str], int] = _one

    def add(self, info: QueuedPodInfo, *, held: bool = False) -> Pool:
        """See :class:`BackoffQueues`."""
        if not held or not group_of(info.pod) or not (info.unschedulable_plugins or info.pending_plugins):
            return BackoffQueues.add(self, info, held=held)
        self.held_group.add(info)
        self.held_members.add(info)
        return Pool.BACKOFF

    def remove(self, info: QueuedPodInfo) -> None:
        """See :class:`BackoffQueues`."""
        self.held_members.remove(info)
        BackoffQueues.remove(self, info)

    def replace(self, info: QueuedPodInfo) -> None:
        """See :class:`BackoffQueues`."""
        if info.key in self.held_group:
            self.held_members.add(info)
        BackoffQueues.replace(self, info)

    def release_group(self, key: str) -> bool:
        """Let the held members of a group be popped early; return whether there are any. O(members log n)."""
        infos = self.held_group.take_group(key)
        for info in infos:
            self.held_members.remove(info)
            self.rejected.add(info)
        return bool(infos)

    def _longest(self, info: QueuedPodInfo) -> int:
        key = group_of(info.pod)
        size = self.size_of(key) if key else 1
        return self._maximum if size <= 1 else int(self._maximum * sqrt(size))

    def _new_heap(self) -> GroupedHeap[QueuedPodInfo]:
        return GroupedHeap(attrgetter("key"), _group_of, **self._order)

    def _heaps(self) -> tuple[Heap[QueuedPodInfo], ...]:
        return self.rejected, self.held, self.held_group, self.errors

    def heaps_of(self, pool: Pool) -> tuple[Heap[QueuedPodInfo], ...]:
        """Return the heaps with the pods of one pool; pods that may be popped early are in the first one."""
        return (self.rejected, self.held, self.held_group) if pool is Pool.BACKOFF else (self.errors,)

    def check_invariants(self) -> None:
        """See :class:`BackoffQueues`."""
        BackoffQueues.check_invariants(self)
        if len(self.held_members) != len(self.held_group):
            raise InvariantError(
                f"{len(self.held_group)} members are held, {len(self.held_members)} are filed"
            )


class GroupPools(Pools):
    """Pools that file the members of groups held back by gates that read nothing of a pod but its group."""

    __slots__ = ("gated", "group_gates", "next_place")

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        Pools.__init__(self, *arguments, **keywords)
        self.gated = GatedMembers()
        self.group_gates: frozenset[str] = frozenset()
        self.next_place: Callable[[], int] = count(1).__next__

    def wait(self, info: QueuedPodInfo, now: float) -> None:
        """See :class:`Pools`."""
        Pools.wait(self, info, now)
        if info.gating_plugin in self.group_gates:
            self.gated.add(info)
        else:
            self.gated.remove(info)

    def enter_active(self, info: QueuedPodInfo, cause: str, now: float, *, admitted: bool = False) -> bool:
        """See :class:`Pools`; a member that was gated so far gets its place as it enters."""
        if info.initial_attempt is None and info.pool is not None and group_of(info.pod):
            info.place = self.next_place()
        return Pools.enter_active(self, info, cause, now, admitted=admitted)

    def leave(self, info: QueuedPodInfo) -> None:
        """See :class:`Pools`."""
        self.gated.remove(info)
        Pools.leave(self, info)

    def _new_heap(
        self,
        sort_key: Callable[[QueuedPodInfo], Any] | None,
        less: Callable[[QueuedPodInfo, QueuedPodInfo], bool] | None,
    ) -> GroupedHeap[QueuedPodInfo]:
        return GroupedHeap(attrgetter("key"), _group_of, sort_key=sort_key, less=less)

    def take(self, info: QueuedPodInfo, now: float) -> bool:
        """Take *info* out of its pool as :meth:`pop` does; ``False``, and it stays, if a gate holds it."""
        if info.pool not in BACKING_OFF and info.pool is not Pool.ACTIVE and not self._gates.admit(info):
            self.wait(info, now)
            return False
        self.remove(info)
        if info.initial_attempt is None:
            info.initial_attempt = now
        return True

    def _candidates_in(self, group: Group, event: ClusterEvent) -> list[QueuedPodInfo]:
        """Leave out the members that a gate for groups holds back: events of their group open it."""
        if group.gate not in self.group_gates or event.is_wildcard:
            return Pools._candidates_in(self, group, event)
        return [info for info in self.gated.alone.values() if group.pods.get(info.key) is info]

    def check_invariants(self) -> None:
        """See :class:`Pools`."""
        Pools.check_invariants(self)
        gated = (info for info in self.waiting.infos() if info.gating_plugin in self.group_gates)
        if self.gated.keys() != {info.key for info in gated}:
            raise InvariantError("pods that a gate for groups holds back are not filed")


def _group_of(info: QueuedPodInfo) -> str:
    return group_of(info.pod)


def _one(key: str) -> int:
    """Return the size of a group as if it were a single pod."""
    return 1


class GroupQueue(PriorityQueue):
    """A queue in which the members of a group are popped together. See the module."""

    _POOLS: ClassVar[type[Pools]] = GroupPools
    _BACKOFF: ClassVar[type[BackoffQueues]] = GroupBackoffQueues
    _pools: GroupPools

    def __init__(self, options: QueueOptions | None = None) -> None:
        self._size_of: Callable[[str], int] = _one
        PriorityQueue.__init__(self, options)

    def scale_backoff(self, size_of: Callable[[str], int]) -> None:
        """Let the longest backoff grow with the square root of what *size_of* returns for a group."""
        self._size_of = self._backoff.size_of = size_of

    def _make_pools(self, options: QueueOptions) -> Pools:
        pools = PriorityQueue._make_pools(self, options)
        assert isinstance(pools, GroupPools)
        assert isinstance(pools.backoff, GroupBackoffQueues)
        pools.backoff.size_of = self._size_of
        pools.next_place = self._next_place
        pools.group_gates = frozenset().union(*(each.group_gates for each in options.profiles.values()))
        return pools

    def pop_members(self, pods: Iterable[Pod]) -> list[QueuedPodInfo]:
        """Return those of *pods* that are queued in any pool, in flight from now on. O(log n) each.

        A pod that a gate holds stays behind. One that backs off is popped without asking the gates again.
        """
        now = self._clock()
        queued = ((self._pools.by_key.get(pod.key), identity(pod)) for pod in pods)
        infos = [info for info, uid in queued if info is not None and info.uid == uid]
        # Backwards, so that the entry of the group changes with the last one only.
        taken = [info for info in reversed(infos) if self._pools.take(info, now)]
        found = []
        for info in reversed(taken):
            info.attempts += 1
            if self._in_flight.start(info):
                info.pool = Pool.IN_FLIGHT
                self._moments.cycle += 1
                info.popped = self._moments.cycle
                found.append(info)
        return found

    def update(self, old: Pod, new: Pod, *, echo: bool = False) -> None:
        """See :class:`PriorityQueue`; a queued pod that names another group now is new there."""
        info = self._pools.by_key.get(new.key)
        if info is not None and group_of(info.pod) != group_of(new):
            self.delete(info.pod)
            self.add(new)
        else:
            PriorityQueue.update(self, old, new, echo=echo)

    def move_all(
        self,
        event: ClusterEvent,
        old: Any = None,
        new: Any = None,
        *,
        max_priority: int | None = None,
        except_uid: str | None = None,
        rolled_back: int | None = None,
    ) -> None:
        """See :class:`PriorityQueue`; members that *event* may help are not held any more."""
        key = _group_named_by(old if new is None else new) if self._pools.gated else ""
        if key in self._pools.gated and self._open_gates(event, key):
            self._ready()
        held = self._backoff.held_members
        if held and self._hints.is_registered(event):
            hopeful = held.hopeful(self._hints, event, old, new)
            released = [self._backoff.release_group(key) for key in hopeful]
            if any(released):
                self._ready()
        PriorityQueue.move_all(
            self, event, old, new, max_priority=max_priority, except_uid=except_uid, rolled_back=rolled_back
        )

    def reconsider(self, key: str) -> None:
        """Ask the gates again about the members of a group, and hold those that back off no longer."""
        opened = key in self._pools.gated and self._open_gates(None, key)
        if self._backoff.release_group(key) or opened:
            self._ready()

    def release_all(self) -> None:
        """Let all members that are held be popped early."""
        for key in list(self._backoff.held_group.groups()):
            self._backoff.release_group(key)

    @property
    def _backoff(self) -> GroupBackoffQueues:
        backoff = self._pools.backoff
        assert isinstance(backoff, GroupBackoffQueues)
        return backoff

    def _open_gates(self, event: ClusterEvent | None, key: str) -> bool:
        """Ask the gates that registered *event* again about the members of a group; ``None``: all gates.

        Return whether any of the members may be popped now.
        """
        now, entered = self._clock(), False
        cause = FORCE_ACTIVATE.label if event is None else event.label
        gated = self._pools.gated
        for gate in gated.gates_of(key):
            if event is not None and not self._hints.is_registered_by(*gate, event):
                continue
            for info in gated.held_by(key, gate):
                entered |= self._pools.requeue(info, RequeueStrategy.AFTER_BACKOFF, cause, now)
                if info.gating_plugin == gate[1]:
                    break  # it reads nothing of a pod but its group, so it refuses the others as well
        return entered

    def _strategy_of(self, info: QueuedPodInfo) -> tuple[RequeueStrategy, bool]:
        if not group_of(info.pod):
            return PriorityQueue._strategy_of(self, info)
        strategy, _ = strategy_since_pop(self._hints, self._in_flight, info)
        return RequeueStrategy.AFTER_BACKOFF, not strategy


def _group_named_by(obj: Any) -> str:
    """Return the key of the group that *obj* is, or of which it is a member; empty for anything else."""
    if isinstance(obj, PodGroup):
        return obj.key
    return group_of(obj) if isinstance(obj, Pod) else ""
