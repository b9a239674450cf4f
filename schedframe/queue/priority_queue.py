"""The scheduling queue: which pod is next, which ones wait, and what for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ..api import Pod
from .backoff import BackoffQueues
from .derive import pod_update_events
from .events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
)
from .gates import Gates
from .hints import FaultFn, HintTable, QueueProfile, Strategy, concerns_pod, log_fault
from .in_flight import DEFAULT_MAX_EVENTS, InFlight
from .nominator import Nominator
from .pools import BACKING_OFF, WAITING, Pools
from .queued_pod import PendingPod, Pool, QueuedPodInfo, Requeued, by_priority, identity, shared
from .unschedulable import UnschedulablePods

_IN_FLIGHT: Final = Pool.IN_FLIGHT
_SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
_BACKOFF_COMPLETE = "BackoffComplete"


class PriorityQueue:
    """Pending pods of all profiles. Behaviour: kube-scheduler v1.36 (pkg/scheduler/backend/queue).

    One writer: the queue has no locks and never blocks, and calls plugins, ``on_ready`` and ``on_fault`` from
    within its methods. Nothing happens by itself: :meth:`next_deadline` says when :meth:`flush` has something
    to do. Order is by *sort_key* or *less* of queue-sort plugins, by default :func:`by_priority`; equal pods
    leave in the order in which they came. Times are seconds of *clock*, exact to the microsecond. Pods are
    told apart by uid, and by key if they have none.

    *profiles*: what is known of each profile, by scheduler name. *initial_backoff*, *max_backoff* (0: no
    backoff) and *max_in_unschedulable*: seconds. *pod_lister*: the cluster's present version of a pod by key;
    with it, pods that are gone or bound are not nominated. *on_ready*: called when a pod came that
    :meth:`pop` may return. *on_fault*: told of plugins that fail; their pod is queued (hints) or held back
    (pre_enqueue).
    """

    def __init__(
        self,
        *,
        sort_key: Callable[[QueuedPodInfo], Any] | None = None,
        less: Callable[[QueuedPodInfo, QueuedPodInfo], bool] | None = None,
        profiles: Mapping[str, QueueProfile] | None = None,
        clock: Callable[[], float] = time.time,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        max_in_unschedulable: float = 300.0,
        pod_lister: Callable[[str], Pod | None] | None = None,
        on_ready: Callable[[], None] | None = None,
        on_fault: FaultFn = log_fault,
        max_in_flight_events: int = DEFAULT_MAX_EVENTS,
    ) -> None:
        if sort_key is None and less is None:
            sort_key = by_priority
        self._clock = clock
        self._closed = False
        self._cycle = 0
        self._lister = pod_lister
        self._on_ready = on_ready
        self._hints = HintTable(profiles or {}, on_fault)
        self._in_flight = InFlight(max_in_flight_events)
        self.nominator = Nominator(self._may_be_nominated)
        self._pools = Pools(
            Gates(profiles or {}, on_fault),
            self._hints,
            self.nominator,
            BackoffQueues(initial_backoff, max_backoff, sort_key=sort_key, less=less),
            UnschedulablePods(max_in_unschedulable),
            sort_key=sort_key,
            less=less,
        )

    # ---- pods come and go --------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A pod that waits for scheduling has appeared. O(log n).

        One that the queue knows already is updated; one that took another's name replaces it.
        """
        known = self._pools.by_key.get(pod.key)
        if known is None and self._in_flight.flights:
            known = self._in_flight.revive(identity(pod))
        if known is not None:
            self.update(known.pod, pod)
            return
        now = self._clock()
        if self._pools.enter_active(QueuedPodInfo(pod, now), UNSCHEDULABLE_POD_ADD.label, now):
            self._ready()

    def update(self, old: Pod, new: Pod, *, echo: bool = False) -> None:
        """A waiting pod has changed. O(log n), and the hints of its rejectors if it is unschedulable.

        A pod in flight is left alone, but the change is remembered for the case that its attempt fails. One
        that was replaced by another of the same name is deleted and added. *echo*: the scheduler itself made
        the change, so it helps nobody and no hint is asked.
        """
        uid = identity(new)
        if identity(old) != uid:
            self.delete(old)
            self.add(new)
            return
        if uid in self._in_flight:
            for event in () if echo else pod_update_events(old, new):
                self._in_flight.record(event, old, new)
            return
        info = self._pools.by_key.get(new.key)
        if info is not None and info.uid != uid:
            self.delete(info.pod)
            info = None
        now = self._clock()
        entered = False
        if info is None:
            entered = self._pools.enter_active(QueuedPodInfo(new, now), UNSCHEDULABLE_POD_UPDATE.label, now)
        elif info.pool in WAITING:
            entered = self._update_waiting(info, old, new, now, echo)
        else:
            self._pools.replace(info, info.with_pod(new))
            self.nominator.update(old, new)
        if entered:
            self._ready()

    def delete(self, pod: Pod) -> None:
        """A pod is gone, or was bound by somebody. O(log n).

        Its nomination goes with it. News of an older pod of the same name do not touch the present one.
        """
        uid = identity(pod)
        self.nominator.delete(pod)
        info = self._pools.by_key.get(pod.key)
        if info is not None and info.uid == uid:
            self._pools.remove(info)
        else:
            self._in_flight.mark_deleted(uid)

    # ---- attempts ----------------------------------------------------------------------------------------

    def pop(self) -> QueuedPodInfo | None:
        """The pod to schedule next, in flight until :meth:`done` or :meth:`add_unschedulable`. O(log n).

        If nothing is active, the first pod that backs off after a rejection, held ones excepted (see
        :meth:`move_all`); ``None`` if there is none either, or the queue is closed.
        """
        if self._closed:
            return None
        while (info := self._pools.pop()) is not None:
            info.attempts += 1
            if self._in_flight.start(info):
                info.pool = _IN_FLIGHT
                self._cycle += 1
                return info
            info.pool = None  # the same pod is in flight: this one is a leftover
        return None

    def done(self, uid: str) -> None:
        """The pod popped with this uid needs no scheduling any more. O(1); unknown uids do nothing."""
        if self._in_flight.finish(uid):
            self.nominator.delete_uid(uid)

    def add_unschedulable(
        self,
        info: QueuedPodInfo,
        latest: Pod | None,
        *,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
    ) -> Requeued:
        """The attempt to schedule a popped pod failed: decide where it waits, and end its flight.

        *latest* is the cluster's present version of it. If that is ``None``, another pod or bound, nothing is
        queued. The plugins are those that rejected the pod; none of either kind means an error. Events that
        came in since the pod was popped count: if one of them may help, it is queued again at once. O(log n +
        events in flight).
        """
        uid = info.uid
        info.unschedulable_plugins = shared(frozenset(unschedulable_plugins))
        info.pending_plugins = shared(frozenset(pending_plugins))
        info.gating_plugin = ""
        info.pool = None
        try:
            if (
                latest is None
                or identity(latest) != uid
                or latest.spec.node_name
                or self._in_flight.is_deleted(uid)
            ):
                return Requeued(None)
            known = self._pools.by_key.get(info.key)
            if known is not None:
                return Requeued(known.pool, already=True)
            return self._queue_again(info, latest)
        finally:
            self.done(uid)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move waiting or backing-off pods to the active pool, unless a gate holds them. O(log n) each.

        For a pod in flight that is remembered: should its attempt fail, it is queued again whatever its
        rejectors say.
        """
        entered = False
        now = self._clock()
        for pod in pods:
            info = self._pools.by_key.get(pod.key)
            if info is not None and info.pool is not Pool.ACTIVE:
                admitted = info.pool in BACKING_OFF
                entered |= self._pools.enter_active(info, FORCE_ACTIVATE.label, now, admitted=admitted)
            elif identity(pod) in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, pod)
        if entered:
            self._ready()

    # ---- events ------------------------------------------------------------------------------------------

    def move_all(
        self,
        event: ClusterEvent,
        old: Any = None,
        new: Any = None,
        *,
        max_priority: int | None = None,
        except_uid: str | None = None,
        rollback: bool = False,
    ) -> None:
        """Something happened: queue the waiting pods that it may help, and keep it for those in flight.

        A pod is asked about only if one of its rejectors registered the event (and, if it is gated, the
        plugin that gates it); the others cost nothing, however many they are. *max_priority* leaves out
        waiting pods of higher priority, *except_uid* one pod. O(groups of pods with equal rejectors + pods
        asked about × hints).

        *rollback*: an attempt that a plugin rejected was rolled back, so the cluster is as it was before.
        Pods that back off after such events only are held: they are popped after their backoff, or when
        another event comes. Otherwise pods whose attempts fail in turn would wake each other without end.
        """
        if not (self._in_flight.flights or self._pools.any_waits()) or not self._hints.is_of_interest(event):
            return
        now = self._clock()
        entered = False
        if not rollback and self._pools.backoff.held:
            self._pools.backoff.release()
            entered = True
        for plan, infos in self._pools.concerned(event):
            for info in infos:
                if max_priority is not None and info.pod.priority > max_priority:
                    continue
                if info.uid == except_uid or not concerns_pod(event, new, info):
                    continue
                strategy = self._hints.ask(plan, info.pod, old, new)
                if strategy:
                    entered |= self._pools.requeue(info, strategy, event.label, now, held=rollback)
        self._in_flight.record(event, old, new, rollback=rollback)
        if entered:
            self._ready()

    # ---- time --------------------------------------------------------------------------------------------

    def is_timed(self) -> bool:
        """Whether :meth:`flush` may ever have something to do with the pods that are here. O(1)."""
        return self._pools.any_waits()

    def next_deadline(self) -> float | None:
        """When :meth:`flush` has something to do next, maybe in the past; ``None``: never. O(1) amortised."""
        if self._closed:
            return None
        first, second = self._pools.backoff.deadline(), self._pools.waiting.deadline()
        return second if first is None else first if second is None else min(first, second)

    def flush(self) -> None:
        """Do what is due: :meth:`flush_backoff` and :meth:`flush_unschedulable`. O(1) if nothing is."""
        now = self._clock()
        backoff, waiting = self._pools.backoff.deadline(), self._pools.waiting.deadline()
        if backoff is not None and backoff <= now:
            self.flush_backoff()
        if waiting is not None and waiting <= now:
            self.flush_unschedulable()

    def flush_backoff(self) -> None:
        """Move pods whose backoff is over to the active pool. O(log n) each."""
        now = self._clock()
        entered = False
        for info in self._pools.backoff.pop_completed(now):
            info.pool = None
            entered |= self._pools.enter_active(info, _BACKOFF_COMPLETE, now, admitted=True)
        if entered:
            self._ready()

    def flush_unschedulable(self) -> None:
        """Queue pods again that have waited too long, whatever their rejectors say. O(log n) each.

        Pods in flight learn of it as of an event of everything.
        """
        now = self._clock()
        overdue = self._pools.waiting.flush(now)
        if not self._pools.waiting.any_flushed:
            return
        entered = False
        for info in overdue:
            entered |= self._pools.requeue(info, Strategy.AFTER_BACKOFF, UNSCHEDULABLE_TIMEOUT.label, now)
        self._in_flight.record(UNSCHEDULABLE_TIMEOUT, None, None)
        if entered:
            self._ready()

    def close(self) -> None:
        """Stop handing out pods: :meth:`pop` answers ``None`` and nothing falls due. Idempotent."""
        self._closed = True
        self._in_flight.clear()

    # ---- what is there -----------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    @property
    def scheduling_cycle(self) -> int:
        """How many pods were popped so far."""
        return self._cycle

    @property
    def in_flight(self) -> InFlight:
        """The pods that are popped and not done, and the events kept for them. To be looked at only."""
        return self._in_flight

    def get(self, key: str) -> QueuedPodInfo | None:
        """The queued pod with that key; not one in flight. O(1)."""
        return self._pools.by_key.get(key)

    def in_pool(self, pool: Pool) -> list[QueuedPodInfo]:
        """The pods of one pool, in the order in which they leave it where there is one. O(n log n)."""
        return self._in_flight.infos() if pool is Pool.IN_FLIGHT else self._pools.members(pool)

    def counts(self) -> dict[Pool, int]:
        """How many pods are in each pool. O(1)."""
        return {**self._pools.counts(), Pool.IN_FLIGHT: len(self._in_flight)}

    def pending(self) -> list[PendingPod]:
        """All pods, pool by pool: for people and dashboards. O(n log n)."""
        return [self._pools.show(info) for pool in Pool for info in self.in_pool(pool)]

    def __len__(self) -> int:
        """How many pods are queued; those in flight are not."""
        return len(self._pools.by_key)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless each pod is in the one pool it says it is in. O(n)."""
        self._pools.check_invariants()
        self._in_flight.check_invariants()
        self.nominator.check_invariants()

    # ---- how it is done ----------------------------------------------------------------------------------

    def _update_waiting(self, info: QueuedPodInfo, old: Pod, new: Pod, now: float, echo: bool) -> bool:
        info.pod = new
        self._pools.wait(info, now)
        self.nominator.update(old, new)
        for event in () if echo else pod_update_events(old, new):
            strategy = self._hints.strategy(info, event, old, new)
            if strategy and self._pools.requeue(info, strategy, event.label, now):
                return True
        return False

    def _queue_again(self, info: QueuedPodInfo, latest: Pod) -> Requeued:
        now = self._clock()
        info.pod = latest
        if info.unschedulable_plugins or info.pending_plugins:
            info.unschedulable_count += 1
            info.error_count = 0
        else:
            info.error_count += 1
        info.timestamp = now
        info.backoff_expiry = None
        info.flushed = False
        strategy, held = self._strategy_after_attempt(info)
        if not strategy:
            self._pools.wait(info, now)
        elif self._pools.requeue(info, strategy, _SCHEDULE_ATTEMPT_FAILURE, now, held=held):
            self._ready()
        return Requeued(info.pool)

    def _strategy_after_attempt(self, info: QueuedPodInfo) -> tuple[Strategy, bool]:
        """What the events during the attempt ask for, and whether all that do are rollbacks."""
        uid = info.uid
        if uid not in self._in_flight or not (info.unschedulable_plugins or info.pending_plugins):
            return Strategy.AFTER_BACKOFF, False
        best, held = Strategy.SKIP, True
        enough = Strategy.IMMEDIATELY if info.pending_plugins else Strategy.AFTER_BACKOFF
        for event, old, new, rollback in self._in_flight.events_since_pop(uid):
            if rollback and best >= enough:
                continue
            strategy = self._hints.strategy(info, event, old, new)
            best = max(best, strategy)
            held &= rollback or not strategy
            if best >= enough and not held:
                break
        return best, held

    def _ready(self) -> None:
        if self._on_ready is not None:
            self._on_ready()

    def _may_be_nominated(self, pod: Pod) -> bool:
        if self._in_flight.is_deleted(identity(pod)):
            return False
        if self._lister is None:
            return True
        present = self._lister(pod.key)
        return present is not None and not present.spec.node_name
