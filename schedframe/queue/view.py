"""What can be seen of the scheduling queue, which is built here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import ClassVar

from .._base.checked import checked
from ..api import Pod
from .backoff import BackoffQueues
from .cohort import Cohort, cohort_of, line_of
from .counting import TimingHints
from .gates import Gates
from .hints import HintTable
from .in_flight import InFlight
from .known_outcomes import PodClass
from .moments import Moments, keyed_order, less_order
from .nominator import Nominator
from .options import QueueOptions
from .passed_over import PassedOver
from .pools import Pools
from .queued_pod import PendingPod, Pool, QueuedPodInfo, by_priority, identity
from .sorting import SortKey, SortLess
from .unschedulable import UnschedulablePods


class QueueView:
    """The parts of a queue, and methods that change nothing."""

    _POOLS: ClassVar[type[Pools]] = Pools
    _BACKOFF: ClassVar[type[BackoffQueues]] = BackoffQueues

    @checked
    def __init__(self, options: QueueOptions | None = None) -> None:
        options = options if options is not None else QueueOptions()
        self._next_place = count(1).__next__
        self._moments = Moments(options.tolerance)
        self._passed: PassedOver | None = None
        self._unsettled: Sequence[object] = ()
        """Not empty while pods are passed over that are not settled."""
        self._clock = options.clock
        self._closed = False
        self._lister = options.pod_lister
        self._on_ready = options.on_ready
        self._hints = hint_table(options)
        self._in_flight = InFlight(options.max_in_flight_events)
        self.nominator = Nominator(self._may_be_nominated)
        """Nominated pods, among them those in flight."""
        self._pools = self._make_pools(options)
        self._take: Callable[[], QueuedPodInfo | None] = self._pools.pop

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

    def begin_again(self, options: QueueOptions) -> None:
        """Forget all pods, those in flight included; nominations stand. *options* are those of before."""
        self._in_flight.clear()
        self._passed, self._unsettled = None, ()
        self._pools = self._make_pools(options)
        self._take = self._pools.pop

    def has_active(self) -> bool:
        """Return whether ``pop`` would return a pod now, without a backoff that is cut short. O(1)."""
        return bool(self._pools.active.entries)

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    @property
    def parts(self) -> Pools:
        """The pools; read-only."""
        return self._pools

    def passed_over(self) -> list[QueuedPodInfo]:
        """Return the pods and histories of cohorts that are passed over and not settled. Any thread."""
        return [] if self._passed is None else self._passed.infos()

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
        self._settle()
        info = self._pools.by_key.get(key)
        return None if info is None else standing(info)

    def in_pool(self, pool: Pool) -> list[QueuedPodInfo]:
        """Return the pods of one pool, in the order in which they leave it if it has one. O(n log n)."""
        self._settle()
        return self._in_flight.infos() if pool is Pool.IN_FLIGHT else self._pools.members(pool)

    def counts(self) -> dict[Pool, int]:
        """Return the number of pods in each pool. O(cohorts)."""
        self._settle()
        return {**self._pools.counts(), Pool.IN_FLIGHT: len(self._in_flight)}

    def pending(self) -> list[PendingPod]:
        """Return views of all pods, pool by pool, for people and dashboards. O(n log n)."""
        return [self._pools.show(info) for pool in Pool for info in self.in_pool(pool)]

    def __len__(self) -> int:
        """Return the number of queued pods, without those in flight."""
        self._settle()
        return len(self._pools.by_key)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless each pod is in the one pool it says it is in. O(n)."""
        self._settle()
        self._pools.check_invariants()
        self._in_flight.check_invariants()
        self.nominator.check_invariants()

    def cohorts(self) -> list[Cohort]:
        """Return the pods that wait together. O(cohorts)."""
        self._settle()
        return list(self._pools.cohorts.values())

    def classes_in_cohorts(self) -> set[PodClass]:
        """Return the classes of pods that wait together, or did when they were passed over.

        Nothing is settled, so that it may be called during a cycle. O(cohorts + lines).
        """
        passed = [] if self._passed is None else self._passed.infos()
        cohorts = [*self._pools.cohorts.values(), *filter(None, map(cohort_of, passed))]
        return {pod_class for cohort in cohorts for pod_class in cohort.lines}

    # ---- private -----------------------------------------------------------------------------------------

    def _settle(self) -> None:
        if self._unsettled:
            assert self._passed is not None
            self._passed.settle()

    def _may_be_nominated(self, pod: Pod) -> bool:
        if self._in_flight.is_deleted(identity(pod)):
            return False
        if self._lister is None:
            return True
        present = self._lister(pod.key)
        return present is not None and not present.spec.node_name


def hint_table(options: QueueOptions) -> HintTable:
    """Return the hints of all profiles."""
    if options.counts is None:
        return HintTable(options.profiles, options.on_fault)
    return TimingHints(options.profiles, options.on_fault, options.counts.hint_timer)


def standing(info: QueuedPodInfo) -> QueuedPodInfo:
    """Return *info*, or a copy with its history if it waits with others."""
    return info if info.line is None else line_of(info).view(info)
