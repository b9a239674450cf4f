"""The pools of the queue, and the moves between them."""

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
from .hints import HintPlan, HintTable, RequeueStrategy
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

    Pods enter the active and backoff pools only if the gates admit them, else the gated pool. Methods that
    move a pod return whether :meth:`pop` may return it now.
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
        """Return whether any pod is outside of the active pool. O(1)."""
        return len(self.by_key) > len(self.active.entries)

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the first active pod, else the first in backoff after a rejection. O(log n)."""
        info = self.active.pop()
        if info is None:
            info = self.backoff.rejected.pop()
            if info is None:
                return None
        del self.by_key[info.key]
        return info

    def remove(self, info: QueuedPodInfo) -> None:
        """Remove *info* from its pool. O(1) amortised."""
        self._leave(info)
        self.by_key.pop(info.key, None)
        info.pool = None

    def replace(self, info: QueuedPodInfo, fresh: QueuedPodInfo) -> None:
        """Replace *info* by the later version *fresh* in the active or a backoff pool. O(log n)."""
        self.by_key[info.key] = fresh
        pool = info.pool
        if pool is not None and pool in BACKING_OFF:
            self.backoff.replace(fresh)
        else:
            self.active.add(fresh)

    def requeue(
        self, info: QueuedPodInfo, strategy: RequeueStrategy, cause: str, now: float, *, held: bool = False
    ) -> bool:
        """Move *info* to a backoff pool or the active one by *strategy* (not SKIP); to backoff if *held*."""
        if (held or strategy is RequeueStrategy.AFTER_BACKOFF) and self.backoff.is_backing_off(info, now):
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
        """Move *info* to the unschedulable pool, or the gated one if it has a gate. O(log n)."""
        if info.pool is not None and info.pool not in WAITING:
            self._leave(info)
        gate = info.gating_plugin
        timed = not gate or self._hints.is_registered_by(info.profile, gate, UNSCHEDULABLE_TIMEOUT)
        self.by_key[info.key] = info
        info.pool = self.waiting.put(info, now, timed=timed)

    def candidates_for(self, event: ClusterEvent) -> list[tuple[HintPlan, list[QueuedPodInfo]]]:
        """Return the waiting pods that *event* may help, with the hints to run. O(groups + pods returned).

        The lists are copies, because pods leave their groups when they are queued.
        """
        candidates = []
        for group in self.waiting.groups():
            if group.gate and not self._hints.is_registered_by(group.profile, group.gate, event):
                continue
            plan = self._hints.plan_for(event, group.profile, group.unschedulable, group.pending)
            if plan:
                candidates.append((plan, list(group.pods.values())))
        return candidates

    def members(self, pool: Pool) -> list[QueuedPodInfo]:
        """Return the pods of one pool, in the order in which they leave it if it has one. O(n log n)."""
        if pool is Pool.ACTIVE:
            return self.active.sorted()
        if pool in BACKING_OFF:
            return self.backoff.members(pool)
        return [info for info in self.waiting.infos() if info.pool is pool]

    def counts(self) -> dict[Pool, int]:
        """Return the number of pods in each pool. O(1)."""
        gated = self.waiting.gated
        return {
            Pool.ACTIVE: len(self.active),
            Pool.BACKOFF: self.backoff.count(Pool.BACKOFF),
            Pool.ERROR_BACKOFF: self.backoff.count(Pool.ERROR_BACKOFF),
            Pool.UNSCHEDULABLE: len(self.waiting) - gated,
            Pool.GATED: gated,
        }

    def show(self, info: QueuedPodInfo) -> PendingPod:
        """Return the view of *info* for observers; it may be in flight too."""
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
                raise InvariantError(
                    f"{info.key} is in {pool}, but its pool is {info.pool}, or it has no key"
                )
            if bool(info.gating_plugin) != (pool is Pool.GATED):
                raise InvariantError(f"{info.key} is in {pool} and gated by {info.gating_plugin!r}")
        if len(queued) != len(self.by_key):
            raise InvariantError(f"{len(self.by_key)} pods by key, {len(queued)} in pools")

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
