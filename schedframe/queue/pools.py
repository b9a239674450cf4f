"""Where queued pods are, and how they get from one pool to another."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from ..errors import InvariantError
from .backoff import BackoffQueues
from .events import (
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
)
from .gates import Gates
from .heap import Heap
from .hints import HintTable, Plan, Strategy
from .nominator import NominatingMode, Nominator
from .queued_pod import PendingPod, Pool, QueuedPodInfo
from .unschedulable import UnschedulablePods

_ACTIVE: Final = Pool.ACTIVE
BACKING_OFF = frozenset({Pool.BACKOFF, Pool.ERROR_BACKOFF})
WAITING = frozenset({Pool.UNSCHEDULABLE, Pool.GATED})
_RENOMINATING = frozenset({UNSCHEDULABLE_POD_ADD.label, UNSCHEDULABLE_POD_UPDATE.label})


@lru_cache(maxsize=1024)
def _sorted_union(one: frozenset[str], other: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(one | other))


class Pools:
    """The queued pods by key, each in the one pool that its ``pool`` names.

    Pods enter the active and backoff pools only past the gates; those that a gate stops end up in the gated
    one. Methods that move a pod say whether :meth:`pop` may return it now.
    """

    __slots__ = ("_gates", "_hints", "_nominator", "active", "backoff", "by_key", "waiting")

    def __init__(
        self,
        gates: Gates,
        hints: HintTable,
        nominator: Nominator,
        backoff: BackoffQueues,
        waiting: UnschedulablePods,
        *,
        sort_key: Callable[[QueuedPodInfo], Any] | None,
        less: Callable[[QueuedPodInfo, QueuedPodInfo], bool] | None,
    ) -> None:
        self._gates = gates
        self._hints = hints
        self._nominator = nominator
        self.by_key: dict[str, QueuedPodInfo] = {}
        self.active: Heap[QueuedPodInfo] = Heap(attrgetter("key"), sort_key=sort_key, less=less)
        self.backoff = backoff
        self.waiting = waiting

    def any_waits(self) -> bool:
        """Whether a pod is anywhere but in the active pool. O(1)."""
        return len(self.by_key) > len(self.active.entries)

    def pop(self) -> QueuedPodInfo | None:
        """Take out the first active pod, or else the first that backs off after a rejection. O(log n)."""
        info = self.active.pop()
        if info is None:
            info = self.backoff.rejected.pop()
            if info is None:
                return None
        del self.by_key[info.key]
        return info

    def remove(self, info: QueuedPodInfo) -> None:
        """Take *info* out of wherever it is. O(1) amortised."""
        self._leave(info)
        self.by_key.pop(info.key, None)
        info.pool = None

    def replace(self, info: QueuedPodInfo, fresh: QueuedPodInfo) -> None:
        """Put *fresh*, a later version, in place of *info* in the active or a backoff pool. O(log n)."""
        self.by_key[info.key] = fresh
        pool = info.pool
        if pool is not None and pool in BACKING_OFF:
            self.backoff.replace(fresh)
        else:
            self.active.add(fresh)

    def requeue(
        self, info: QueuedPodInfo, strategy: Strategy, cause: str, now: float, *, held: bool = False
    ) -> bool:
        """Do what *strategy* (not SKIP) says: to a backoff pool, or to the active one; backoff if *held*."""
        if (held or strategy is Strategy.AFTER_BACKOFF) and self.backoff.is_backing_off(info, now):
            return self._enter_backoff(info, now, held)
        return self.enter_active(info, cause, now)

    def enter_active(self, info: QueuedPodInfo, cause: str, now: float, *, admitted: bool = False) -> bool:
        """Move *info* to the active pool; *admitted*: it has passed the gates already. O(log n)."""
        if not admitted and not self._gates.admit(info):
            self.wait(info, now)
            return False
        if info.pool is not None:
            self._leave(info)
        if info.initial_attempt is None:
            info.initial_attempt = now
        info.pool = _ACTIVE
        self.by_key[info.key] = info
        self.active.add(info)
        nominated = self._nominator.nominations or info.pod.status.nominated_node_name
        if nominated and cause in _RENOMINATING:
            self._nominator.add(info.pod, mode=NominatingMode.NOOP)
        return True

    def wait(self, info: QueuedPodInfo, now: float) -> None:
        """Let *info* wait for events, gated or not as it says; anew if it already does. O(log n)."""
        if info.pool is not None and info.pool not in WAITING:
            self._leave(info)
        gate = info.gating_plugin
        timed = not gate or self._hints.concerns(info.profile, gate, UNSCHEDULABLE_TIMEOUT)
        self.by_key[info.key] = info
        info.pool = self.waiting.put(info, now, timed=timed)

    def concerned(self, event: ClusterEvent) -> list[tuple[Plan, list[QueuedPodInfo]]]:
        """The waiting pods that *event* may help, with whom to ask about them. O(groups + pods found).

        The lists are copies: pods leave their groups as they are queued.
        """
        found = []
        for group in self.waiting.groups():
            if group.gate and not self._hints.concerns(group.profile, group.gate, event):
                continue
            plan = self._hints.plan(event, group.profile, group.unschedulable, group.pending)
            if plan:
                found.append((plan, list(group.pods.values())))
        return found

    def members(self, pool: Pool) -> list[QueuedPodInfo]:
        """The pods of one pool, in the order in which they leave it if there is one. O(n log n)."""
        if pool is Pool.ACTIVE:
            return self.active.sorted()
        if pool in BACKING_OFF:
            return self.backoff.members(pool)
        return [info for info in self.waiting.infos() if info.pool is pool]

    def counts(self) -> dict[Pool, int]:
        """How many pods are in each pool. O(1)."""
        gated = self.waiting.gated
        return {
            Pool.ACTIVE: len(self.active),
            Pool.BACKOFF: self.backoff.count(Pool.BACKOFF),
            Pool.ERROR_BACKOFF: self.backoff.count(Pool.ERROR_BACKOFF),
            Pool.UNSCHEDULABLE: len(self.waiting) - gated,
            Pool.GATED: gated,
        }

    def show(self, info: QueuedPodInfo) -> PendingPod:
        """What observers see of *info*, which may be in flight as well."""
        pool = info.pool or Pool.IN_FLIGHT
        wake_at = None
        if pool in BACKING_OFF:
            wake_at = self.backoff.wake_at(info)
        elif pool in WAITING:
            wake_at = self.waiting.wake_at(info)
        return PendingPod(
            info.key,
            info.uid,
            pool,
            info.attempts,
            _sorted_union(info.unschedulable_plugins, info.pending_plugins),
            info.gating_plugin,
            info.timestamp,
            wake_at,
        )

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless each pod is in the one pool it says it is in. O(n)."""
        for part in (self.active, self.backoff, self.waiting):
            part.check_invariants()
        queued = [(info, pool) for pool in self.counts() for info in self.members(pool)]
        for info, pool in queued:
            if info.pool is not pool or self.by_key.get(info.key) is not info or info.key != info.pod.key:
                raise InvariantError(f"{info.key} is in {pool}, says it is in {info.pool}, or is not known")
            if bool(info.gating_plugin) != (pool is Pool.GATED):
                raise InvariantError(f"{info.key} is in {pool} and gated by {info.gating_plugin!r}")
        if len(queued) != len(self.by_key):
            raise InvariantError(f"{len(self.by_key)} pods are known, {len(queued)} are in a pool")

    def _enter_backoff(self, info: QueuedPodInfo, now: float, held: bool) -> bool:
        if not self._gates.admit(info):
            self.wait(info, now)
            return False
        self._leave(info)
        self.by_key[info.key] = info
        info.pool = self.backoff.add(info, held=held)
        return not held

    def _leave(self, info: QueuedPodInfo) -> None:
        pool = info.pool
        if pool is Pool.ACTIVE:
            self.active.delete(info.key)
        elif pool is not None and pool in BACKING_OFF:
            self.backoff.remove(info)
        elif pool is not None:
            self.waiting.remove(info)
