"""The scheduling queue: which pod is next, and which pods wait for what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, ClassVar, Final

from .._base.checked import check_arguments, checked
from .._base.validators import collection
from ..api import Pod
from .answers import answers_of, applies_to, concerns_one_pod, strategy_for, strategy_since_pop
from .backoff import BackoffQueues
from .counting import TimingHints
from .derive import pod_update_events
from .events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
)
from .gates import Gates
from .hints import HintTable, RequeueStrategy
from .in_flight import InFlight
from .nominator import Nominator
from .options import QueueOptions
from .pools import SCHEDULE_ATTEMPT_FAILURE, WAITING, Pools
from .queued_pod import PendingPod, Pool, QueuedPodInfo, Requeued, by_priority, identity, interned
from .sorting import SortKey, SortLess
from .together.cohort import Cohort, cohort_of, standing
from .together.known_outcomes import KnownOutcomes, PodClass
from .together.moments import Moments, keyed_order, less_order
from .together.passes import Pass
from .unschedulable import UnschedulablePods

_IN_FLIGHT: Final = Pool.IN_FLIGHT
_CONFIG_RELOAD = "ConfigReload"
_BACKOFF_COMPLETE = "BackoffComplete"


class PriorityQueue:
    """Pending pods of all profiles. Behaviour: kube-scheduler v1.36 (pkg/scheduler/backend/queue).

    One writer: the queue has no locks and never blocks, and calls plugins, ``on_ready`` and ``on_fault`` from
    within its methods. Nothing happens without a call: :meth:`next_deadline` returns when :meth:`flush` has
    something to do. Pods with an equal sort key leave in the order in which their last attempts failed,
    before that in the order of their arrival. Times are seconds of the clock, exact to the microsecond. Pods
    are identified by uid, and by key if they have none.
    """

    _POOLS: ClassVar[type[Pools]] = Pools
    _BACKOFF: ClassVar[type[BackoffQueues]] = BackoffQueues

    @checked
    def __init__(self, options: QueueOptions | None = None) -> None:
        options = options if options is not None else QueueOptions()
        self._next_place = count(1).__next__
        self._moments = Moments(options.tolerance)
        self._pass: Pass | None = None
        self._front: Sequence[QueuedPodInfo] = ()
        """Entries of the pass that is open: some of their pods count as attempted, and are to be put back."""
        self._clock = options.clock
        self._closed = False
        self._lister = options.pod_lister
        self._on_ready = options.on_ready
        self._hints = _hint_table(options)
        self._in_flight = InFlight(options.max_in_flight_events)
        self.nominator = Nominator(self._may_be_nominated)
        """Nominated pods, among them those in flight."""
        self._pools = self._make_pools(options)
        self._take: Callable[[], QueuedPodInfo | None] = self._pools.pop

    def use_known_outcomes(self, known_outcomes: KnownOutcomes) -> None:
        """Let pods of one class wait together from now on; see docs/explanation/waiting-together.md."""
        self._pass = Pass(self._pools, self._moments, known_outcomes, self._clock)
        self._front, self._take = self._pass.front, self._pass.pop

    def close_pass(self) -> None:
        """Put back the pods that :meth:`pop` passed over, as rejected, and those behind them."""
        if self._front:
            assert self._pass is not None
            self._pass.close()

    def reconfigure(self, options: QueueOptions) -> None:
        """Go on with other plugins, another order or other backoffs. O(n log n).

        Pods in flight stay so, nominations stand. All others are asked at the gates again and become active
        unless one holds them: what rejected them may be gone. They keep their attempts, their age and their
        place. Clock, ``pod_lister``, ``on_ready`` and ``tolerance`` stay those of the first options.
        """
        self.close_pass()
        infos = [standing(info) for info in self._pools.by_key.values()]
        self._pass, self._front = None, ()
        self._hints = _hint_table(options)
        self._pools = self._make_pools(options)
        self._take = self._pools.pop
        now, entered = self._clock(), False
        for info in infos:
            entered |= self._pools.enter_active(info.as_new(), _CONFIG_RELOAD, now)
        if entered:
            self._ready()

    def begin_again(self, options: QueueOptions) -> None:
        """Forget all pods, those in flight included; nominations stand. *options* are those of before."""
        self._in_flight.clear()
        self._pass, self._front = None, ()
        self._pools = self._make_pools(options)
        self._take = self._pools.pop

    # ---- pods come and go --------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """Add a pod that waits for scheduling. O(log n).

        A pod that is here already is updated; another pod of the same name is replaced.
        """
        try:
            present = self._pools.by_key.get(pod.key)
        except AttributeError:
            check_arguments(PriorityQueue.add, pod)
            raise
        if present is None and self._in_flight.flights:
            present = self._in_flight.revive(identity(pod))
        if present is not None:
            self.update(present.pod, pod)
            return
        now = self._clock()
        info = QueuedPodInfo(pod, now, self._next_place())
        entered = self._pools.enter_active(info, UNSCHEDULABLE_POD_ADD.label, now)
        if entered and self._on_ready is not None:
            self._on_ready()

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
        if echo and info is not None and info.uid == uid and self._waits_rejected(info, new):
            info.pod = new
            return
        info = self._alone(new.key)
        if info is not None and info.uid != uid:
            self.delete(info.pod)
            info = None
        now, entered = self._clock(), False
        if info is None:
            entered = self._pools.enter_active(
                QueuedPodInfo(new, now, self._next_place()), UNSCHEDULABLE_POD_UPDATE.label, now
            )
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
            self.close_pass()
            if info.line is not None:
                self._pools.part_from_cohort(info, gone=True)
            else:
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
        while (info := self._take()) is not None:
            info.attempts += 1
            if self._in_flight.start(info):
                info.pool = _IN_FLIGHT
                moments = self._moments
                moments.cycle = info.popped = moments.cycle + 1
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
        pod_class: PodClass | None = None,
    ) -> Requeued:
        """End the flight of a pod whose attempt failed, and queue it again or let it wait.

        *latest*: the cluster's present version of it. If that is ``None``, another pod or bound, nothing is
        queued. The plugins are those that rejected the pod; none of either kind means an error. If an event
        since the pod was popped may help it, it is queued again at once. O(log n + events in flight).

        *pod_class*: the pods for which the attempt would have ended likewise; with them it waits together.
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
                return Requeued(standing(queued).pool, already=True)
            return self._queue_again(info, latest, pod_class)
        finally:
            self.done(uid)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move waiting or backing-off pods to the active pool, unless a gate holds them. O(log n) each.

        A pod in flight is queued again if its attempt fails, whatever its rejectors register.
        """
        now, entered = self._clock(), False
        for pod in collection("pods", pods, "give a list of pods"):
            uid = identity(pod)
            info = self._alone(pod.key)
            if info is not None and info.pool is not Pool.ACTIVE:
                entered |= self._pools.activate(info, FORCE_ACTIVATE.label, now)
            elif uid in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, pod)
        if entered:
            self._ready()

    def rest(self, pod: Pod, until: int) -> None:
        """Let a pod whose attempt takes long rest up to that second of the clock. O(log n)."""
        if not self._in_flight.rest(identity(pod), until):
            self.close_pass()
            self._pools.rest(pod, until, self._clock())

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
        pools = self._pools
        # The second part as is_timed, without a call: this happens to each pod.
        if not self._in_flight.flights and len(pools.by_key) == len(pools.active.entries):
            return
        if not self._hints.is_registered(event):
            return
        entered = False
        if self._front and self._pass is not None and self._pass.concerns(self._hints, event):
            self._pass.close()
        if pools.backoff.held.entries:
            entered = pools.backoff.release(rolled_back or 0)
        now = self._clock() if (candidates := pools.candidates_for(event)) else 0.0
        for plan, infos in candidates:
            for info in pools.alone(infos) if concerns_one_pod(event, new) else infos:
                if max_priority is not None and info.pod.priority > max_priority:
                    continue
                if info.uid == except_uid or not applies_to(event, new, info):
                    continue
                for part, strategy in answers_of(pools, self._hints, plan, info, old, new):
                    held = rolled_back is not None and part.popped <= rolled_back
                    entered |= pools.requeue(part, strategy, event.label, now, held=held)
        if self._in_flight.flights:
            self._in_flight.record(event, old, new, rolled_back=rolled_back)
        if entered:
            self._ready()

    # ---- time --------------------------------------------------------------------------------------------

    def is_timed(self) -> bool:
        """Return whether any pod here has a deadline at all. O(1)."""
        pools = self._pools
        return len(pools.by_key) > len(pools.active.entries)

    def next_deadline(self) -> float | None:
        """Return when :meth:`flush` is due, maybe in the past; ``None``: never. O(1) amortised."""
        if self._closed:
            return None
        first, second = self._pools.backoff.deadline(), self._pools.waiting.deadline()
        return second if first is None else first if second is None else min(first, second)

    def flush(self) -> None:
        """Run :meth:`flush_backoff` and :meth:`flush_unschedulable` if they are due. O(1) if not."""
        pools = self._pools
        if len(pools.by_key) == len(pools.active.entries):
            return  # as is_timed, without a call
        now = self._clock()
        backoff, waiting = self._pools.backoff.deadline(), self._pools.waiting.deadline()
        if backoff is not None and backoff <= now:
            self.flush_backoff()
        if waiting is not None and waiting <= now:
            self.flush_unschedulable()

    def flush_backoff(self) -> None:
        """Move pods whose backoff is over to the active pool. O(log n) each."""
        now, entered = self._clock(), False
        for info in self._pools.backoff.pop_completed(now):
            entered |= self._pools.enter_active(info, _BACKOFF_COMPLETE, now, admitted=True)
        if entered:
            self._ready()

    def flush_unschedulable(self) -> None:
        """Queue pods again that have waited too long, whatever their rejectors register. O(log n) each.

        For pods in flight this is kept as a wildcard event.
        """
        self.close_pass()
        now = self._clock()
        overdue = self._pools.waiting.flush(now)
        if not self._pools.waiting.any_flushed:
            return
        entered = False
        label = UNSCHEDULABLE_TIMEOUT.label
        for info in overdue:
            entered |= self._pools.requeue(info, RequeueStrategy.AFTER_BACKOFF, label, now)
        self._in_flight.record(UNSCHEDULABLE_TIMEOUT, None, None)
        if entered:
            self._ready()

    def close(self) -> None:
        """Stop: :meth:`pop` returns ``None`` and there is no deadline any more. Idempotent."""
        self._closed = True
        self._in_flight.clear()

    # ---- looking --------------------------------------------------------------------------------------

    def has_active(self) -> bool:
        """Return whether ``pop`` would return a pod now, without a backoff that is cut short. O(1)."""
        return bool(self._pools.active.entries)

    @property
    def closed(self) -> bool:
        """Return whether :meth:`close` was called."""
        return self._closed

    @property
    def parts(self) -> Pools:
        """The pools; read-only."""
        return self._pools

    def passed_over(self) -> list[QueuedPodInfo]:
        """Return the entries that a pass has begun: pods, and histories of cohorts. Any thread."""
        return list(self._front)

    @property
    def scheduling_cycle(self) -> int:
        """Number of pods popped so far; each has that of its own pop. Any thread."""
        return self._moments.cycle

    @property
    def in_flight(self) -> InFlight:
        """The pods that are popped and not done, and the events kept for them; read-only."""
        return self._in_flight

    def get(self, key: str) -> QueuedPodInfo | None:
        """Return the queued pod with that key; ``None`` without one, or if it is in flight. O(1)."""
        self.close_pass()
        info = self._pools.by_key.get(key)
        return None if info is None else standing(info)

    def in_pool(self, pool: Pool) -> list[QueuedPodInfo]:
        """Return the pods of one pool, in the order in which they leave it if it has one. O(n log n)."""
        self.close_pass()
        return self._in_flight.infos() if pool is Pool.IN_FLIGHT else self._pools.members(pool)

    def counts(self) -> dict[Pool, int]:
        """Return the number of pods in each pool. O(cohorts)."""
        self.close_pass()
        return {**self._pools.counts(), Pool.IN_FLIGHT: len(self._in_flight)}

    def pending(self) -> list[PendingPod]:
        """Return views of all pods, pool by pool, for people and dashboards. O(n log n)."""
        return [self._pools.show(info) for pool in Pool for info in self.in_pool(pool)]

    def __len__(self) -> int:
        """Return the number of queued pods, without those in flight."""
        self.close_pass()
        return len(self._pools.by_key)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless each pod is in the one pool it says it is in. O(n)."""
        self.close_pass()
        self._pools.check_invariants()
        self._in_flight.check_invariants()
        self.nominator.check_invariants()

    def cohorts(self) -> list[Cohort]:
        """Return the pods that wait together. O(cohorts)."""
        self.close_pass()
        return list(self._pools.cohorts.values())

    def classes_in_cohorts(self) -> set[PodClass]:
        """Return the classes of pods that wait together, or did when they were passed over.

        A pass stays open, so that it may be called during a cycle. O(cohorts + classes).
        """
        cohorts = [*self._pools.cohorts.values(), *filter(None, map(cohort_of, self._front))]
        return {pod_class for cohort in cohorts for pod_class in cohort.lines}

    # ---- private -----------------------------------------------------------------------------------------

    def _make_pools(self, options: QueueOptions) -> Pools:
        if options.sort_key is not None and options.less is not None:
            raise TypeError("a queue is ordered by sort_key or by less: give at most one of them")
        sorter, on_fault, less, sort_key = options.sorter, options.on_fault, None, None
        if options.less is not None:
            less = less_order(SortLess(sorter, options.less, on_fault))
        else:
            key = options.sort_key
            sort_key = keyed_order(by_priority if key is None else SortKey(sorter, key, on_fault).of)
        pools = self._POOLS(
            Gates(options.profiles, on_fault),
            self._hints,
            self.nominator,
            self._BACKOFF(options.initial_backoff, options.max_backoff, sort_key=sort_key, less=less),
            UnschedulablePods(options.max_in_unschedulable),
            sort_key=sort_key,
            less=less,
        )
        pools.counter = options.counts
        return pools

    def _may_be_nominated(self, pod: Pod) -> bool:
        if self._in_flight.is_deleted(identity(pod)):
            return False
        if self._lister is None:
            return True
        present = self._lister(pod.key)
        return present is not None and not present.spec.node_name

    def _update_waiting(self, info: QueuedPodInfo, old: Pod, new: Pod, now: float, echo: bool) -> bool:
        info.pod, info.pod_class = new, None
        self._pools.wait(info, now)
        self.nominator.update(old, new)
        for event in () if echo else pod_update_events(old, new):
            strategy = strategy_for(self._hints, info, event, old, new)
            if strategy and self._pools.requeue(info, strategy, event.label, now):
                return True
        return False

    def _alone(self, key: str) -> QueuedPodInfo | None:
        """Return the pod with that key, which waits alone from now on."""
        info = self._pools.by_key.get(key)
        if info is not None:
            self.close_pass()
        if info is not None and info.line is not None:
            self._pools.part_from_cohort(info)
        return info

    def _waits_rejected(self, info: QueuedPodInfo, new: Pod) -> bool:
        """Return whether *info* waits for an event, or with others, and is not nominated."""
        if self.nominator.nominations or new.status.nominated_node_name:
            return False
        return info.line is not None or info.pool is Pool.UNSCHEDULABLE

    def _queue_again(self, info: QueuedPodInfo, latest: Pod, pod_class: PodClass | None) -> Requeued:
        now = self._clock()
        if info.not_before > now:
            pod_class = None  # it rests, and others of its class do not
        info.pod, info.pod_class = latest, pod_class
        if info.unschedulable_plugins or info.pending_plugins:
            info.unschedulable_count += 1
            info.error_count = 0
        else:
            info.error_count += 1
        info.timestamp, info.moment, shift = self._moments.of(info, now)
        info.place += shift
        info.backoff_expiry = None
        info.flushed = False
        strategy, held = self._strategy_of(info)
        if not strategy:
            self._pools.wait_rejected(info, now)
            if pod_class is not None and self._pass is not None:
                self._pass.joining.pod(info, pod_class)
        elif self._pools.requeue(info, strategy, SCHEDULE_ATTEMPT_FAILURE, now, held=held):
            self._ready()
        return Requeued(info.pool)

    def _strategy_of(self, info: QueuedPodInfo) -> tuple[RequeueStrategy, bool]:
        """Return whether and where a pod is queued again whose attempt failed, and whether it is held."""
        return strategy_since_pop(self._hints, self._in_flight, info)

    def _ready(self) -> None:
        if self._on_ready is not None:
            self._on_ready()


def _hint_table(options: QueueOptions) -> HintTable:
    """Return the hints of all profiles."""
    if options.counts is None:
        return HintTable(options.profiles, options.on_fault)
    return TimingHints(options.profiles, options.on_fault, options.counts.hint_timer)
