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
from operator import attrgetter
from typing import Any, ClassVar

from ..api import Pod, PodGroup, group_of
from ..errors import InvariantError
from .answers import strategy_since_pop
from .backoff import BackoffQueues
from .events import FORCE_ACTIVATE, ClusterEvent
from .group_backoff import GroupBackoffQueues, named_group, single
from .group_filing import GatedMembers
from .grouped_heap import GroupedHeap
from .hints import RequeueStrategy
from .options import QueueOptions
from .pools import BACKING_OFF, Pools
from .priority_queue import PriorityQueue
from .queued_pod import NO_PLUGINS, Pool, QueuedPodInfo, identity
from .together.parking import GroupClass, GroupOutcomes, Parking
from .unschedulable import Group

_GROUP_WOKEN = "GroupWoken"


class GroupPools(Pools):
    """Pools that file the members of groups held back by gates that read nothing of a pod but its group."""

    __slots__ = ("gated", "group_gates", "next_place", "parking")

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        Pools.__init__(self, *arguments, **keywords)
        self.gated = GatedMembers()
        self.group_gates: frozenset[str] = frozenset()
        self.next_place: Callable[[], int] = count(1).__next__
        self.parking: Parking | None = None
        """``None``: each group is tried by itself."""

    def wait(self, info: QueuedPodInfo, now: float) -> None:
        """See :class:`Pools`; events skip the members of parked groups."""
        if self.parking is not None and group_of(info.pod) in self.parking.groups:
            self.by_key[info.key] = info
            info.pool = self.waiting.put(info, now, timed=False, parked=True)
            return
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

    active: GroupedHeap[QueuedPodInfo]

    def _new_heap(
        self,
        sort_key: Callable[[QueuedPodInfo], Any] | None,
        less: Callable[[QueuedPodInfo, QueuedPodInfo], bool] | None,
    ) -> GroupedHeap[QueuedPodInfo]:
        return GroupedHeap(attrgetter("key"), named_group, sort_key=sort_key, less=less)

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
        """Leave out members that are parked, and those that a gate for groups holds back."""
        if group.parked:
            return []
        if group.gate not in self.group_gates or event.is_wildcard:
            return Pools._candidates_in(self, group, event)
        return [info for info in self.gated.alone.values() if group.pods.get(info.key) is info]

    def check_invariants(self) -> None:
        """See :class:`Pools`."""
        Pools.check_invariants(self)
        gated = (info for info in self.waiting.infos() if info.gating_plugin in self.group_gates)
        if self.gated.keys() != {info.key for info in gated}:
            raise InvariantError("pods that a gate for groups holds back are not filed")
        if self.parking is not None:
            self.parking.check_invariants()
            filed = {info.key for _, infos in self.parking.groups.values() for info in infos}
            if filed != {key for group in self.waiting.groups() if group.parked for key in group.pods}:
                raise InvariantError("the members of parked groups are not those that wait so")


def _no_parking() -> Parking | None:
    """Return no parking: each group is tried by itself."""
    return None


class GroupQueue(PriorityQueue):
    """A queue in which the members of a group are popped together. See the module."""

    _POOLS: ClassVar[type[Pools]] = GroupPools
    _BACKOFF: ClassVar[type[BackoffQueues]] = GroupBackoffQueues
    _pools: GroupPools

    def __init__(self, options: QueueOptions | None = None) -> None:
        self._size_of: Callable[[str], int] = single
        self._parking_of: Callable[[], Parking | None] = _no_parking
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
        pools.parking = self._parking_of()
        pools.group_gates = frozenset().union(*(each.group_gates for each in options.profiles.values()))
        return pools

    def park_groups(self, outcomes: GroupOutcomes | None, max_stay: float | None) -> None:
        """Let equal groups wait by class from now on, or no longer if *outcomes* is ``None``.

        *max_stay*: seconds after which one of a class is tried without any event, ``None``: never.
        """
        if self._pools.parking is not None:
            for key in list(self._pools.parking.groups):
                self.unpark(key)
        self._parking_of = _no_parking if outcomes is None else lambda: Parking(outcomes, max_stay)
        self._pools.parking = self._parking_of()

    # ---- parked groups -----------------------------------------------------------------------------------

    @property
    def parking(self) -> Parking | None:
        """The groups that wait by class; ``None`` if each is tried by itself. Read-only."""
        return self._pools.parking

    def expect_parked(self, group_class: GroupClass, key: str, infos: list[QueuedPodInfo]) -> None:
        """Let a group wait by class whose members are in flight, as soon as they are queued again."""
        assert self._pools.parking is not None
        self._pools.parking.add(group_class, key, infos)

    def park(self, group_class: GroupClass, key: str, infos: list[QueuedPodInfo]) -> None:
        """Let a group that is in flight wait behind its class, whose attempt failed. O(members).

        The members count as rejected, though none was tried.
        """
        now = self._clock()
        self.expect_parked(group_class, key, infos)
        for info in infos:
            self._in_flight.finish(info.uid)
            info.unschedulable_count += 1
            info.unschedulable_plugins, info.pending_plugins = group_class.rejectors, NO_PLUGINS
            info.timestamp, info.moment = now, self._moments.number
            info.flushed, info.error_count = False, 0
            info.pool = info.backoff_expiry = None
            self._pools.wait(info, now)

    def unpark(self, key: str) -> None:
        """Let a group that is parked be tried: one of its members changed. O(members log n)."""
        if self._pools.parking is not None and key in self._pools.parking.groups:
            self._try_parked(key, FORCE_ACTIVATE.label)
            self._ready()

    def _try_parked(self, key: str, cause: str) -> None:
        pools = self._pools
        assert pools.parking is not None
        group_class, _ = pools.parking.groups[key]
        now = self._clock()
        for info in pools.parking.remove(key):
            if group_class.since > info.timestamp:
                info.timestamp, info.moment = group_class.since, group_class.moment
            pools.enter_active(info, cause, now)

    def _wake_parked(self) -> None:
        """Make the first groups of the classes active that an event may help."""
        parking = self._pools.parking
        assert parking is not None
        while parking.woken:
            for key in parking.next_keys(self._clock(), self._moments.number):
                self._try_parked(key, _GROUP_WOKEN)
                if not self._pools.active.has_group(key):
                    parking.ended(key)  # a gate holds it

    def pop(self) -> QueuedPodInfo | None:
        """See :class:`PriorityQueue`; of the groups that wait by class the first ones come back before."""
        parking = self._pools.parking
        if parking is not None and parking.woken and not self._closed:
            self._wake_parked()
        return PriorityQueue.pop(self)

    def next_deadline(self) -> float | None:
        """See :class:`PriorityQueue`."""
        first, parking = PriorityQueue.next_deadline(self), self._pools.parking
        second = None if parking is None or self._closed else parking.deadline()
        return second if first is None else first if second is None else min(first, second)

    def flush(self) -> None:
        """See :class:`PriorityQueue`; the first group of a class that has waited too long is tried, too."""
        PriorityQueue.flush(self)
        parking = self._pools.parking
        if parking is not None and parking.flush(self._clock()):
            self._ready()

    def delete(self, pod: Pod) -> None:
        """See :class:`PriorityQueue`; what is left of a parked group is tried."""
        key = group_of(pod)
        if key:
            self.unpark(key)
        PriorityQueue.delete(self, pod)
        parking = self._pools.parking
        if parking is not None and key in parking.awake and not self._pools.active.has_group(key):
            parking.ended(key)
            self._ready()

    def activate(self, pods: Iterable[Pod]) -> None:
        """See :class:`PriorityQueue`."""
        pods = list(pods)
        if self._pools.parking is not None:
            for key in dict.fromkeys(map(group_of, pods)):
                self.unpark(key)
        PriorityQueue.activate(self, pods)

    # ---- members -----------------------------------------------------------------------------------------

    def pop_members(self, pods: Iterable[Pod]) -> list[QueuedPodInfo]:
        """Return those of *pods* that are queued in any pool, in flight from now on. O(log n) each.

        A pod that a gate holds stays behind. One that backs off is popped without asking the gates again.
        """
        pods = list(pods)
        for key in dict.fromkeys(map(group_of, pods)):
            self.unpark(key)
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
        if info is not None and not echo:
            self.unpark(group_of(info.pod))
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
        parking = self._pools.parking
        if (
            parking is not None
            and self._hints.is_registered(event)
            and parking.wake(self._hints, event, old, new)
        ):
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
        self.unpark(key)
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
        key = group_of(info.pod)
        if not key:
            return PriorityQueue._strategy_of(self, info)
        if self._pools.parking is not None and key in self._pools.parking.groups:
            return RequeueStrategy.SKIP, False
        strategy, _ = strategy_since_pop(self._hints, self._in_flight, info)
        return RequeueStrategy.AFTER_BACKOFF, not strategy


def _group_named_by(obj: Any) -> str:
    """Return the key of the group that *obj* is, or of which it is a member; empty for anything else."""
    if isinstance(obj, PodGroup):
        return obj.key
    return group_of(obj) if isinstance(obj, Pod) else ""
