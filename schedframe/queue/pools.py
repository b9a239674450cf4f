"""The pools of the queue, and the moves between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from ..api import Pod
from ..errors import InvariantError
from . import counting
from .backoff import BackoffQueues
from .counting import QueueCounts
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
from .queued_pod import PendingPod, Pool, QueuedPodInfo, identity
from .together.cohort import Cohort, cohort_of, line_of, size_of
from .together.known_outcomes import PodClass
from .unschedulable import Group, UnschedulablePods

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
"""What moves a pod whose attempt failed, as kube-scheduler names it."""
_ACTIVE: Final = Pool.ACTIVE
BACKING_OFF = frozenset({Pool.BACKOFF, Pool.ERROR_BACKOFF})
WAITING = frozenset({Pool.UNSCHEDULABLE, Pool.GATED})
_RENOMINATING = frozenset({UNSCHEDULABLE_POD_ADD.label, UNSCHEDULABLE_POD_UPDATE.label})


@lru_cache(maxsize=1024)
def _sorted_union(one: frozenset[str], other: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(one | other))


def _pods_of(infos: list[QueuedPodInfo], rank: Callable[[QueuedPodInfo], Any] | None) -> list[QueuedPodInfo]:
    """Return *infos* with views of their members in place of cohorts, in order if *rank* gives one."""
    if all(info.cohort is None for info in infos):
        return infos
    found: list[QueuedPodInfo] = []
    for info in infos:
        cohort = cohort_of(info)
        found += [info] if cohort is None else cohort.views()
    return found if rank is None else sorted(found, key=rank)


class Pools:
    """The queued pods by key, each in the one pool that its ``pool`` names.

    Pods enter the active and backoff pools only if the gates admit them, else the gated pool. Methods that
    move a pod return whether :meth:`pop` may return it now.
    """

    __slots__ = (
        "_gates",
        "_hints",
        "_nominator",
        "active",
        "backoff",
        "by_key",
        "cohorts",
        "counter",
        "waiting",
    )

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
        self.counter: QueueCounts | None = None
        """Counts which pods enter, and why, for metrics."""
        self._gates = gates
        self._hints = hints
        self._nominator = nominator
        self.by_key: dict[str, QueuedPodInfo] = {}
        self.cohorts: dict[str, Cohort] = {}
        self.active = self._new_heap(sort_key, less)
        self.backoff = backoff
        self.waiting = waiting

    def _new_heap(
        self,
        sort_key: Callable[[QueuedPodInfo], Any] | None,
        less: Callable[[QueuedPodInfo, QueuedPodInfo], bool] | None,
    ) -> Heap[QueuedPodInfo]:
        """Return the heap of active pods."""
        return Heap(attrgetter("key"), sort_key=sort_key, less=less)

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the first active pod, else the first in backoff after a rejection. O(log n)."""
        info = self.active.pop()
        if info is None:
            info = self.backoff.pop_early()
            if info is None:
                return None
        if info.cohort is None:
            self.count_early(info)
            del self.by_key[info.key]
        else:
            del self.cohorts[info.key]
        return info

    def _file(self, info: QueuedPodInfo) -> None:
        cohort = cohort_of(info)
        if cohort is None:
            self.by_key[info.key] = info
        else:
            self.cohorts[info.key] = cohort

    def push(self, info: QueuedPodInfo) -> None:
        """Put back what :meth:`pop` returned. O(log n)."""
        self._file(info)
        self.heap_of(info).add(info)

    def heap_of(self, info: QueuedPodInfo) -> Heap[QueuedPodInfo]:
        """Return the heap from which :meth:`pop` took *info*."""
        return self.active if info.pool is _ACTIVE else self.backoff.rejected

    def count_early(self, info: QueuedPodInfo) -> None:
        """Count *info*, or its members, if it was popped before its backoff was over."""
        if self.counter is not None and info.pool is not _ACTIVE:
            self.counter.popped_early(size_of(info))

    def leave(self, info: QueuedPodInfo) -> None:
        """Take *info* out of the pool that it is in. O(1) amortised."""
        pool = info.pool
        if info.cohort is not None:
            del self.cohorts[info.key]
        if pool is Pool.ACTIVE:
            self.active.delete(info.key)
        elif pool is not None and pool in BACKING_OFF:
            self.backoff.remove(info)
        elif pool is not None:
            self.waiting.remove(info)

    def remove(self, info: QueuedPodInfo) -> None:
        """Remove *info* from its pool. O(1) amortised."""
        self.leave(info)
        self.by_key.pop(info.key, None)
        info.pool = None

    def part_from_cohort(self, info: QueuedPodInfo, *, gone: bool = False) -> None:
        """Let a member of a cohort wait alone, in the same pool and with the same history. O(log n).

        *gone*: it does not wait any more.
        """
        cohort = line_of(info).cohort
        history = cohort.history
        pool, held = history.pool, history.key in self.backoff.held
        if gone:
            cohort.drop(info)
            self.by_key.pop(info.key, None)
            info.pool = None
        else:
            cohort.release(info)
        if not cohort.size:
            self.remove(history)
        if gone:
            return
        if pool is _ACTIVE:
            self.active.add(info)
        elif pool is Pool.BACKOFF:
            self.backoff.add(info, held=held)
        else:
            info.pool = None
            self.wait(info, info.timestamp)

    def alone(self, infos: list[QueuedPodInfo]) -> list[QueuedPodInfo]:
        """Return the pods of *infos*, all of which wait alone from now on."""
        found = []
        for info in infos:
            cohort = cohort_of(info)
            found += [info] if cohort is None else self.part(cohort)
        return found

    def part(self, cohort: Cohort) -> list[QueuedPodInfo]:
        """Let all members of a waiting cohort wait alone, and return them. O(members)."""
        members = list(cohort)
        for member in members:
            self.part_from_cohort(member)
        return members

    def split(self, cohort: Cohort, pod_classes: set[PodClass]) -> Cohort:
        """Let the lines of *pod_classes* wait as a cohort of their own; *cohort* keeps at least one line."""
        part = cohort.split(lambda line: line.pod_class in pod_classes)
        assert part is not None
        part.history.pool = None
        self.wait(part.history, part.history.timestamp)
        return part

    def replace(self, info: QueuedPodInfo, fresh: QueuedPodInfo) -> None:
        """Replace *info* by the later version *fresh* in the active or a backoff pool. O(log n)."""
        pool = info.pool
        if pool is not None and pool in BACKING_OFF:
            self.backoff.replace(fresh)
        else:
            self.active.add(fresh)
        self.by_key[info.key] = fresh

    def requeue(
        self, info: QueuedPodInfo, strategy: RequeueStrategy, cause: str, now: float, *, held: bool = False
    ) -> bool:
        """Move *info* to a backoff pool or the active one by *strategy* (not SKIP); to backoff if *held*."""
        waits = held or strategy is RequeueStrategy.AFTER_BACKOFF or self.backoff.rests(info, now)
        if waits and self.backoff.is_backing_off(info, now):
            return self._enter_backoff(info, cause, now, held)
        return self.enter_active(info, cause, now)

    def activate(self, info: QueuedPodInfo, cause: str, now: float) -> bool:
        """Move a waiting or backing-off pod to the active pool; one that rests waits until that is over."""
        admitted = info.pool in BACKING_OFF
        if not self.backoff.rests(info, now):
            return self.enter_active(info, cause, now, admitted=admitted)
        return not admitted and self.requeue(info, RequeueStrategy.IMMEDIATELY, cause, now)

    def rest(self, pod: Pod, until: int, now: float) -> None:
        """Let *pod* rest up to that second of the clock, if it is queued. Its class does not. O(log n)."""
        info = self.by_key.get(pod.key)
        if info is None or info.uid != identity(pod):
            return
        if info.line is not None:
            self.part_from_cohort(info)
        waits, held = info.pool in WAITING, info.key in self.backoff.held
        if not waits:
            self.remove(info)  # it is filed by the end of its backoff as that was
        info.not_before, info.backoff_expiry = until, None
        if not waits:
            self.requeue(info, RequeueStrategy.IMMEDIATELY, SCHEDULE_ATTEMPT_FAILURE, now, held=held)

    def enter_active(self, info: QueuedPodInfo, cause: str, now: float, *, admitted: bool = False) -> bool:
        """Move *info* to the active pool; *admitted*: it has passed the gates already. O(log n)."""
        if not admitted and not self._gates.admit(info):
            self._wait_for(info, cause, now)
            return False
        if info.initial_attempt is None:
            info.initial_attempt = now
        self.active.add(info)  # first: if ``on_fault`` raises, the pod stays where it is
        before = info.pool
        if before is not None:
            self.leave(info)
        info.pool = _ACTIVE
        if info.cohort is None:
            self.by_key[info.key] = info
        else:
            self._file(info)
        nominated = self._nominator.nominations or info.pod.status.nominated_node_name
        if nominated and cause in _RENOMINATING:
            self._nominator.add(info.pod, mode=NominatingMode.NOOP)
        counter = self.counter
        if counter is not None:
            if before is None and info.cohort is None:  # as each pod when it comes
                counter.incoming[counting.ACTIVE, cause] += 1
            else:
                counter.entered(counting.ACTIVE, info, before, cause)
        return True

    def _wait_for(self, info: QueuedPodInfo, cause: str, now: float) -> None:
        """Let *info* wait because of *cause*."""
        before = info.pool
        self.wait(info, now)
        if self.counter is not None:
            self.counter.entered(counting.UNSCHEDULABLE, info, before, cause)

    def wait(self, info: QueuedPodInfo, now: float) -> None:
        """Move *info* to the unschedulable pool, or the gated one if it has a gate. O(log n)."""
        if info.pool is not None and info.pool not in WAITING:
            self.leave(info)
        gate = info.gating_plugin
        timed = not gate or self._hints.is_registered_by(info.profile, gate, UNSCHEDULABLE_TIMEOUT)
        if info.cohort is None:
            self.by_key[info.key] = info
        else:
            self._file(info)
        info.pool = self.waiting.put(info, now, timed=timed)

    def wait_rejected(self, info: QueuedPodInfo, now: float) -> None:
        """Let *info* wait after an attempt that failed. O(log n)."""
        self._wait_for(info, SCHEDULE_ATTEMPT_FAILURE, now)

    def candidates_for(self, event: ClusterEvent) -> list[tuple[HintPlan, list[QueuedPodInfo]]]:
        """Return the waiting pods that *event* may help, with the hints to run. O(groups + pods in them).

        The lists are copies, because pods leave their groups when they are queued. Gates that registered the
        event are asked here already, because hints for pods that stay anyway would cost more.
        """
        candidates = []
        for group in self.waiting.groups():
            if group.gate and not self._hints.is_registered_by(group.profile, group.gate, event):
                continue
            plan = self._hints.plan_for(event, group.profile, group.unschedulable, group.pending)
            if not plan.entries:
                continue
            infos = self._candidates_in(group, event)
            if group.gate and infos:
                infos = self._gates.without_refused(group.profile, group.gate, infos)
            if infos:
                candidates.append((plan, infos))
        return candidates

    def _candidates_in(self, group: Group, event: ClusterEvent) -> list[QueuedPodInfo]:
        """Return the pods of one group of waiting pods that *event* may help. O(pods)."""
        return list(group.pods.values())

    def members(self, pool: Pool) -> list[QueuedPodInfo]:
        """Return the pods of one pool, in the order in which they leave it if it has one. O(n log n)."""
        if pool is Pool.ACTIVE:
            return _pods_of(self.active.sorted(), self.active.rank)
        if pool is Pool.BACKOFF:
            heaps = self.backoff.heaps_of(pool)
            return [info for heap in heaps for info in _pods_of(heap.sorted(), heap.rank)]
        if pool is Pool.ERROR_BACKOFF:
            return self.backoff.errors.sorted()
        return _pods_of([info for info in self.waiting.infos() if info.pool is pool], None)

    def counts(self) -> dict[Pool, int]:
        """Return the number of pods in each pool. O(cohorts)."""
        gated = self.waiting.gated
        found = {
            Pool.ACTIVE: len(self.active),
            Pool.BACKOFF: self.backoff.count(Pool.BACKOFF),
            Pool.ERROR_BACKOFF: self.backoff.count(Pool.ERROR_BACKOFF),
            Pool.UNSCHEDULABLE: len(self.waiting) - gated,
            Pool.GATED: gated,
        }
        for cohort in self.cohorts.values():
            assert cohort.history.pool is not None
            found[cohort.history.pool] += cohort.size - 1
        return found

    def show(self, info: QueuedPodInfo) -> PendingPod:
        """Return the view of *info* for observers; it may be in flight too."""
        pool = info.pool or Pool.IN_FLIGHT
        wake_at = None
        if pool in BACKING_OFF:
            wake_at = self.backoff.wake_at(info)
        elif pool in WAITING:
            filed = self.by_key[info.key]
            wake_at = self.waiting.wake_at(info if filed.line is None else line_of(filed).cohort.history)
        return PendingPod(
            info.key,
            info.uid,
            pool,
            info.attempts,
            _sorted_union(info.unschedulable_plugins, info.pending_plugins),
            info.gating_plugin,
            info.timestamp,
            wake_at,
            info.failure if info.error_count else "",
            info.not_before > info.timestamp,
        )

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless each pod is in the one pool it says it is in. O(n)."""
        for part in (self.active, self.backoff, self.waiting):
            part.check_invariants()
        entries = (self.active, self.backoff.rejected, self.backoff.held, self.waiting.infos())
        histories = {info.key for part in entries for info in part if info.cohort is not None}
        if histories != self.cohorts.keys():
            raise InvariantError("the cohorts in the pools are not those that are filed")
        for cohort in self.cohorts.values():
            cohort.check_invariants(self.by_key)
        queued = [(info, pool) for pool in self.counts() for info in self.members(pool)]
        for info, pool in queued:
            filed = self.by_key.get(info.key)
            waits = filed is info or (filed is not None and filed.line is not None)
            if info.pool is not pool or not waits or info.key != info.pod.key:
                raise InvariantError(
                    f"{info.key} is in {pool}, but its pool is {info.pool}, or it has no key"
                )
            if bool(info.gating_plugin) != (pool is Pool.GATED):
                raise InvariantError(f"{info.key} is in {pool} and gated by {info.gating_plugin!r}")
        if len(queued) != len(self.by_key):
            raise InvariantError(f"{len(self.by_key)} pods by key, {len(queued)} in pools")

    def _enter_backoff(self, info: QueuedPodInfo, cause: str, now: float, held: bool) -> bool:
        if not self._gates.admit(info):
            self._wait_for(info, cause, now)
            return False
        pool, before = self.backoff.add(info, held=held), info.pool
        self.leave(info)
        self._file(info)
        info.pool = pool
        if self.counter is not None:
            self.counter.entered(counting.BACKOFF, info, before, cause)
        return not held
