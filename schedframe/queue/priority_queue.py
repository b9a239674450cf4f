"""The scheduling queue: which pod is next, and which pods wait for what."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
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
from .hints import HintTable, RequeueStrategy, applies_to
from .in_flight import InFlight
from .moments import Moments, keyed_order, less_order
from .nominator import Nominator
from .options import QueueOptions
from .pools import BACKING_OFF, WAITING, Pools
from .queued_pod import PendingPod, Pool, QueuedPodInfo, Requeued, by_priority, identity, interned
from .unschedulable import UnschedulablePods

_IN_FLIGHT: Final = Pool.IN_FLIGHT
_SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
_BACKOFF_COMPLETE = "BackoffComplete"


class PriorityQueue:
    """Pending pods of all profiles. Behaviour: kube-scheduler v1.36 (pkg/scheduler/backend/queue).

    One writer: the queue has no locks and never blocks, and calls plugins, ``on_ready`` and ``on_fault`` from
    within its methods. Nothing happens without a call: :meth:`next_deadline` returns when :meth:`flush` has
    something to do. Pods that are equal in order leave in the order of their arrival. Times are seconds of
    the clock, exact to the microsecond. Pods are identified by uid, and by key if they have none.
    """

    def __init__(self, options: QueueOptions | None = None) -> None:
        options = options if options is not None else QueueOptions()
        if options.sort_key is not None and options.less is not None:
            raise TypeError("a queue is ordered by sort_key or by less: give at most one of them")
        less = None if options.less is None else less_order(options.less)
        sort_key = keyed_order(options.sort_key or by_priority) if less is None else None
        self._arrivals = count(1)
        self._moments = Moments(options.tolerance)
        self._clock = options.clock
        self._closed = False
        self._cycle = 0
        self._lister = options.pod_lister
        self._on_ready = options.on_ready
        self._hints = HintTable(options.profiles, options.on_fault)
        self._in_flight = InFlight(options.max_in_flight_events)
        self.nominator = Nominator(self._may_be_nominated)
        self._pools = Pools(
            Gates(options.profiles, options.on_fault),
            self._hints,
            self.nominator,
            BackoffQueues(options.initial_backoff, options.max_backoff, sort_key=sort_key, less=less),
            UnschedulablePods(options.max_in_unschedulable),
            sort_key=sort_key,
            less=less,
        )

    # ---- pods come and go --------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """Add a pod that waits for scheduling. O(log n).

        A pod that is here already is updated; another pod of the same name is replaced.
        """
        present = self._pools.by_key.get(pod.key)
        if present is None and self._in_flight.flights:
            present = self._in_flight.revive(identity(pod))
        if present is not None:
            self.update(present.pod, pod)
            return
        now = self._clock()
        if self._pools.enter_active(self._info(pod, now), UNSCHEDULABLE_POD_ADD.label, now):
            self._ready()

    def update(self, old: Pod, new: Pod, *, echo: bool = False) -> None:
        """Update a waiting pod that changed. O(log n), and the hints of its rejectors if it is unschedulable.

        A pod in flight is not touched, but the change is kept in case its attempt fails. If *new* is another
        pod of the same name, *old* is deleted and *new* added. *echo*: the scheduler itself made the change,
        so it cannot help the pod and no hint runs.
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
            entered = self._pools.enter_active(self._info(new, now), UNSCHEDULABLE_POD_UPDATE.label, now)
        elif info.pool in WAITING:
            entered = self._update_waiting(info, old, new, now, echo)
        else:
            self._pools.replace(info, info.with_pod(new))
            self.nominator.update(old, new)
        if entered:
            self._ready()

    def delete(self, pod: Pod) -> None:
        """Remove a pod that was deleted or bound, with its nomination. O(log n).

        Deleting an older pod of the same name does not touch the present one.
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
        """Return the next pod, in flight until :meth:`done` or :meth:`add_unschedulable`. O(log n).

        If no pod is active, it is the first pod that backs off after a rejection, held ones excepted (see
        :meth:`move_all`). ``None`` if there is none either, or the queue is closed.
        """
        if self._closed:
            return None
        while (info := self._pools.pop()) is not None:
            info.attempts += 1
            if self._in_flight.start(info):
                info.pool = _IN_FLIGHT
                self._cycle += 1
                info.popped = self._cycle
                return info
            info.pool = None  # a duplicate: the same pod is in flight
        return None

    def done(self, uid: str) -> None:
        """End the flight of a pod that needs no scheduling any more. O(1); unknown uids do nothing."""
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
        """End the flight of a pod whose attempt failed, and queue it again or let it wait.

        *latest*: the cluster's present version of it. If that is ``None``, another pod or bound, nothing is
        queued. The plugins are those that rejected the pod; none of either kind means an error. If an event
        since the pod was popped may help it, it is queued again at once. O(log n + events in flight).
        """
        uid = info.uid
        info.unschedulable_plugins = interned(frozenset(unschedulable_plugins))
        info.pending_plugins = interned(frozenset(pending_plugins))
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
            queued = self._pools.by_key.get(info.key)
            if queued is not None:
                return Requeued(queued.pool, already=True)
            return self._queue_again(info, latest)
        finally:
            self.done(uid)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move waiting or backing-off pods to the active pool, unless a gate holds them. O(log n) each.

        A pod in flight is queued again if its attempt fails, whatever its rejectors register.
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
        rolled_back: int | None = None,
    ) -> None:
        """Queue the waiting pods that *event* may help, and keep it for the pods in flight.

        Hints run only for pods with a rejector that registered the event (and, if gated, whose gate
        registered it); other pods cost nothing. *max_priority* leaves out waiting pods of higher priority,
        *except_uid* one pod. O(groups of pods with equal rejectors + pods with hints to run × hints).

        *rolled_back*: the event is the roll-back of the attempt with that ``QueuedPodInfo.popped``, no news
        for pods that were tried before it. One that backs off after such events only is held until its
        backoff ends or another event comes, else pods whose attempts fail in turn wake each other for ever.
        """
        if not (self._in_flight.flights or self._pools.any_waits()) or not self._hints.is_registered(event):
            return
        now = self._clock()
        entered = False
        if self._pools.backoff.held:
            entered = self._pools.backoff.release(rolled_back or 0)
        for plan, infos in self._pools.candidates_for(event):
            for info in infos:
                if max_priority is not None and info.pod.priority > max_priority:
                    continue
                if info.uid == except_uid or not applies_to(event, new, info):
                    continue
                strategy = self._hints.run(plan, info.pod, old, new)
                if strategy:
                    held = rolled_back is not None and info.popped <= rolled_back
                    entered |= self._pools.requeue(info, strategy, event.label, now, held=held)
        self._in_flight.record(event, old, new, rolled_back=rolled_back)
        if entered:
            self._ready()

    # ---- time --------------------------------------------------------------------------------------------

    def is_timed(self) -> bool:
        """Return whether any pod here has a deadline at all. O(1)."""
        return self._pools.any_waits()

    def next_deadline(self) -> float | None:
        """Return when :meth:`flush` is due, maybe in the past; ``None``: never. O(1) amortised."""
        if self._closed:
            return None
        first, second = self._pools.backoff.deadline(), self._pools.waiting.deadline()
        return second if first is None else first if second is None else min(first, second)

    def flush(self) -> None:
        """Run :meth:`flush_backoff` and :meth:`flush_unschedulable` if they are due. O(1) if not."""
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
        """Queue pods again that have waited too long, whatever their rejectors register. O(log n) each.

        For pods in flight this is kept as a wildcard event.
        """
        now = self._clock()
        overdue = self._pools.waiting.flush(now)
        if not self._pools.waiting.any_flushed:
            return
        entered = False
        for info in overdue:
            entered |= self._pools.requeue(
                info, RequeueStrategy.AFTER_BACKOFF, UNSCHEDULABLE_TIMEOUT.label, now
            )
        self._in_flight.record(UNSCHEDULABLE_TIMEOUT, None, None)
        if entered:
            self._ready()

    def close(self) -> None:
        """Stop: :meth:`pop` returns ``None`` and there is no deadline any more. Idempotent."""
        self._closed = True
        self._in_flight.clear()

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    @property
    def scheduling_cycle(self) -> int:
        """Number of pods popped so far."""
        return self._cycle

    @property
    def in_flight(self) -> InFlight:
        """The pods that are popped and not done, and the events kept for them; read-only."""
        return self._in_flight

    def get(self, key: str) -> QueuedPodInfo | None:
        """Return the queued pod with that key; ``None`` without one, or if it is in flight. O(1)."""
        return self._pools.by_key.get(key)

    def in_pool(self, pool: Pool) -> list[QueuedPodInfo]:
        """Return the pods of one pool, in the order in which they leave it if it has one. O(n log n)."""
        return self._in_flight.infos() if pool is Pool.IN_FLIGHT else self._pools.members(pool)

    def counts(self) -> dict[Pool, int]:
        """Return the number of pods in each pool. O(1)."""
        return {**self._pools.counts(), Pool.IN_FLIGHT: len(self._in_flight)}

    def pending(self) -> list[PendingPod]:
        """Return views of all pods, pool by pool, for people and dashboards. O(n log n)."""
        return [self._pools.show(info) for pool in Pool for info in self.in_pool(pool)]

    def __len__(self) -> int:
        """Return the number of queued pods, without those in flight."""
        return len(self._pools.by_key)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless each pod is in the one pool it says it is in. O(n)."""
        self._pools.check_invariants()
        self._in_flight.check_invariants()
        self.nominator.check_invariants()

    # ---- private -----------------------------------------------------------------------------------------

    def _update_waiting(self, info: QueuedPodInfo, old: Pod, new: Pod, now: float, echo: bool) -> bool:
        info.pod = new
        self._pools.wait(info, now)
        self.nominator.update(old, new)
        for event in () if echo else pod_update_events(old, new):
            strategy = self._hints.strategy_for(info, event, old, new)
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
        info.timestamp, info.moment = self._moments.of(info, now)
        info.backoff_expiry = None
        info.flushed = False
        strategy, held = self._strategy_after_attempt(info)
        if not strategy:
            self._pools.wait(info, now)
        elif self._pools.requeue(info, strategy, _SCHEDULE_ATTEMPT_FAILURE, now, held=held):
            self._ready()
        return Requeued(info.pool)

    def _strategy_after_attempt(self, info: QueuedPodInfo) -> tuple[RequeueStrategy, bool]:
        """Return what the events since the pop ask for, and whether only old news does (see move_all)."""
        uid = info.uid
        if uid not in self._in_flight or not (info.unschedulable_plugins or info.pending_plugins):
            return RequeueStrategy.AFTER_BACKOFF, False
        best, held = RequeueStrategy.SKIP, True
        enough = RequeueStrategy.IMMEDIATELY if info.pending_plugins else RequeueStrategy.AFTER_BACKOFF
        for event, old, new, rolled_back in self._in_flight.events_since_pop(uid):
            is_old_news = rolled_back is not None and info.popped <= rolled_back
            if is_old_news and best >= enough:
                continue
            strategy = self._hints.strategy_for(info, event, old, new)
            best = max(best, strategy)
            held &= is_old_news or not strategy
            if best >= enough and not held:
                break
        return best, held

    def _info(self, pod: Pod, now: float) -> QueuedPodInfo:
        return QueuedPodInfo(pod, now, place=next(self._arrivals))

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
